/**
 * Limits of a caller that hold in both languages, or in several parts of a caller.
 *
 * `python/shoal/_limits.py` is made from this file. A limit that one file alone uses stands in that file. Each limit
 * has its reason beside it: a measured cost, or the other limit that it depends on.
 */
import { CLOSED_AFTER_MS } from "../runtime/base/limits.ts";
import { STORE_FROM_BYTES } from "../runtime/objects/limits.ts";
import { OUTPUT_OPEN_MAX_MS } from "../runtime/os/limits.ts";
import { RECORD_BYTES_MAX } from "../runtime/wire/limits.ts";

/** Work pushed ahead to one worker: enough to hide the way there and back (50 us), little enough to spread well. */
export const WINDOW_MS = 5;
/** The cost of any task besides its own run time. */
export const CALL_OVERHEAD_MS = 0.001;
/** Calls pushed ahead to one worker, however short they are. */
export const IN_FLIGHT_MAX = 4096;
/** Demand beyond what any node could grant at once is not worth a message. */
export const BACKLOG_MAX = 1024;
/** Leases that are asked for at once and not at the end of the turn, so that calls begin while their caller computes. */
export const EARLY_DEMAND_MAX = 4;
/**
 * A function that is known to take less has one call of a turn leave at once, as the others can follow it on the same worker. Four of them
 * took twice the processor time of a burst of five after a pause.
 */
export const QUICK_CALL_MS = 1;
/** In a worker, after no other worker was free for a call that travelled with its demand: asking for it back costs as much as running it. */
export const TRAVEL_AGAIN_AFTER_MS = 20;

/** How many of a process's first calls keep their stacks for errors, at 10 us each. */
export const CALL_SITES_BURST = 1000;
/** Limit on later stacks a second: 0.25 % of the time. */
export const CALL_SITES_PER_SECOND = 250;

/** The daemon knows why a worker died; this bounds the wait for it. On this machine a connection breaks with its process, and the daemon may just be late. */
export const EXIT_REPORT_WITHIN_MS = 10_000;
/** Elsewhere it may be the network alone, or all of the node. */
export const EXIT_REPORT_ELSEWHERE_WITHIN_MS = 2000;
/** A connection to an actor that breaks means that the process died, which the node tells within this time, or that the connection alone broke. */
export const DEATH_TOLD_WITHIN_MS = 1000;
/** The death of another node is known once it has been away for `CLOSED_AFTER_MS`. */
export const DEATH_OF_NODE_TOLD_WITHIN_MS = 2 * CLOSED_AFTER_MS;
/** An actor that computes for long answers no new caller: a refused caller tries again. */
export const RECONNECT_MIN_MS = 100;
export const RECONNECT_MAX_MS = 2000;

/** How often a task runs again at no cost after another task ended their common process. Without a bound a child that always dies would run for ever. */
export const SHARED_DEATHS_FREE_MAX = 3;

/** Between the attempts to interrupt a call; the first comes after as long, the time to end by itself for code that pauses. */
export const INTERRUPT_EVERY_MS = 50;
/** After `CANCEL_GRACE_MS` a worker may go on without a task, where others have begun there; it has this long to say so. */
export const ABANDON_WITHIN_MS = 500;

/** How far a generator may be ahead: enough to hide the way there and back, little enough that an early end wastes little. */
export const ITEMS_AHEAD_MAX = 256;
/** Without a limit of the user's own, large items count by their size. */
export const BYTES_AHEAD_MAX = 64 * 1024 * 1024;
/** Bounds an error with all its parts: it travels in one message. */
export const ERROR_BYTES_MAX = 64 * 1024 * 1024;

/** Data of collective operations and queues from this size on travels by reference: a call that carries less costs less than the reference. */
export const REFERENCE_FROM_BYTES = STORE_FROM_BYTES;
/** A definition without buffers, which nobody could map, stays outside the store up to this part of a head's record. */
export const STORE_TEXT_FROM_BYTES = RECORD_BYTES_MAX / 8;
/** Callers that may wait in a queue, and members of a group: each takes some hundred bytes in the actor. */
export const WAITERS_MAX = 1_000_000;

/**
 * Bounds an amount of a resource: in units of 1/10,000, sums of whole amounts stay exact beyond it, and no machine has as many bytes of
 * memory.
 */
export const AMOUNT_MAX = 2 ** 43;
/** Bounds a name that a user chooses. */
export const NAME_LENGTH_MAX = 1000;

/**
 * The time that a program without `shutdown` waits for its node, as its user waits for the program. An end takes 10 ms, and
 * `OUTPUT_OPEN_MAX_MS` more where a program that a worker has started keeps its pipes.
 */
export const EXIT_WAITS_MS = 2 * OUTPUT_OPEN_MAX_MS;
/** Bundles of a placement group. More are a mistake: each is reserved by itself. */
export const BUNDLES_MAX = 10_000;
