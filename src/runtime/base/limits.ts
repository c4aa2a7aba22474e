/**
 * Limits on which layers agree that do not know each other: who is alive, for how long, and what a timer can hold.
 *
 * The head counts a node's silence (`runtime/head/nodes/failure-detector.ts`), the node its own (`runtime/node/membership/self-fence.ts`), and each worker looks at the
 * time that its daemon has written (`runtime/os/processes/execution-lease.ts`). The node has to end before the head gives its work to others, and the workers before that, whatever their
 * daemon does; so these times follow from one. Decisions 0025 and 0032 say why they are safe.
 */

/** The longest time that a timer takes; it takes a longer one for none at all. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

/** Each node tells the head so often that it lives. */
export const HEARTBEAT_EVERY_MS = 1_000;
/** A node that was silent for so long is dead: ten heartbeats. */
export const DEAD_AFTER_MS = 10_000;
/** A node whose link is closed and that no other way reaches is dead after this: a process that ended looks like it. */
export const CLOSED_AFTER_MS = 2_000;
/** Without an event for so long a process stood still: those that count time have a tick several times a second. */
export const STALL_MS = 1_000;

/** Of the time after which it is dead: a node that was not answered for so long ends itself. */
export const FENCE_FRACTION = 0.7;
export const FENCE_AFTER_MS = DEAD_AFTER_MS * FENCE_FRACTION;
/** Workers stop by themselves so long after their node's time is over: a daemon that runs ends them at the time itself. */
export const WORKER_GRACE_MS = 500;
/** Of the time after which it is dead: a node is suspected when two heartbeats did not come. */
export const SUSPECT_FRACTION = (2 * HEARTBEAT_EVERY_MS) / DEAD_AFTER_MS;
/** Of the time after which it is dead: so long the suspicion has been kept before the death is. The node and its workers have ended by then, with as much as their grace to spare. */
export const MARKED_FRACTION = (FENCE_AFTER_MS + 2 * WORKER_GRACE_MS) / DEAD_AFTER_MS;
/** With so many nodes or more, a head that loses most of them at once declares none of them dead; of fewer, all that are silent may well be what is dead. */
export const GUARD_NODES_MIN = 3;
/** In the time after which one is dead: so long it declares none of them dead. A cluster that really lost its larger half must go on at some time, and the nodes have long ended themselves. */
export const FREEZE_FACTOR = 5;

/** A head that leads proves so often in the store that no other one has begun. */
export const PROVE_EVERY_MS = 3_000;
/** The servers of the store take four to eight seconds to elect their leader, and nobody can make that faster. */
export const STORE_ELECTION_MS = 8_000;
/** While the last proof is older, a head concludes nothing from silence: the store may be away, and not only elect. */
export const PROOF_FRESH_MS = STORE_ELECTION_MS;
/** So long after its last proof a head still answers nodes, and the next head gives them that much more time: more than twice what the servers take for an election. */
export const PROOF_GOOD_MS = 20_000;

/** Up to this many bytes a loop copies faster than the view that `set` needs is made: measured 67 ns against 91 ns at 16, equal at 40. */
export const LOOP_BYTES_MAX = 32;

/** A node's id, and those of its processes and of its store's files, begin with the same so many digits. */
export const NODE_TAG_DIGITS = 16;
/** Of an error of a task: a stack trace tool reads the first lines; a message beyond this is data, and is whole in `cause`. */
export const TASK_MESSAGE_LENGTH_MAX = 8192;
/** Errors that pass through many tasks grow by each task's frames; the innermost, which come first, are kept. */
export const TASK_STACK_LENGTH_MAX = 32_768;
