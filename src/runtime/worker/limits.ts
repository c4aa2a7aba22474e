/**
 * Limits of running calls, on which workers of both languages and their callers agree. `python/shoal/_limits.py` is made from them.
 */

/** A wait shorter than this keeps the slot: giving it back and asking for it costs two messages. */
export const PARK_AFTER_MS = 2;
/** Longest turn of a generator, or of a run of short calls, without a wait. Then the worker sends its results and reads its messages. */
export const TURN_AFTER_MS = 1;
/** Number of first items of a stream that are sent singly, because the next item may take an unknown time. */
export const SINGLE_ITEMS_MAX = 16;

/** A signal that was promised to synchronous code comes at once; if it does not, its sender is gone. */
export const SIGNAL_WITHIN_MS = 1000;
/** Interval at which an ending worker checks whether its own calls were answered. */
export const LOOK_FOR_OPEN_CALLS_MS = 20;
/** How long the user's own code may take while an actor or its worker ends: a dispose method, a method that called `exitActor()`, exit handlers. */
export const EXIT_WITHIN_MS = 5000;
/** Time in which a daemon reads the last output of workers. Their code has half of the time to end. */
export const SHUTDOWN_WITHIN_MS = 2 * EXIT_WITHIN_MS;

/** A loop that runs a compiled graph, or awaits its results, lets the event loop turn at least this often, so that its process hears of the rest of the world. */
export const TURN_EVERY_MS = 5;

/** Functions whose times are kept between connections that carry one call each. A further one forgets the oldest, which is measured anew. */
export const FIRST_CALL_FUNCTIONS_MAX = 1024;
