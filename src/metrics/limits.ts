/** Limits on metrics of one process. */

/** Series of one metric, and of all metrics of users' code; further ones are counted under the tag value `other`. */
export const SERIES_MAX = 1_000;
/** Characters of a tag's value. */
export const TAG_CHARACTERS_MAX = 1_000;
/** Time between two reports to the daemon. */
export const REPORT_EVERY_MS = 1_000;
/** Series of one report; the rest follows with the next. */
export const SERIES_OF_REPORT_MAX = 4_000;
