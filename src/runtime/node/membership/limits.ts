/**
 * How a node finds out about a silent head, and how long it takes for that. All of it has to fit into the time after which the node ends (`FENCE_AFTER_MS` of `runtime/base/limits.ts`).
 *
 * Used by `fence-watch.ts` and what it asks: `head-silence.ts`, `store-watch.ts`, `store-absence.ts`, `node-links.ts`.
 */
import { REFUSES_WITHIN_MS } from "../../os/limits.ts";
import { FENCE_FRACTION, FREEZE_FACTOR, GUARD_NODES_MIN, HEARTBEAT_EVERY_MS, PROOF_FRESH_MS, PROVE_EVERY_MS } from "../../base/limits.ts";

/** Other nodes, the head and the servers of the store are waited for as long as an address that may refuse connections: a new head that does not answer in this time is left for the next. */
export const ANSWERS_WITHIN_MS = REFUSES_WITHIN_MS;
/** Others are asked when two heartbeats were not answered and the third is late. */
export const ASK_AFTER_MS = 2.5 * HEARTBEAT_EVERY_MS;
export const ASK_EVERY_MS = 1_000;
/** That nobody was answered is known for as long as the next asking takes at most. */
export const NOBODY_ANSWERED_MS = ASK_EVERY_MS + 2 * ANSWERS_WITHIN_MS;
/** Shorter silences of the head need nobody's attention. */
export const SAY_AFTER_MS = 4 * HEARTBEAT_EVERY_MS;

/** Two nodes that the head answers have their last answers at most so far apart: heartbeats are half of it apart, and answers take their time. */
export const SAME_TIME_MS = 2 * HEARTBEAT_EVERY_MS;
/** A head that answers a node does so once a heartbeat; one that has not for three has stopped. */
export const ANSWERS_NOBODY_MS = 3 * HEARTBEAT_EVERY_MS;
/** In `deadAfterMs`: what a node fences itself after, of the time for which a head that has lost most of at least three nodes takes none of them for dead. */
export const ALL_DEAF_FACTOR = FENCE_FRACTION * FREEZE_FACTOR;
/** With this node as many as a head has to have before it notices that it has lost most. */
export const DEAF_PEERS_MIN = GUARD_NODES_MIN - 1;

/** No head has proven for so long that it leads, which each does every `PROVE_EVERY_MS`: the store's servers are looked at. */
export const UNPROVEN_AFTER_MS = PROVE_EVERY_MS + 2_000;
/** The store has been away for good when looks have found it so for this time: a head has noticed then that it could not prove that it leads, even at a look that took its time, and half a second is to spare. */
export const STORE_AWAY_MS = PROOF_FRESH_MS + ANSWERS_WITHIN_MS + 500;
