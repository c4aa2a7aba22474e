/** What a server of NATS needs, and how it is found to be gone. What a message and the state may take is in `control-plane/limits.ts`. */

/** How many of these have a server give a connection up. */
export const NATS_PINGS_MAX = 3;

/** With less free disk a server is not started: it would turn its state off soon, and say nothing to whoever waits for it. */
export const FREE_BYTES_MIN = 64 * 1024 * 1024;
/** A server greets who connects at once. */
export const NATS_GREETS_WITHIN_MS = 2_000;
