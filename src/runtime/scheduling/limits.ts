/**
 * How long leases are kept and waited for: limits on which callers, workers, nodes and the head agree.
 *
 * A caller keeps an idle lease for a moment, its worker looks whether it forgot one, a node makes owners give back, and the head sends demands to nodes for longer or shorter than that.
 */

/** A caller returns a lease that nothing was sent over for so long: longer than the pause between two calls of a loop, and nobody waits for it in vain. */
export const LEASE_IDLE_MS = 10;
/** A worker that nothing came to for so long may be reclaimed: its caller would have returned the lease, did it attend to its leases. */
export const RECLAIM_AFTER_IDLE_MS = 2.5 * LEASE_IDLE_MS;

/** A lease request older than this triggers the revocation of idle leases. The node checks at this interval. */
export const WAIT_BEFORE_REVOKE_MS = 50;
/** A node makes others give back only for a demand that stays long enough to have it. */
export const PATIENT_FROM_MS = 4 * WAIT_BEFORE_REVOKE_MS;

/** A demand that the head sent to a node goes elsewhere when it gets nothing there in this time: too short to make others give back. */
export const REMOTE_WAIT_MS = 2 * WAIT_BEFORE_REVOKE_MS;
/** After this time the head counts a request at a node as granted or dropped: the node decides within `REMOTE_WAIT_MS`, and the rest is travel time. */
export const LEASE_DEBIT_MS = 10 * REMOTE_WAIT_MS;
/** A request without a free node for this long is sent to a full node. */
export const PROBE_AFTER_MS = 2 * REMOTE_WAIT_MS;
/** There it stays for so long, which makes others give back. */
export const PROBE_WAIT_MS = 5 * PATIENT_FROM_MS;

/** Arguments from this size on are a reason to go to the node where they lie; smaller ones are fetched in less time than it takes to ask. */
export const NEAR_FROM_BYTES = 1024 * 1024;

/** First pause of a request that a node refused for lack of room; each further pause is twice as long, up to the second constant. */
export const REFUSED_WAIT_MIN_MS = 20;
export const REFUSED_WAIT_MAX_MS = 1000;
