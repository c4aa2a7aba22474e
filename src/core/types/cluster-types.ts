/**
 * The public types of facts about a program's surroundings: its own context, and the actors and nodes of the cluster.
 *
 * Reading these facts changes nothing, and they are as old as the answer. The options of the questions are here, too. No code. `types.ts` has the types of calls
 * and references.
 */
import type { ActorId, JobId, NodeId, ProcessId, TaskId } from "../../runtime/base/ids.ts";
import type { RuntimeEnv } from "../options/scheduling-types.ts";
import type { Resources } from "../options/scheduling-types.ts";

/** Where the code that asks runs: the driver, a task, or a method of an actor. */
export interface RuntimeContext {
  readonly jobId: JobId;
  readonly nodeId: NodeId;
  /** The cluster-wide id of this process; its process id on the machine is `process.pid`. */
  readonly workerId: ProcessId;
  readonly namespace: string;
  /** Absent in the driver. */
  readonly taskId: TaskId | undefined;
  /** Name of the function, or `Class.method`; absent in the driver. */
  readonly taskName: string | undefined;
  /** Absent outside of actors. */
  readonly actorId: ActorId | undefined;
  /** Absent for actors without a name. */
  readonly actorName: string | undefined;
  /** The resources that the task or actor holds while it runs; empty in the driver. */
  readonly assignedResources: Resources;
  /** By resource, the ids of the accelerators that it may use, such as `{ GPU: ["0"] }`; empty where it asked for none. */
  readonly acceleratorIds: Readonly<Record<string, readonly string[]>>;
  /** Labels of the node that it runs on. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  /** The placement group in which it runs, if any. */
  readonly placementGroupId: string | undefined;
  /** The worker's runtime environment, merged from the job, the parent and the call; mostly empty. */
  readonly runtimeEnv: RuntimeEnv;
  /** Whether this actor has been restarted; its state began anew. */
  readonly wasCurrentActorReconstructed: boolean;
  /** Set if the node is about to be drained, with the deadline. Actors with restarts left are moved at once and never see it. */
  readonly preemption: PreemptionInfo | undefined;
  /** Aborts when the node is to be drained, with what `preemption` says then as its reason; in the driver, too. */
  readonly preemptionSignal: AbortSignal;
  /**
   * Aborts when this task or actor call is cancelled, with the `TaskCancelledError` as its reason; never in the driver. Pass it to functions that take a signal, or
   * read `signal.aborted`. In an actor it also aborts when the caller's process has gone; the call itself goes on. Code without a pause sees no abort: it is
   * interrupted instead.
   */
  readonly signal: AbortSignal;
}

/** The node that code runs on is to be drained. */
export interface PreemptionInfo {
  /** Time at which the node leaves whatever still runs, in milliseconds since 1970, as `Date.now()`; undefined if it waits for running work. */
  readonly deadlineMs: number | undefined;
  /** `preemption`: it is taken away; `idle`: nobody needed it. */
  readonly reason: "preemption" | "idle";
}

/** The options of `kvGet`, `kvExists`, `kvDelete` and `kvList`. */
export interface KvOptions {
  /** Where the key lives. Default: the namespace of `init`. */
  namespace?: string | undefined;
}

/** The options of `kvPut`. */
export interface KvPutOptions extends KvOptions {
  /** Take the place of a value that is there. Default: true. */
  overwrite?: boolean | undefined;
}

/** Values of `kvPut`: bytes, or any value that JSON can write. */
export type KvValue = Uint8Array | string | number | boolean | null | object;

/** The options of `actors`. */
export interface ActorsOptions {
  /** Limits the answer to one namespace. Default: all. */
  namespace?: string | undefined;
  /** The dead too, of which the last 10,000 are known. Default: false. */
  includeDead?: boolean | undefined;
}

/** An actor in the list of `actors()`. */
export interface ActorInfo {
  readonly actorId: ActorId;
  readonly className: string;
  /** Absent for actors without a name. */
  readonly name: string | undefined;
  readonly namespace: string;
  readonly lifetime: "detached" | "non_detached";
  /** `"pending"` until its constructor has run, `"restarting"` from the death of its process until it has run again. */
  readonly phase: "pending" | "alive" | "restarting" | "dead";
  /** Process id on its machine; for an actor without a process the last one. */
  readonly pid: number | undefined;
  readonly nodeId: NodeId | undefined;
  /** How often it was made anew; calls carry it. */
  readonly incarnation: number;
  readonly restarts: number;
  /** Why it ended or ends. */
  readonly reason: string | undefined;
}

/** A machine of the cluster in the list of `nodes()`. */
export interface NodeInfo {
  readonly nodeId: NodeId;
  readonly alive: boolean;
  /** Whether the node is leaving: it gets no new work, and goes once its present work has ended. */
  readonly draining: boolean;
  readonly hostname: string;
  readonly address: string;
  /** All that it has, whether in use or not. */
  readonly resources: Resources;
  readonly labels: Readonly<Record<string, string>>;
  readonly objectStoreMemoryBytes: number;
}
