/** Limits of events and counters. */

/** What one process may have recorded and not told: with `TELL_AFTER_MS` 4,000 events a second. */
export const EVENTS_OF_PROCESS_MAX = 1000;
/** Soon enough for people who watch, and a batch for what happens often. */
export const TELL_AFTER_MS = 250;
/** What the head keeps: at 1 KB each it takes 10 MB. */
export const EVENTS_OF_HEAD_MAX = 10_000;
/** Of one process, told apart by name and tags. */
export const COUNTERS_OF_PROCESS_MAX = 1000;
/** Of the cluster. */
export const COUNTERS_OF_HEAD_MAX = 10_000;
export const FIELDS_MAX = 32;
export const FIELD_CHARACTERS_MAX = 1024;
