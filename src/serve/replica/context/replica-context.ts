/**
 * The context that `serve.getReplicaContext()` gives, wherever code of a replica has got to.
 *
 * A process has one replica, so its context is a variable. In in-process mode replicas share a process: each has its context beside its actor, in which all calls of the core and
 * all requests run. In local testing mode there are no actors, and an asynchronous context has it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { actorData, libraryCalls, outsideCalls, setActorData } from "../../../core/internal.ts";

/** The gang of a replica: replicas that start, move and end together. A replica keeps it as long as it lives. */
export interface GangContext {
  /** No other gang has it; one that starts in place of this one has another. */
  readonly gangId: string;
  /** The replica's number among its members, from 0 to `worldSize - 1`; `rank` beside it counts the whole deployment. */
  readonly rank: number;
  /** The number of members: `gangSize`. */
  readonly worldSize: number;
  /** The `replicaId` of each member, in the order of their ranks. */
  readonly memberReplicaIds: readonly string[];
}

/** Where a deployment's code runs. */
export interface ReplicaContext {
  readonly appName: string;
  readonly deployment: string;
  readonly replicaId: string;
  /**
   * The replica's number in its deployment: from 0 to `worldSize - 1` once the deployment is complete. While replicas start and end there may be higher numbers.
   * Remaining replicas then take the free numbers, and this object shows the new one.
   */
  readonly rank: number;
  /** The number of replicas that the deployment has, or is to have. */
  readonly worldSize: number;
  /** Undefined where the deployment has no `gangConfig`. */
  readonly gangContext: GangContext | undefined;
}

const KEY = Symbol.for("shoal.serve.replica-context.1");
const storage = new AsyncLocalStorage<ReplicaContext>();
let ofProcess: ReplicaContext | undefined;
let hasReplica = false;

/** Declares that the present actor is that replica, and the whole process, too, unless other actors share it. */
export function setReplicaContext(context: ReplicaContext, { isInProcess }: { isInProcess: boolean }): void {
  hasReplica = true;
  if (isInProcess) setActorData({ [KEY]: context });
  else ofProcess = context;
}

/** Whether a replica has run in this process, or one of several. */
export function isProcessOfReplica(): boolean {
  return hasReplica;
}

/** Runs code of one of several replicas in this process. */
export function asReplica<T>(context: ReplicaContext, body: () => T): T {
  return storage.run(context, body);
}

export function findReplicaContext(): ReplicaContext | undefined {
  return storage.getStore() ?? ofProcess ?? ofActor();
}

function ofActor(): ReplicaContext | undefined {
  return (actorData() as { [KEY]?: ReplicaContext } | undefined)?.[KEY];
}

/** Runs code that several requests share, so the end of one must not end it for the others: outside of any call, or in one of the replica's own where others share its process. */
export function outsideRequests<T>(body: () => T): T {
  return ofActor() === undefined ? outsideCalls(body) : libraryCalls()("shared by requests", undefined).run(body);
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
