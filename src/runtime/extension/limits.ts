/** Limits on the answers of extensions: the head and the daemons share their memory with all other work. */

/** Bytes behind the header of one answer. Longer data is asked for in parts. */
export const ANSWER_BYTES_MAX = 1_048_576;
/** Promised answers of one place. A library whose answers never come is refused before they fill the memory. */
export const LATER_ANSWERS_MAX = 1_024;
/** Time limit of an answer that is given later, where its message names none. */
export const ANSWERS_WITHIN_MS = 30_000;
/** Time beyond a message's limit until another node counts as silent: the link may have to be made first. */
export const NODE_SILENT_AFTER_MS = 5_000;
