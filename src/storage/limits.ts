/** Limits of reading and writing files, local and remote. */

/** Bytes of one read: large enough that a call costs little, small enough for many files at the same time. */
export const READ_CHUNK_BYTES: number = 1024 * 1024;
/** Bytes of one chunk of decompressed data. */
export const INFLATED_CHUNK_BYTES: number = 256 * 1024;
/** Largest file that is read whole, after decompression: the limit of one column of bytes. */
export const WHOLE_FILE_BYTES_MAX = 0x7fffffff;

/** Concurrent requests of one operation: footers, copies, parts. */
export const REMOTE_REQUESTS_AT_A_TIME = 16;
/** Attempts of a request, with pauses in between, before its failure counts. */
export const REQUEST_ATTEMPTS_MAX = 8;
/** The pause before the first repetition is up to this; each further one up to twice as long. */
export const RETRY_PAUSE_MS = 100;
/** The longest pause, and the longest that a server's `Retry-After` is obeyed. */
export const RETRY_PAUSE_MS_MAX = 10_000;
/** Idle time after which a connection is given up and made again. */
export const CONNECTION_IDLE_MS = 60_000;
/** Redirects that a request over HTTP follows. */
export const REDIRECTS_MAX = 5;
/** Largest answer in XML or text of an error: a page of a list has about 1 MB. */
export const ANSWER_BYTES_MAX: number = 16 * 1024 * 1024;
/** Largest file that is fetched whole because its server gives no ranges. */
export const UNRANGED_FILE_BYTES_MAX: number = 1024 * 1024 * 1024;

/** Size of the first parts of an upload, which a sink buffers before it sends. S3 takes 5 MiB at least. */
export const UPLOAD_PART_BYTES: number = 8 * 1024 * 1024;
/** Parts after which the size doubles: S3 takes 10,000 parts, and files of 5 TiB. */
export const UPLOAD_PARTS_OF_A_SIZE = 1000;
/** Concurrent parts of one upload, each in memory. */
export const UPLOAD_PARTS_AT_A_TIME = 4;
/** Largest object that S3 copies in one request. */
export const COPY_BYTES_MAX: number = 5 * 1024 * 1024 * 1024;
/** Keys that S3 removes in one request. */
export const REMOVED_KEYS_MAX = 1000;
/** Files of a folder that are copied at the same time: each may have `UPLOAD_PARTS_AT_A_TIME` parts of an upload in memory, and one that is filled. */
export const COPIED_FILES_AT_A_TIME = 4;

/** Attempts to remove a folder into which others still put files, as tasks of a failed write may, and by how much each pause between them is longer. */
export const FOLDER_REMOVALS_MAX = 10;
export const FOLDER_REMOVAL_PAUSE_MS = 10;

/** Pause between writing a claim of a folder and reading it back: of two claims further apart, the later one sees the earlier. */
export const CLAIM_PAUSE_MS = 20;
/** Interval at which the owner of a folder renews its record. */
export const OWNER_RENEWED_EVERY_MS = 15_000;
/** An owner on another machine that did not renew for this long is dead: several renewals may fail. */
export const OWNER_SILENCE_MS_MAX: number = 4 * OWNER_RENEWED_EVERY_MS;
/** Interval of looks at a claim with a time in the future, until two renewals would have changed it. */
export const FUTURE_CLAIM_LOOK_MS = 1000;

/** Delay until a file that grows is sent to a storage without appends: a crash loses that much, and each file costs one request in that time. */
export const UPLOADED_EVERY_MS = 5000;
/** Rate at which a large file that grows is sent, as each upload sends it whole: one of 100 MB every 13 minutes. */
export const UPLOADED_BYTES_A_SECOND: number = 128 * 1024;
/** Concurrent uploads of files that have grown: thousands take turns. */
export const GROWN_UPLOADS_AT_A_TIME = 4;
/** Files up to this size are sent along with a checkpoint, whenever they were sent before. */
export const UPLOADED_AT_ONCE_BYTES_MAX: number = 1024 * 1024;

/** Interval at which a process looks whether the copy that another one fetches is complete. */
export const LOCK_LOOKED_AT_EVERY_MS = 20;
/** A process that takes over a dead one's lock needs a moment; one that takes longer has died. */
export const TAKEOVER_MS_MAX = 10_000;
