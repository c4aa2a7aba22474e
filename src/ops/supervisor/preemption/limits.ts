/** Limits on preemption notices: intervals, time limits and sizes of answers, and deadlines that are believed. */

/** The clouds' documents advise 5 s for notices of two minutes, and 1 s for those of half a minute. */
export const NOTICE_LOOKS_EVERY_MS = 5_000;
export const SHORT_NOTICE_LOOKS_EVERY_MS = 1_000;
/** A source that does not answer in this time is asked again. Azure's first answer takes up to two minutes; later questions get it. */
export const NOTICE_ANSWERS_WITHIN_MS = 5_000;
/** Size of an answer, and of a file. */
export const NOTICE_BYTES_MAX = 65_536;
/** A notice for a later time is taken for a mistake. */
export const NOTICE_AHEAD_MAX_MS = 7 * 86_400_000;
/** Compute Engine ends a machine so long after the notice. */
export const GCP_NOTICE_MS = 30_000;
/** The node leaves so long before the machine does, or a quarter of the time that is left, where that is less. */
export const LEAVES_EARLIER_MS = 5_000;
/** A deadline that moves by less is the same one: answers take time. */
export const SAME_DEADLINE_MS = 2_000;
/** Life of a token of AWS, in seconds, and its renewal. */
export const AWS_TOKEN_SECONDS = 21_600;
export const AWS_TOKEN_RENEWAL_MS = 10_800_000;
/** Longest grace of SIGTERM. */
export const TERMINATION_GRACE_MAX_MS = 86_400_000;
