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
