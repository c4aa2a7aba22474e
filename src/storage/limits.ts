/** Limits of reading and writing files, here and elsewhere. */

/** Read at once: large enough that a call costs little, small enough for many files at the same time. */
export const READ_CHUNK_BYTES: number = 1024 * 1024;
/** Given out at once by decompression. */
export const INFLATED_CHUNK_BYTES: number = 256 * 1024;
/** Of a file that is read whole, after decompression: what one column of bytes holds. */
export const WHOLE_FILE_BYTES_MAX = 0x7fffffff;

/** Requests of one operation that are under way together: footers, copies, parts. */
export const REMOTE_REQUESTS_AT_A_TIME = 16;
/** Times that a request is made until its failure counts, with pauses in between. */
export const REQUEST_ATTEMPTS_MAX = 8;
/** The pause before the first repetition is up to this; each further one up to twice as long. */
export const RETRY_PAUSE_MS = 100;
/** The longest pause, and the longest that a server's `Retry-After` is obeyed. */
export const RETRY_PAUSE_MS_MAX = 10_000;
/** A connection on which nothing happens for so long is given up and made anew. */
export const CONNECTION_IDLE_MS = 60_000;
/** Redirects that a request over HTTP follows. */
export const REDIRECTS_MAX = 5;
/** Of an answer in XML, or of the text of an error: a page of a list has about 1 MB at most. */
export const ANSWER_BYTES_MAX: number = 16 * 1024 * 1024;
/** Of a file that is fetched whole, as its server gives no parts of it. */
export const UNRANGED_FILE_BYTES_MAX: number = 1024 * 1024 * 1024;

/** Of a part of an upload: what a sink holds back before it sends. S3 takes 5 MiB at least. */
export const UPLOAD_PART_BYTES: number = 8 * 1024 * 1024;
/** After so many parts they are twice as large: S3 takes 10,000 parts, and files of 5 TiB. */
export const UPLOAD_PARTS_OF_A_SIZE = 1000;
/** Parts of one file that are under way together, each of them in memory. */
export const UPLOAD_PARTS_AT_A_TIME = 4;
/** What S3 copies in one request. */
export const COPY_BYTES_MAX: number = 5 * 1024 * 1024 * 1024;
/** Keys that S3 removes in one request. */
export const REMOVED_KEYS_MAX = 1000;
/** Files of a folder that are copied at the same time: each may have `UPLOAD_PARTS_AT_A_TIME` parts of an upload in memory, and one that is filled. */
export const COPIED_FILES_AT_A_TIME = 4;

/** Times that a folder is removed anew because others have put files into it meanwhile, as tasks of a write that has failed may, with pauses of so many milliseconds more each. */
export const FOLDER_REMOVALS_MAX = 10;
export const FOLDER_REMOVAL_PAUSE_MS = 10;

/** Between writing a claim of a folder and reading it back: two claims that are further apart than this see each other. */
export const CLAIM_PAUSE_MS = 20;
/** How often the owner of a folder renews its record. */
export const OWNER_RENEWED_EVERY_MS = 15_000;
/** An owner on another machine that has not renewed for so long is dead: several renewals may fail. */
export const OWNER_SILENCE_MS_MAX: number = 4 * OWNER_RENEWED_EVERY_MS;

/** A file that grows in a storage without appends is sent so long after it has grown: what a crash may take of it, and one request in that time. */
export const UPLOADED_EVERY_MS = 5000;
/** Later where it is large, as it is sent whole each time: this is what a file that grows all the time costs at most. One of 100 MB is sent every 13 minutes. */
export const UPLOADED_BYTES_A_SECOND: number = 128 * 1024;
/** Files of one process that are sent at a time because they have grown: thousands take turns. */
export const GROWN_UPLOADS_AT_A_TIME = 4;
/** Up to this size a file that has grown is sent along with a checkpoint, whenever it was sent before. */
export const UPLOADED_AT_ONCE_BYTES_MAX: number = 1024 * 1024;

/** How often a process that waits for another's copy looks whether it is there. */
export const LOCK_LOOKED_AT_EVERY_MS = 20;
/** A process that takes over a dead one's lock needs a moment; one that takes longer has died. */
export const TAKEOVER_MS_MAX = 10_000;
