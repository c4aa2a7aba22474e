/** Memory of workers on a node, and the use above which ending one is worth it. */

/** Memory of an idle worker, garbage of earlier tasks included. A limit counts from here, or from the worker's memory when it is leased. */
export const WORKER_BASE_BYTES = 48 * 1024 * 1024;
/** Ending one that has less helps nobody. */
export const VICTIM_MIN_BYTES = 64 * 1024 * 1024;

/** An environment whose workers die before they are up (a broken NODE_OPTIONS) would have them started without end. */
export const FAILED_STARTS_MAX = 3;

/** After a deadline, a caller whose event loop turns has ended the task within this time. */
export const CALLER_ACTS_WITHIN_MS = 100;
/** Between the daemon's attempts to interrupt a task whose caller does not. */
export const INTERRUPT_AGAIN_MS = 50;
