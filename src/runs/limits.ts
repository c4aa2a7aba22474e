/** Limits of runs, their files and their trackers. */

/** Nesting depth of metrics: deeper metrics most likely contain a cycle. */
export const METRICS_DEPTH_MAX = 32;
/** Bytes of the name of a run, a trial or a checkpoint in UTF-8: file systems allow 255, and staged names add a suffix. */
export const NAME_BYTES_MAX = 200;

/** A snapshot pays from so many bytes of log, and from as many as the last snapshot has: so all snapshots together cost what the log costs. */
export const SNAPSHOT_FROM_LOG_BYTES: number = 1024 * 1024;
/** Records of so long share one write, where one comes after the other: what a kill may take back stays small, and thousands of trials do not wait for the disk. */
export const LOG_GATHER_MS = 10;
/** Segments of a log that are read at the same time: on S3 there may be thousands of small ones. */
export const LOG_SEGMENTS_READ_AT_A_TIME = 16;

/** Results gather for so long before trackers are called: one write for many, and nobody sees the delay. */
export const TRACKED_EVERY_MS = 100;
/** Between two tries to write results where the storage takes nothing. */
export const TRACKED_RETRY_MS = 1000;
/** Results that wait for a tracker that is slower than the reports. */
export const TRACKED_RESULTS_MAX = 10_000;

/** Default of `rendezvousTimeoutMs`: importing a framework from a slow disk on many nodes takes minutes. */
export const RENDEZVOUS_MS_MAX = 600_000;
/** Processes of ranks are pinged so often. Ray's. */
export const HEALTH_CHECK_INTERVAL_MS = 2000;
/** After so long a warning says for whom ranks wait at a report. Ray's. */
export const COLLECTIVE_WARN_INTERVAL_MS = 60_000;

/** A storage that fails is tried again after pauses that double from the first to the longest. */
export const STORAGE_RETRY_FIRST_MS = 100;
export const STORAGE_RETRY_MAX_MS = 5000;

/** The depth to which causes of an error are followed: some wrappers, and no end for an error that causes itself. */
export const CAUSES_MAX = 16;
