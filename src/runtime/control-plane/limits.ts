/**
 * Limits of the store and the bus. NATS decides them, for the kind in memory too, so that a program finds the same limits on one machine and in a cluster.
 *
 * NATS servers are configured with the first four (`nats/server/nats-config.ts`); the rest stays below them.
 */
import { STORE_ELECTION_MS } from "../base/limits.ts";

/** Size of a message, headers included. */
export const NATS_MESSAGE_BYTES_MAX = 1024 * 1024;
/** In one atomic batch. */
const NATS_BATCH_MESSAGES_MAX = 1_000;
/** Interval of pings in both directions. Either side closes the connection after several unanswered pings. */
export const NATS_PING_EVERY_MS = 1_000;
/** Disk space of the state. NATS's default, a share of the free space, can be less on a full disk than the store's stream asks for. */
export const NATS_STATE_BYTES_MAX = 2 * 1024 * 1024 * 1024;

/** A transaction waits for an election of the store's servers and half as long again; waiting less would turn each election into a failure. */
export const TRANSACTION_TIMEOUT_MS = 1.5 * STORE_ELECTION_MS;
/**
 * Time for one attempt at a store operation or a connection. A living leader answers within milliseconds, and pings detect one that hangs
 * earlier.
 */
export const STORE_ATTEMPT_MS = 3 * NATS_PING_EVERY_MS;

/** A transaction needs one message for each write and at most one for each check. */
export const TRANSACTION_WRITES_MAX = NATS_BATCH_MESSAGES_MAX / 2;
/** Size of a value in the store, as part of a message. Records are small; packages and logs are kept elsewhere. */
export const VALUE_BYTES_MAX = NATS_MESSAGE_BYTES_MAX / 2;
/** Size of a message on the bus, less room for its headers. Control messages are small, and bytes of objects go directly between nodes. */
export const MESSAGE_BYTES_MAX = NATS_MESSAGE_BYTES_MAX - 4096;
/**
 * Size of all stored data, which leaves room for the server's overhead: 100,000 actors of 300 bytes take 60 MB. A full store refuses writes
 * with an error.
 */
export const STREAM_BYTES_MAX = NATS_STATE_BYTES_MAX / 2;

/** Length of a NATS subject in characters; NATS recommends to stay below. */
export const SUBJECT_LENGTH_MAX = 1_000;
/** Keys of the store are subjects. */
export const KEY_LENGTH_MAX = SUBJECT_LENGTH_MAX;
/**
 * Length of a key of a program or a library with its table, as the store writes it: plain characters take one, others three for each byte
 * of UTF-8. The rest is for the head's own prefix.
 */
export const STORED_NAME_MAX = KEY_LENGTH_MAX - 100;
