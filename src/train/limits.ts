/** The limits of `shoal/train`, each with its reason. */

/** After errors of communication alone: how long their cause may take to be known. The exit of a process was measured to come up to 300 ms after its peers' errors. */
export const SETTLE_MS = 1000;

/** After a cause is known: for others that fail at the same moment, which are told of, too. */
export const SETTLE_AFTER_CAUSE_MS = 100;

/** A process of Python that answers no ping for so long is taken for dead: long enough for a call that holds the interpreter. Ray's. */
export const HEALTH_CHECK_TIMEOUT_MS = 600_000;

/** A process that does not answer for so long, while its loop runs on a thread or awaits, stands still. */
export const PROBE_MS = 2000;

/** How often an elastic run looks whether there is room for more ranks. Ray's. */
export const RESIZE_INTERVAL_MS = 60_000;

/** For the agent of another node to start, while the ranks meet: a process on a machine with much other work. */
export const AGENT_START_MS = 10_000;

/** Time limit on the frameworks' own shutdown after a good end. Remaining processes are then killed. */
export const TEAR_DOWN_MS = 5000;

/** A group that waits for its resources: a warning says what is missing. */
export const ROOM_WARN_MS = 2000;

/** Time limit on placing a larger size of an elastic group, before a smaller size is tried. */
export const ELASTIC_PLACEMENT_MS = 2000;

/** For more ranks of an elastic group to find their places while the others train. */
export const ROOM_FOR_MORE_MS = 500;

/** The rendezvous of a framework. PyTorch's own default. */
export const RENDEZVOUS_MS = 1_800_000;

/** A storage that fails is tried again for so long. */
export const STORAGE_RETRY_MS = 60_000;

/** After Ctrl-C: for the ranks to end, before the program ends without waiting for them. Its daemon ends them then. */
export const INTERRUPTED_MS = 5000;

/** Lines of a rank that wait while its log cannot be written; older ones are left out. */
export const RANK_LOG_LINES_MAX = 10_000;

/** For rows and logs on S3 to be sent along with a checkpoint; a slow tracker does not hold the ranks up for longer. */
export const SENT_ALONG_MS = 1000;

/** For others to give back what their last tasks and ranks held, and for their nodes to tell that. */
export const GIVEN_BACK_MS = 500;
