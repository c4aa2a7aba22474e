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
