/** Limits on the files with output of workers, and on reading them. */

/** Bytes of a file, after which a new one begins. */
export const OUTPUT_FILE_BYTES_MAX: number = 16 * 1024 * 1024;
/** Files of one stream of one worker: the newest and seven older ones. */
export const OUTPUT_FILES_MAX = 8;
/** Bytes of an index, after which a new file begins: tasks that print one short line each write more index than output. */
export const INDEX_BYTES_MAX: number = 2 * 1024 * 1024;
/** Bytes between two entries of an index, and time, so that each line has a time nearby. */
export const INDEX_EVERY_BYTES: number = 64 * 1024;
export const INDEX_EVERY_MS = 1_000;
/** Output of one stream that waits for the disk. Lines beyond are counted and lost. */
export const UNWRITTEN_BYTES_MAX: number = 8 * 1024 * 1024;
/** The same of all streams of a node. */
export const UNWRITTEN_OF_NODE_BYTES_MAX: number = 64 * 1024 * 1024;
/** Output of a node that is kept, and for how long. */
export const OUTPUT_OF_NODE_BYTES_MAX: number = 2 * 1024 * 1024 * 1024;
export const OUTPUT_KEPT_MS: number = 7 * 86_400_000;
/** Files that are kept, and that a listing names. */
export const OUTPUT_OF_NODE_FILES_MAX = 10_000;
/** Ended workers whose children may still print. */
export const ENDED_WORKERS_MAX = 1_000;
/** How often old output is looked for. */
export const SWEEP_EVERY_MS = 60_000;
/** Bytes of an answer to one question about a log. */
export const LOG_ANSWER_BYTES_MAX: number = 512 * 1024;
/** Entries of the index that one answer names. */
export const LOG_ANSWER_MARKS_MAX = 4_096;
/** Pieces of a file that are looked at in one step. */
export const LOG_STEP_BYTES: number = 256 * 1024;
/** Names and patterns that a question may give. */
export const LOG_NAME_CHARACTERS_MAX = 255;
/** Output of a job's entry point that its message shows, if it failed. */
export const JOB_TAIL_BYTES = 16_384;
export const JOB_TAIL_LINES = 20;
