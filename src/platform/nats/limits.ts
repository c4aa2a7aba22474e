/** What NATS takes and needs: its servers are told so here, and the control store and the bus keep below it. */

/** Of a message, headers included. */
export const NATS_MESSAGE_BYTES_MAX: number = 1024 * 1024;
/** In one atomic batch. */
export const NATS_BATCH_MESSAGES_MAX = 1_000;
/** Either end asks so often whether the other is there, and gives a connection up when several questions were not answered. */
export const NATS_PING_EVERY_MS = 1_000;
/** How many of these have a server give a connection up. */
export const NATS_PINGS_MAX = 3;

/** With less free disk a server is not started: it would turn its state off soon, and say nothing to whoever waits for it. */
export const FREE_BYTES_MIN: number = 64 * 1024 * 1024;
/** What the state may take of the disk. Not a share of what is free, NATS's default: on a full disk that is less than the stream of a store asks for. */
export const NATS_STATE_BYTES_MAX: number = 2 * 1024 * 1024 * 1024;
/** A server greets who connects at once. */
export const NATS_GREETS_WITHIN_MS = 2_000;
