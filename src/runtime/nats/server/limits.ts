/** Limits of a nats-server, and timeouts that detect a dead one. `control-plane/limits.ts` has the limits of messages and state. */

/** How many of these have a server give a connection up. */
export const NATS_PINGS_MAX = 3;

/** Free disk below which no server is started. NATS would soon turn its storage off, without an answer to waiting clients. */
export const FREE_BYTES_MIN = 64 * 1024 * 1024;
/** Time in which a server greets a new connection. */
export const NATS_GREETS_WITHIN_MS = 2_000;
