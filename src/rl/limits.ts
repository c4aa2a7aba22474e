/** The limits of `shoal/rl`, each with its reason. */

/** Steps of each environment whose observations are checked against the space. A mistake shows in the first steps; checks of all steps would cost more than many environments do. */
export const CHECKED_STEPS_MAX = 100;

/** Environments of one runner. Far above any use; a larger number is a slip. */
export const ENVIRONMENTS_MAX = 65_536;

/** Agents of one environment. Far above any use; columns are made for all of them. */
export const AGENTS_MAX = 4096;

/** Steps of a runner in a row in which no agent acts. An environment may have some between two agents; more are an endless loop. */
export const IDLE_STEPS_MAX = 10_000;

/** Sampling and learning in a process let its timers and messages through this often. Once costs some microseconds. */
export const BREATH_MS = 20;

/** A runner that failed so often without an answer would fail again: its environment, or its memory, is to blame. */
export const FAILURES_IN_A_ROW_MAX = 3;

/** For a runner to close its environments, before its process is killed. */
export const LEAVE_WITHIN_MS = 3000;

/** Calls of each runner whose samples may wait for the learner of A3C or ApexDQN. A learner that falls further behind would learn from old policies. */
export const WAITING_CALLS_MAX = 4;

/** Updates in a row that may be skipped because of a gradient that is not finite. */
export const SKIPPED_UPDATES_MAX = 10;

/** Names that callbacks may log. A result with more is a slip: a name made of an episode's number, for example. */
export const LOGGED_NAMES_MAX = 1000;

/** Values of one logged name between two results, and of a window. Far more than the episodes of an iteration. */
export const LOGGED_VALUES_MAX = 10_000;

/** Rows of one forward pass without gradients: enough to fill the kernels, few enough to stay in the cache. */
export const FORWARD_ROWS_MAX = 4096;

/** The header of a file of weights: far more than the names of any network need. */
export const HEADER_BYTES_MAX = 16_777_216;

/** Bounds on the logarithm of a standard deviation, as in RLlib: beyond them exp overflows or gradients vanish. */
export const LOG_DEVIATION_MIN = -20;
export const LOG_DEVIATION_MAX = 2;

/** Steps of recorded episodes that wait for a file. A file of so many has some hundred kilobytes at least, and a killed process loses no more. */
export const OUTPUT_STEPS_PER_FILE = 10_000;

/** Numbers of all recorded observations that are read. They stay in memory: 4 GiB of float32. */
export const INPUT_NUMBERS_MAX = 1_073_741_824;

/** Bound on the exponent of an action's weight: exp of 88 is no float32, and a weight of 485 million says enough. */
export const EXPONENT_MAX = 20;

/** The most that an action of IQL counts, as in the paper's program: a few large advantages would drown all others. */
export const ADVANTAGE_WEIGHT_MAX = 100;
