/**
 * Limits of the control plane that depend on each other: turns of heads, and sizes of commits.
 *
 * Values that nodes and heads have to agree on (`PROVE_EVERY_MS`, `PROOF_GOOD_MS`, times of death) are in `runtime/base/limits.ts`, those
 * of the store and the bus in `runtime/control-plane/limits.ts`.
 */
import { DEAD_AFTER_MS, PROVE_EVERY_MS, STORE_ELECTION_MS } from "../base/limits.ts";

/** Interval of the leader's announcements on the bus. */
export const ANNOUNCE_EVERY_MS = 200;
/** A standby that hears no leader for this long claims the next term: six announcements are missing. */
export const CLAIM_AFTER_MS = 6 * ANNOUNCE_EVERY_MS;
/** A claimant that does not reach the bus in this time cannot hear a leader either, and gives up. */
export const FLUSH_WITHIN_MS = 2 * ANNOUNCE_EVERY_MS;
/**
 * Time without a proof after which a leader steps down: the servers had time for an election once the next proof was due, with two seconds
 * to spare. Its nodes then have time to find another head before they end (`PROOF_GOOD_MS` + `FENCE_AFTER_MS` after the proof).
 */
export const GIVES_UP_AFTER_MS = PROVE_EVERY_MS + STORE_ELECTION_MS + 2_000;

/** Larger commits do not make a transaction cheaper and make all in it wait. */
export const COMMIT_WRITES_MAX = 200;
/** Enough for 200 records of actors. */
export const COMMIT_BYTES_MAX = 2 * 1024 * 1024;

/** Dead incarnations of nodes in the detector and in the store, kept so that none returns; the oldest are forgotten. */
export const DEAD_NODES_MAX = 10_000;

/** Names of dropped functions at the head: a fetch of one comes soon, or never. */
export const GONE_FUNCTIONS_MAX = 1000;

/**
 * Time after a takeover in which waiting demands are not placed: while half of a cluster has registered, every group would be placed on
 * that half.
 */
export const NODES_COME_WITHIN_MS = 1000;
/**
 * Without a store: time for an earlier head's nodes to register, with bundles that only they know. As long as nodes may stay away before
 * they count as dead.
 */
export const UNRECORDED_NODES_COME_WITHIN_MS = DEAD_AFTER_MS;

/** All values of `kvPut` together, with their keys. A head without a store keeps them in memory. */
export const KEY_VALUES_BYTES_MAX = 256 * 1024 * 1024;
/** A value's share of the tables' memory beside its bytes and its key, so that many small ones are bounded too. */
export const KEY_VALUE_OVERHEAD_BYTES = 256;
