/**
 * Limits of what runs calls, on which workers of both languages and the callers of them agree. `python/shoal/_limits.py` is made from them.
 */

/** A wait shorter than this keeps the slot: giving it back and asking for it costs two messages. */
export const PARK_AFTER_MS = 2;
/** A generator, or a run of short calls, that never waits keeps the worker for this long; then what it made is sent, and what came is heard. */
export const TURN_AFTER_MS = 1;
/** Each of the first items of a stream is sent before the next is asked for: that may take long, and nothing is known of it. */
export const SINGLE_ITEMS_MAX = 16;

/** How long a cancelled task that has begun may take to end by itself, before its worker is ended or goes on without it. */
export const CANCEL_GRACE_MS = 3000;
/** A signal that was promised to synchronous code comes at once; if it does not, its sender is gone. */
export const SIGNAL_WITHIN_MS = 1000;
/** How often a worker that is to end looks whether what it has called was answered. */
export const LOOK_FOR_OPEN_CALLS_MS = 20;
/** How long the user's own code may take while an actor or its worker ends: a dispose method, a method that called `exitActor()`, exit handlers. */
export const EXIT_WITHIN_MS = 5000;
/** How long whoever ends a node waits for it to read what its workers still print: twice what their own code may take for its end. */
export const SHUTDOWN_WITHIN_MS = 2 * EXIT_WITHIN_MS;

/** A loop that runs a compiled graph, or awaits its results, lets the event loop turn at least this often, so that its process hears of the rest of the world. */
export const TURN_EVERY_MS = 5;
