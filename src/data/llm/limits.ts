/** Limits of requests to language models. Those of times are in milliseconds. */

/** Pause before the first repeated request; it doubles with each failure. */
export const RETRY_MS = 500;

/** Longest pause between repeated requests, unless the server asks for a longer one. */
export const RETRY_MS_MAX = 30_000;

/** Longest pause that a server may ask for: daily quotas say hours, and a run would hang without a word. */
export const RETRY_AFTER_MS_MAX = 600_000;

/** Bytes of an answer: an embedding of thousands of numbers for each of some inputs, with room. */
export const MODEL_ANSWER_BYTES_MAX: number = 64 * 1024 * 1024;

/** Rows of a batch for each request in flight: while the last rows of a batch are answered, few requests are idle. */
export const ROWS_PER_REQUEST_IN_FLIGHT = 8;
