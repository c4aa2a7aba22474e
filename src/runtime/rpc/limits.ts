/**
 * Limits of connections: how long each side waits for the other, and how much a process writes at once. Limits that Python's connections
 * share are in `python/shoal/_limits.py`, too.
 */
import { HEARTBEAT_EVERY_MS } from "../base/limits.ts";

/** A program that has just started sends its first message when it gets a processor: on a busy machine that took three seconds. */
export const OPEN_WITHIN_MS = 5_000;
/** A caller that computes reads the listener's proof when it gets round to it. As long as a caller waits for an answer. */
export const REQUEST_TIMEOUT_MS = 30_000;
export const HELLO_WITHIN_MS = REQUEST_TIMEOUT_MS;
/** Time for a refused caller to read the reason. */
export const REFUSAL_READ_WITHIN_MS = 1000;

/** Interval of pings on a link between nodes. */
export const PING_EVERY_MS = HEARTBEAT_EVERY_MS;
/** A connection is closed and opened again after this many unanswered pings. */
export const BROKEN_AFTER_MS = 3 * PING_EVERY_MS;

/** Size of a peer's frame before its hello. */
export const HELLO_SIZE_MAX = 4096;
/** Smaller frames of a tick are joined up to this size; larger ones are written as they are. */
export const JOINED_BYTES_MAX = 64 * 1024;

/**
 * Calls that leave at once in one turn of the event loop, by connection; the rest of the turn's calls go out in bulk. One write each costs
 * 5 to 10 us.
 */
export const EARLY_FLUSHES_MAX = 4;

/**
 * Time that a process stays awake for an answer. It exceeds a short call plus the time to wake a peer (8 us if it is blocked, 20 if its
 * processor has gone idle). Once one side stays awake that long, both meet.
 */
export const AWAKE_MS = 0.1;
/** Without offers of the processor it keeps that from peers that share it. */
export const AWAKE_ALONE_MS = 0.03;
