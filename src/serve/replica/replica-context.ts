/** The context that `serve.getReplicaContext()` gives. A process has one replica; in local testing mode and in-process mode replicas share a process, and each call knows its own. */
import { AsyncLocalStorage } from "node:async_hooks";

/** Where a deployment's code runs. */
export interface ReplicaContext {
  readonly appName: string;
  readonly deployment: string;
  readonly replicaId: string;
  /**
   * The replica's number among those of its deployment: from 0 to `worldSize - 1` once the deployment is as it is to be. While replicas start and end there may be higher ones;
   * then those that stay take the free numbers, and this object shows the new one.
   */
  readonly rank: number;
  /** The number of replicas that the deployment has, or is to have. */
  readonly worldSize: number;
}

const storage = new AsyncLocalStorage<ReplicaContext>();
let ofProcess: ReplicaContext | undefined;

/** This process is that replica. */
export function setReplicaContext(context: ReplicaContext): void {
  ofProcess = context;
}

/** Runs code of one of several replicas in this process. */
export function asReplica<T>(context: ReplicaContext, body: () => T): T {
  return storage.run(context, body);
}

export function findReplicaContext(): ReplicaContext | undefined {
  return storage.getStore() ?? ofProcess;
}

/** Tag values of metrics that this code counts; empty outside of deployments. */
export function replicaTags(): readonly [application: string, deployment: string, replica: string] {
  const { appName = "", deployment = "", replicaId = "" } = findReplicaContext() ?? {};
  return [appName, deployment, replicaId];
}

/**
 * Where this code runs.
 *
 * @throws TypeError outside of a deployment
 */
export function getReplicaContext(): ReplicaContext {
  const found = findReplicaContext();
  if (found === undefined) throw new TypeError("Cannot tell the replica: this code runs outside of a deployment");
  return found;
}
