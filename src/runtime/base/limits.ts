/**
 * Limits that several layers share without knowing each other: when a node, a worker or a head counts as dead, and the longest timer.
 *
 * The head counts a node's silence (`runtime/head/nodes/failure-detector.ts`), the node its own (`runtime/node/membership/fencing/self-fence.ts`), and each worker looks at the
 * time that its daemon has written (`runtime/os/processes/memory/execution-lease.ts`). The node has to end before the head gives its work to others, and the workers before that, whatever their
 * daemon does; so these times follow from one. Decisions 0025 and 0032 say why they are safe.
 */

/** The longest delay of a timer: Node fires a longer one at once. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

/** Interval of a node's heartbeats to the head. */
export const HEARTBEAT_EVERY_MS = 1_000;
/** Silence after which the head declares a node dead: ten heartbeats. */
export const DEAD_AFTER_MS = 10_000;
/** The same for a node whose link is closed and that cannot be reached otherwise: an ended process looks like that. */
export const CLOSED_AFTER_MS = 2_000;
/** A process without an event for this long stood still: all its clocks tick several times a second. */
export const STALL_MS = 1_000;

/** The part of `DEAD_AFTER_MS` after which a node that the head does not answer ends itself. */
export const FENCE_FRACTION = 0.7;
export const FENCE_AFTER_MS = DEAD_AFTER_MS * FENCE_FRACTION;
/** Workers stop by themselves this long after their node's time is over. A daemon that runs ends them at that time. */
export const WORKER_GRACE_MS = 500;
/** The part of `DEAD_AFTER_MS` after which a node is suspected: two heartbeats are missing. */
export const SUSPECT_FRACTION = (2 * HEARTBEAT_EVERY_MS) / DEAD_AFTER_MS;
/** The part of `DEAD_AFTER_MS` for which a node stays suspected before its death is committed. By then the node and its workers have ended, with their grace to spare. */
export const MARKED_FRACTION = (FENCE_AFTER_MS + 2 * WORKER_GRACE_MS) / DEAD_AFTER_MS;
/**
 * Size of a cluster from which on a head that loses most nodes at once declares none dead. In a smaller cluster most nodes may really have
 * died.
 */
export const GUARD_NODES_MIN = 3;
/**
 * Duration of such a freeze, in units of `DEAD_AFTER_MS`. A cluster that really lost its larger half must continue at some time, and the
 * lost nodes have long ended themselves.
 */
export const FREEZE_FACTOR = 5;

/** Interval at which the leading head proves in the store that no other head has begun. */
export const PROVE_EVERY_MS = 3_000;
/** The store's servers take four to eight seconds to elect a leader, and have no setting for it. */
export const STORE_ELECTION_MS = 8_000;
/** A head whose last proof is older concludes nothing from silence: the store may be away for longer than an election. */
export const PROOF_FRESH_MS = STORE_ELECTION_MS;
/** A head answers nodes this long after its last proof, and the next head gives them as much more time: more than two elections. */
export const PROOF_GOOD_MS = 20_000;

/** Up to this many bytes a loop copies faster than the view that `set` needs is made: measured 67 ns against 91 ns at 16, equal at 40. */
export const LOOP_BYTES_MAX = 32;

/** Digits that the ids of a node, its processes and its store's files have in common. */
export const NODE_TAG_DIGITS = 16;
/** Length of the message of a task's error. A longer message is data, and is whole in `cause`. */
export const TASK_MESSAGE_LENGTH_MAX = 8192;
/** Length of the stack of a task's error, which grows with each nested task. The innermost frames come first and are kept. */
export const TASK_STACK_LENGTH_MAX = 32_768;

/** Time limit on the own end of a cancelled task that has begun, before its worker is ended or goes on without it. Callers, workers and daemons count it. */
export const CANCEL_GRACE_MS = 3000;
