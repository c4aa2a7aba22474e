/** Times for the processes of a cluster to end: a parent waits longer than its child waits for its own children. */
import { EXIT_WITHIN_MS, SHUTDOWN_WITHIN_MS } from "../../runtime/worker/limits.ts";

/** Time for a node to end its workers, which let the user's code finish, and to read their last output. Beyond it the node is killed. */
export const NODE_ENDS_WITHIN_MS = EXIT_WITHIN_MS + SHUTDOWN_WITHIN_MS;
export const HEAD_ENDS_WITHIN_MS = 5_000;
/** The dashboard has nothing to finish. */
export const DASHBOARD_ENDS_WITHIN_MS = 2_000;
/** Time for the autoscaler to end its instances, each of which is a node. */
export const AUTOSCALER_ENDS_INSTANCES_WITHIN_MS = NODE_ENDS_WITHIN_MS + 5_000;
export const AUTOSCALER_ENDS_WITHIN_MS = AUTOSCALER_ENDS_INSTANCES_WITHIN_MS + 5_000;
/** A head and a node are ready within seconds; a large state of NATS, or a busy machine, takes longer. */
export const STARTS_WITHIN_MS = 60_000;
/** A process that is ended before it was ready has nothing to finish but its folders. */
export const START_ENDS_WITHIN_MS = 3_000;
/** `shoal stop` waits for all, on a machine with much else to do. */
export const STOPS_WITHIN_MS = 1.5 * (AUTOSCALER_ENDS_WITHIN_MS + NODE_ENDS_WITHIN_MS + HEAD_ENDS_WITHIN_MS);
