/**
 * Limits of the store and the bus. NATS decides them, for the kind in memory too, so that a program finds the same limits on one machine and in a cluster.
 *
 * The servers of NATS are told the first four (`nats/server/nats-config.ts`); the rest keeps below them.
 */
import { STORE_ELECTION_MS } from "../base/limits.ts";

/** Of a message, headers included. */
export const NATS_MESSAGE_BYTES_MAX = 1024 * 1024;
/** In one atomic batch. */
const NATS_BATCH_MESSAGES_MAX = 1_000;
/** Either end asks so often whether the other is there, and gives a connection up when several questions were not answered. */
export const NATS_PING_EVERY_MS = 1_000;
/** What the state may take of the disk. Not a share of what is free, NATS's default: on a full disk that is less than the stream of a store asks for. */
export const NATS_STATE_BYTES_MAX = 2 * 1024 * 1024 * 1024;

/** A transaction waits for an election of the store's servers and half as long again; waiting less would turn each election into a failure. */
export const TRANSACTION_TIMEOUT_MS = 1.5 * STORE_ELECTION_MS;
/** One attempt of it, or of connecting: a leader that lives answers within milliseconds; one that hangs is noticed by the connection's pings before. */
export const STORE_ATTEMPT_MS = 3 * NATS_PING_EVERY_MS;

/** A transaction needs one message for each write and at most one for each check. */
export const TRANSACTION_WRITES_MAX = NATS_BATCH_MESSAGES_MAX / 2;
/** Of a value in the store, as part of a message. Records are small; packages and logs have other places. */
export const VALUE_BYTES_MAX = NATS_MESSAGE_BYTES_MAX / 2;
/** Of a message on the bus: the rest is for its headers. Control messages are small, and bytes of objects go directly between nodes. */
export const MESSAGE_BYTES_MAX = NATS_MESSAGE_BYTES_MAX - 4096;
/** Of all that the store holds, which leaves room for the server's own: 100,000 actors of 300 bytes are 60 MB with what the server adds. A full store refuses writes, and says so. */
export const STREAM_BYTES_MAX = NATS_STATE_BYTES_MAX / 2;

/** Of a subject of NATS, in characters; it should stay below this. */
export const SUBJECT_LENGTH_MAX = 1_000;
/** Keys of the store are subjects. */
export const KEY_LENGTH_MAX = SUBJECT_LENGTH_MAX;
/** Of a key of a program or a library with its table, as the store writes it: plain characters take one, others three for each of their bytes in UTF-8. The rest is for what the head puts before it. */
export const STORED_NAME_MAX = KEY_LENGTH_MAX - 100;
