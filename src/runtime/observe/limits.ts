/** Limits on the record of calls. */

/** Calls of a process that run at once and are seen one by one; calls beyond are only counted. */
export const SLOTS_MAX = 256;
/** Functions and methods that a process counts apart; the rest counts as `(other)`, which has number 0. */
export const FUNCTIONS_MAX = 1024;
/** Processes whose calls one process tells apart. */
export const CALLERS_MAX = 1024;
/** Longer names are cut. */
export const NAME_CHARACTERS_MAX = 200;
export const DEFINITIONS_BYTES_MAX: number = 256 * 1024;
/** Records in a ring: it begins with 64 KB, and grows to 1 MB while it is not read in time. */
export const RING_SIZE_MIN = 1024;
export const RING_SIZE_MAX = 16_384;
/** Records in a block of a history. */
export const BLOCK_ROWS_MAX = 8192;
/** Time in which a process answers for its calls that have not begun. */
export const OWNERS_ANSWER_WITHIN_MS = 300;
/** Series of metrics that a node keeps of one process. */
export const METRIC_SERIES_OF_PROCESS_MAX = 4_000;
/** Sums of a node; those of further tags are `other`. Gauges beyond as many are left out. */
export const METRIC_SERIES_OF_NODE_MAX = 10_000;
export const METRIC_TAGS_MAX = 32;
export const METRIC_TAG_CHARACTERS_MAX = 1_000;
export const METRIC_BOUNDARIES_MAX = 200;
/** Time between two looks at the use of the machine. */
export const USAGE_EVERY_MS = 5_000;
/** Points that a node keeps for charts, the finest first: an hour and a day. A name takes 17 KB. */
export const SERIES_LEVELS: readonly { readonly everyMs: number; readonly points: number }[] = [
  { everyMs: USAGE_EVERY_MS, points: 720 },
  { everyMs: 60_000, points: 1_440 },
];
/** Names of a node's series. */
export const SERIES_NAMES_MAX = 64;
