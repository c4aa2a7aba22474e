/**
 * Limits of the control plane that belong together: how heads take turns, and what they keep at a time in the store.
 *
 * What nodes and heads have to agree on (`PROVE_EVERY_MS`, `PROOF_GOOD_MS`, times of death) is in `base/limits.ts`, and what NATS takes in `platform/nats/limits.ts`.
 */
import { DEAD_AFTER_MS, PROVE_EVERY_MS, STORE_ELECTION_MS } from "../base/limits.ts";
import { NATS_BATCH_MESSAGES_MAX, NATS_MESSAGE_BYTES_MAX, NATS_PING_EVERY_MS, NATS_STATE_BYTES_MAX } from "../platform/nats/limits.ts";
import { RECORD_BYTES_MAX } from "../wire/limits.ts";

/** The head that leads says so on the bus. */
export const ANNOUNCE_EVERY_MS = 200;
/** Who hears no leader for so long claims the next term: six announcements did not come. */
export const CLAIM_AFTER_MS: number = 6 * ANNOUNCE_EVERY_MS;
/** Who would claim and does not reach the bus in this time cannot hear a leader either, and leaves it. */
export const FLUSH_WITHIN_MS: number = 2 * ANNOUNCE_EVERY_MS;
/** A leader that can prove nothing for so long leads no more: the servers had time for an election once the next proof was due, with two seconds to spare. Its nodes then have time to find another head before they end (`PROOF_GOOD_MS` + `FENCE_AFTER_MS` after the proof). */
export const GIVES_UP_AFTER_MS: number = PROVE_EVERY_MS + STORE_ELECTION_MS + 2_000;

/** A transaction waits for an election of the store's servers and half as long again; waiting less would turn each election into a failure. */
export const TRANSACTION_TIMEOUT_MS: number = 1.5 * STORE_ELECTION_MS;
/** One attempt of it, or of connecting: a leader that lives answers within milliseconds; one that hangs is noticed by the connection's pings before. */
export const STORE_ATTEMPT_MS: number = 3 * NATS_PING_EVERY_MS;
/** A transaction needs one message for each write and at most one for each check. */
export const TRANSACTION_WRITES_MAX: number = NATS_BATCH_MESSAGES_MAX / 2;
/** Larger commits do not make a transaction cheaper and make all in it wait. */
export const COMMIT_WRITES_MAX = 200;
/** Enough for 200 records of actors. */
export const COMMIT_BYTES_MAX: number = 2 * 1024 * 1024;
/** Of a value in the store, as part of a message. Records are small; packages and logs have other places. */
export const VALUE_BYTES_MAX: number = NATS_MESSAGE_BYTES_MAX / 2;
/** Of a message on the bus: the rest is for its headers. Control messages are small, and bytes of objects go directly between nodes. */
export const MESSAGE_BYTES_MAX: number = NATS_MESSAGE_BYTES_MAX - 4096;

/** What arguments, or what a definition captured, may take of a record, which lies in several values: the rest is for its header. */
export const RECORD_BODY_BYTES_MAX: number = RECORD_BYTES_MAX - 64 * 1024;
/** Dead lives of nodes are remembered, by the detector and in the store, so that none returns; the oldest are forgotten. */
export const DEAD_NODES_MAX = 10_000;
/** Of all that the store holds, which leaves room for the server's own: 100,000 actors of 300 bytes are 60 MB with what the server adds. A full store refuses writes, and says so. */
export const STREAM_BYTES_MAX: number = NATS_STATE_BYTES_MAX / 2;

/** After a head has taken over, nothing that waits is placed for so long: in a cluster of which half is here every group would be placed on that half. */
export const NODES_COME_WITHIN_MS = 1000;
/** Without a store: how long nodes may take to come with the other bundles of a group that only they know. As long as nodes may stay away before they are dead. */
export const BUNDLES_COME_WITHIN_MS: number = DEAD_AFTER_MS;

/** Of a subject of NATS, in characters; it should stay below this. */
export const SUBJECT_LENGTH_MAX = 1_000;
/** Keys of the store are subjects. */
export const KEY_LENGTH_MAX: number = SUBJECT_LENGTH_MAX;
/** Of a key of a program or a library with its table, as the store writes it: plain characters take one, others three for each of their bytes in UTF-8. The rest is for what the head puts before it. */
export const STORED_NAME_MAX: number = KEY_LENGTH_MAX - 100;
