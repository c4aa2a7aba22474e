/** Limits of events and counters. */

/** Recorded events that a process has not told the head yet: with `TELL_AFTER_MS`, 4,000 events a second. */
export const EVENTS_OF_PROCESS_MAX = 1000;
/** Delay until events are told: soon enough for people who watch, and long enough to gather frequent ones. */
export const TELL_AFTER_MS = 250;
/** Events that the head keeps: 10 MB at 1 KB each. */
export const EVENTS_OF_HEAD_MAX = 10_000;
/** Counters of a process, distinguished by name and tags. */
export const COUNTERS_OF_PROCESS_MAX = 1000;
/** Counters of the cluster. */
export const COUNTERS_OF_HEAD_MAX = 10_000;
export const FIELDS_MAX = 32;
export const FIELD_CHARACTERS_MAX = 1024;
