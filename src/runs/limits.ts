/** Limits of runs, their files and their trackers. */

/** Nesting depth of metrics: deeper metrics most likely contain a cycle. */
export const METRICS_DEPTH_MAX = 32;
/** Bytes of the name of a run, a trial or a checkpoint in UTF-8: file systems allow 255, and staged names add a suffix. */
export const NAME_BYTES_MAX = 200;

/** A snapshot is due when the log has this size, and at least that of the last snapshot: all snapshots together then cost no more than the log. */
export const SNAPSHOT_FROM_LOG_BYTES: number = 1024 * 1024;
/** Time over which records gather for one write: a kill loses little, and thousands of trials do not wait for the disk. */
export const LOG_GATHER_MS = 10;
/** Segments of a log that are read at the same time: on S3 there may be thousands of small ones. */
export const LOG_SEGMENTS_READ_AT_A_TIME = 16;

/** Time over which results gather for one call of the trackers. */
export const TRACKED_EVERY_MS = 100;
/** Pause before results are written again while the storage fails. */
export const TRACKED_RETRY_MS = 1000;
/** Results that wait for a tracker that is slower than the reports. */
export const TRACKED_RESULTS_MAX = 10_000;

/** Default of `rendezvousTimeoutMs`: importing a framework from a slow disk on many nodes takes minutes. */
export const RENDEZVOUS_MS_MAX = 600_000;
/** Default interval of pings of ranks. Ray's. */
export const HEALTH_CHECK_INTERVAL_MS = 2000;
/** Default time after which a warning names the ranks that others wait for. Ray's. */
export const COLLECTIVE_WARN_INTERVAL_MS = 60_000;

/** First and longest pause between tries of a storage that fails; pauses double. */
export const STORAGE_RETRY_FIRST_MS = 100;
export const STORAGE_RETRY_MAX_MS = 5000;

/** Causes of an error that are followed: enough for wrappers, and an end for an error that causes itself. */
export const CAUSES_MAX = 16;
