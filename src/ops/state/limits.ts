/** Limits and defaults of questions about the state and the logs of a cluster. */

/** Time in which a node answers. */
export const STATE_TIMEOUT_DEFAULT_MS = 30_000;
/** Nodes that are asked at once. */
export const NODES_ASKED_AT_ONCE = 64;
/** Names of tasks and actors in metrics; further ones are `(other)`. */
export const METRIC_NAMES_MAX = 1_000;
/** Rows of a page. */
export const LIMIT_MAX = 10_000;
/** Answers of a history that are kept while its files stay as they are. */
export const KEPT_ANSWERS_MAX = 64;
/** Rows of each list of the overview. */
export const OVERVIEW_ROWS = 8;
/** Lines of a log. */
export const LOG_LINES_DEFAULT = 1_000;
/** Time between two looks at a log that is followed. */
export const LOG_LOOK_EVERY_MS = 250;
/** Processes whose stacks one command prints, and calls of one that are named. */
export const INSPECTED_MAX = 1_000;
/** Time for a profile beyond its length: the inspector opens, and the result is made. */
export const PROFILE_WITHIN_MORE_MS = 60_000;
/** Time for a heap snapshot, whose process may have many gigabytes. */
export const SNAPSHOT_WITHIN_MS = 660_000;
/** Length of a profile. */
export const PROFILE_DEFAULT_MS = 5_000;
export const PROFILE_MAX_MS = 600_000;
/** Points of a series in one answer: a day by minutes has 1,440. */
export const SERIES_POINTS_MAX = 2_000;
