/**
 * The public types of what a program is told of where it runs: the context that it runs in, the actors and the nodes of the cluster.
 *
 * Decides which facts have a name: all of them can be had without changing anything, and are as old as the answer. With the options of asking for them.
 * No code. The types of calls and references are in `types.ts`.
 */
import type { ActorId, JobId, NodeId, ProcessId, TaskId } from "../runtime/base/ids.ts";
import type { RuntimeEnv } from "./options/scheduling-types.ts";
import type { Resources } from "./options/scheduling-types.ts";

/** Where the code that asks runs: the driver, a task, or a method of an actor. */
export interface RuntimeContext {
  readonly jobId: JobId;
  readonly nodeId: NodeId;
  /** This process in the cluster; its process id on the machine is `process.pid`. */
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
  /** What the task or actor holds while it runs; empty in the driver. */
  readonly assignedResources: Resources;
  /** By resource, the ids of the accelerators that it may use, such as `{ GPU: ["0"] }`; empty where it asked for none. */
  readonly acceleratorIds: Readonly<Record<string, readonly string[]>>;
  /** Labels of the node that it runs on. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  /** The placement group in which it runs, if any. */
  readonly placementGroupId: string | undefined;
  /** What its worker has besides what the node has: of the job, the parent and the call, merged; empty for most. */
  readonly runtimeEnv: RuntimeEnv;
  /** Whether this actor has been restarted; its state began anew. */
  readonly wasCurrentActorReconstructed: boolean;
  /** That the node is to be drained, and until when; undefined while nobody has said so. Actors with restarts left are moved at once and see nothing of it. */
  readonly preemption: PreemptionInfo | undefined;
  /** Aborts when the node is to be drained, with what `preemption` says then as its reason; in the driver, too. */
  readonly preemptionSignal: AbortSignal;
  /**
   * Aborts when this task or actor call is cancelled, with the `TaskCancelledError` as its reason; in the driver it never does. Hand it to
   * what takes a signal, or ask `signal.aborted`. In an actor it aborts, too, when the caller's process is gone; the call itself goes on. Code that runs without a pause sees no change: it is interrupted instead.
   */
  readonly signal: AbortSignal;
}

/** The node that code runs on is to be drained. */
export interface PreemptionInfo {
  /** When it leaves whatever runs on it then, in milliseconds since 1970, as `Date.now()`; undefined where it waits for what runs. */
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

/** What `kvPut` keeps: bytes, or what JSON can write. */
export type KvValue = Uint8Array | string | number | boolean | null | object;

/** The options of `actors`. */
export interface ActorsOptions {
  /** Those of one namespace. Default: all. */
  namespace?: string | undefined;
  /** The dead too, of which the last 10,000 are known. Default: false. */
  includeDead?: boolean | undefined;
}

/** One actor, as `actors()` lists it. */
export interface ActorInfo {
  readonly actorId: ActorId;
  readonly className: string;
  /** Absent for actors without a name. */
  readonly name: string | undefined;
  readonly namespace: string;
  readonly lifetime: "detached" | "non_detached";
  /** `"pending"` until its constructor has run, `"restarting"` from the death of its process until it has run again. */
  readonly phase: "pending" | "alive" | "restarting" | "dead";
  /** Its process on its machine, or the last one that it had. */
  readonly pid: number | undefined;
  readonly nodeId: NodeId | undefined;
  /** How often it was made anew; calls carry it. */
  readonly incarnation: number;
  readonly restarts: number;
  /** Why it ended or ends. */
  readonly reason: string | undefined;
}

/** One machine of the cluster, as `nodes()` lists it. */
export interface NodeInfo {
  readonly nodeId: NodeId;
  readonly alive: boolean;
  /** A node that is to leave gets nothing new, and goes when what it has has ended. */
  readonly draining: boolean;
  readonly hostname: string;
  readonly address: string;
  /** All that it has, whether in use or not. */
  readonly resources: Resources;
  readonly labels: Readonly<Record<string, string>>;
  readonly objectStoreMemoryBytes: number;
}
