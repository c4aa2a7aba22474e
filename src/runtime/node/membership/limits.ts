/**
 * Time limits of a node's inquiry about a silent head. Together they fit into the time after which the node ends (`FENCE_AFTER_MS` of `runtime/base/limits.ts`).
 *
 * `fence-watch.ts` uses them, and so do its helpers `head-silence.ts`, `store-watch.ts`, `store-absence.ts` and `node-links.ts`.
 */
import { REFUSES_WITHIN_MS } from "../../os/limits.ts";
import { FENCE_FRACTION, FREEZE_FACTOR, GUARD_NODES_MIN, HEARTBEAT_EVERY_MS, PROOF_FRESH_MS, PROVE_EVERY_MS } from "../../base/limits.ts";

/** Time limit on answers of other nodes, the head and the store's servers, as for addresses that may refuse connections. A slower new head is left for the next address. */
export const ANSWERS_WITHIN_MS = REFUSES_WITHIN_MS;
/** Other nodes are asked after two unanswered heartbeats and a late third. */
export const ASK_AFTER_MS = 2.5 * HEARTBEAT_EVERY_MS;
export const ASK_EVERY_MS = 1_000;
/** Validity of the finding that the head answers no node: the longest duration of the next inquiry. */
export const NOBODY_ANSWERED_MS = ASK_EVERY_MS + 2 * ANSWERS_WITHIN_MS;
/** Shorter silences of the head need nobody's attention. */
export const SAY_AFTER_MS = 4 * HEARTBEAT_EVERY_MS;

/** Largest difference between the last answers of two nodes that the head answers: heartbeats are half of it apart, and answers take time. */
export const SAME_TIME_MS = 2 * HEARTBEAT_EVERY_MS;
/** A head that answers a node does so once a heartbeat; one that has not for three has stopped. */
export const ANSWERS_NOBODY_MS = 3 * HEARTBEAT_EVERY_MS;
/** Factor of `deadAfterMs`: time before self-fencing while a head that has lost most of at least three nodes declares none dead. */
export const ALL_DEAF_FACTOR = FENCE_FRACTION * FREEZE_FACTOR;
/** With this node as many as a head has to have before it notices that it has lost most. */
export const DEAF_PEERS_MIN = GUARD_NODES_MIN - 1;

/** No head has proven for so long that it leads, which each does every `PROVE_EVERY_MS`: the store's servers are looked at. */
export const UNPROVEN_AFTER_MS = PROVE_EVERY_MS + 2_000;
/** The store counts as away after this time of looks without a server. By then every head has noticed that it cannot prove its lead, even by a slow look, with half a second to spare. */
export const STORE_AWAY_MS = PROOF_FRESH_MS + ANSWERS_WITHIN_MS + 500;
