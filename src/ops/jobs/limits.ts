/** Limits on submitted jobs: the head keeps their records in memory, and a stranger's request must not fill it. */

/** Bytes of an entry point. */
export const ENTRYPOINT_BYTES_MAX = 65_536;
/** Characters of metadata and environment variables together, names and values. */
export const JOB_TEXTS_MAX = 131_072;
/** Entries of metadata, and of the environment. */
export const JOB_ENTRIES_MAX = 1_000;
/** Characters of the message of an ended job. */
export const JOB_MESSAGE_MAX = 20_000;
/** Ended jobs whose records are kept, and for how long. */
export const JOBS_KEPT_MAX = 10_000;
export const JOB_KEPT_MS: number = 30 * 86_400_000;
/** Jobs that wait or run at once; a further one is refused. */
export const JOBS_OPEN_MAX = 10_000;
/** How often old records are looked for. */
export const JOBS_SWEPT_EVERY_MS = 10_000;
/** A node of an earlier head that has not registered within this time is dead. The head declares silent nodes dead much sooner. */
export const JOB_NODE_MISSING_MS = 100_000;
/** Characters of the rows that one answer carries. */
export const JOB_PAGE_CHARACTERS = 400_000;
/** Time between SIGTERM and SIGKILL of a stopped job. */
export const JOB_STOPS_WITHIN_MS = 5_000;
/** Time for the last output of an ended job. */
export const JOB_OUTPUT_ENDS_WITHIN_MS = 2_000;
/** Start keys that a node remembers: a start that is repeated comes with the next head, seconds later. */
export const JOB_KEYS_KEPT_MAX = 20_000;
/** Texts of a followed log that wait for their reader. */
export const TAIL_WAITING_MAX = 64;
/** Jobs that end within this time share one look at the processes of the machine. */
export const JOB_LOOKS_JOINED_MS = 10;
