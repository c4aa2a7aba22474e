/**
 * The shapes of what several headers hold: values, places in a store, definitions, actors, placement groups, environments.
 *
 * Each is a type guard of the interface that its type argument names; the tables of messages (`messages-to-daemon.ts` and its neighbours) are made
 * of them. They know nothing of who may say what.
 */
import type { ProcessId } from "../base/ids.ts";
import type { ActorFactsHeader, RoutedHeader, WorkerFactsHeader } from "./cluster-messages.ts";
import type { DefinitionHeader } from "./definition-messages.ts";
import * as shape from "./header-shape.ts";
import type {
  AcceleratorIds,
  ActorEnding,
  ActorInterfaceHeader,
  ActorLeavingHeader,
  ActorOptionsHeader,
  ActorPhase,
  ActorRefusal,
  EnvironmentHeader,
  GroupCreateHeader,
  GroupStateHeader,
  LeaseNameHeader,
  OutOfMemoryHeader,
  PayloadHeader,
  StoredHeader,
  WireLocation,
  WorkerExitedHeader,
} from "./messages.ts";
import type { WhyHeader, WhyRefHeader, WhyTrail } from "./why-messages.ts";

const { actorId, count, environmentKey, exactly, fields, flag, leaseSpec, list, nodeId, number, objectId, optional } = shape;
const { named, processId, record, text, textOf, tuple, unchecked } = shape;

/** The name of a file of the store: no path. */
export const arenaName: shape.Shape<string> = shape.leaf(
  "the name of a file of the store",
  (value) => typeof value === "string" && /^[\w-]{1,128}$/.test(value),
  "arena",
);

/** Where an object's bytes lie: the file of the store, the offset in it, the size, and on which kind of file system. */
export const location: shape.Shape<WireLocation> = named(
  "location",
  tuple<WireLocation>(arenaName, count, count, exactly("memory", "disk")),
);

/** The owner may be named by more than a process: the daemon of a node that has gone, or nobody. */
export const owner: shape.Shape<ProcessId> = textOf("process id");
const stored = fields<StoredHeader>({ id: objectId, owner, location });
const refs = list(tuple<[id: StoredHeader["id"], owner: ProcessId]>(objectId, owner));

/** A value that follows in the body, or lies in a store: see Payloads in headers. */
export const payload: shape.Shape<PayloadHeader> = named(
  "payload",
  fields<PayloadHeader>({
    inBand: count,
    buffers: list(count),
    graph: flag,
    error: flag,
    definitions: list(text),
    refs,
    stored: optional(stored),
  }),
);

/**
 * A function or class. `number`: of later calls on this connection, 0 where there are none; `contentId`: the hash of its bytes; `inBand`: their length in the body, -1 where they
 * are to be fetched (FETCH_DEFINITION); `stored`: it lies in the store instead; `reference`: sent to the node, the counted reference with which the definition lives and ends,
 * kept for good without it; `owner`: at the head, the process that sent it; `own`: sent to workers, the place in `refs` of the definition's own reference, for values that need
 * it; `maxCalls`: how many calls of it a worker takes before it ends; `held`: as in TASK_CALL.
 */
export const definition: shape.Shape<DefinitionHeader> = named(
  "definition",
  fields<DefinitionHeader>({
    number: unchecked(),
    id: text,
    contentId: text,
    name: text,
    inBand: number,
    buffers: list(count),
    dependencies: list(text),
    refs,
    stored: optional(stored),
    maxCalls: optional(number),
    reference: optional(objectId),
    owner: optional(processId),
    own: optional(count),
    held: optional(number),
  }),
);

export const accelerators: shape.Shape<AcceleratorIds> = record(list(text));
export const leaseName: shape.Shape<LeaseNameHeader> = tuple<LeaseNameHeader>(processId, number);
/** How many calls were read of each connection, by the lease that it was made for. */
export const callsRead: shape.Shape<[madeFor: number, calls: number][]> = list(tuple<[madeFor: number, calls: number]>(number, number));

export const refusal: shape.Shape<ActorRefusal> = fields<ActorRefusal>({
  code: exactly("unschedulable", "groupRemoved", "environmentFailed"),
  reason: text,
  hint: text,
});

const outOfMemory = fields<OutOfMemoryHeader>({
  because: exactly("limit", "machine"),
  usedBytes: number,
  limitBytes: number,
  processes: text,
});

/**
 * How a worker ended. `running`: the caller and the call id in the worker's interrupt slot; `begun`: for each connection, named by the lease it was made for, the call of it that began
 * last; `reason`: why the daemon ended it, when it did; `isForCancellation`: it was ended for a cancelled call; `outOfMemory`: it was ended for its memory, with the limit and the
 * largest processes then.
 */
export const workerExit: shape.Shape<WorkerExitedHeader> = named(
  "worker exit",
  fields<WorkerExitedHeader>({
    workerId: processId,
    pid: number,
    exitCode: optional(number),
    signal: optional(text),
    lastOutput: list(text),
    reason: optional(text),
    running: optional(tuple<[caller: ProcessId, callId: number]>(processId, number)) as shape.Shape<[ProcessId, number]>,
    begun: optional(list(tuple<[leaseId: number, callId: number]>(number, number))) as shape.Shape<[number, number][]>,
    isForCancellation: optional(flag) as shape.Shape<boolean>,
    outOfMemory: optional(outOfMemory) as shape.Shape<OutOfMemoryHeader>,
  }),
);

export const workerFacts: shape.Shape<WorkerFactsHeader> = fields<WorkerFactsHeader>({
  id: processId,
  holderId: processId,
  pid: number,
  address: text,
  remoteAddress: text,
});

/**
 * What callers know of an actor: the options of its methods by name, and the concurrency groups with their limits. `maxPendingCalls`: -1 for any number; `isOpen`: only the actor
 * knows its methods, as in Python, and any name may be called.
 */
export const actorInterface: shape.Shape<ActorInterfaceHeader> = named(
  "actor interface",
  fields<ActorInterfaceHeader>({
    className: text,
    methods: record(record(unchecked())),
    groups: record(number),
    maxTaskRetries: unchecked(),
    maxPendingCalls: unchecked(),
    allowOutOfOrderExecution: unchecked(),
    isOpen: unchecked(),
  }),
);

/** `shape`: as in a lease; `group`: the placement group that the actor lives in; `isDetached`: it outlives its creator and its handles. */
export const actorOptions: shape.Shape<ActorOptionsHeader> = named(
  "actor options",
  fields<ActorOptionsHeader>({
    name: optional(text),
    namespace: text,
    getIfExists: flag,
    resources: record(number),
    shape: leaseSpec,
    group: optional(text),
    maxRestarts: number,
    isDetached: flag,
    interface: actorInterface,
  }),
);

export const actorFacts: shape.Shape<ActorFactsHeader> = fields<ActorFactsHeader>({
  incarnation: number,
  creator: processId,
  options: actorOptions,
});

export const actorPhase: shape.Shape<ActorPhase> = exactly("pending", "alive", "restarting", "dead");
export const actorEnding: shape.Shape<ActorEnding> = exactly(
  "terminated",
  "exited",
  "killed",
  "unheld",
  "creatorGone",
  "constructorFailed",
  "crashed",
  "nameTaken",
  "notCreated",
);

/** From an actor that ends by itself. */
export const actorLeaving: shape.Shape<ActorLeavingHeader> = fields<ActorLeavingHeader>({
  ending: exactly("terminated", "exited"),
  reason: text,
});

type Parts<T> = { readonly [K in keyof T]-?: shape.Shape<T[K]> };

/** What is said of a placement group by whoever asks for it, and by the head. */
export const groupFields: Parts<Omit<GroupCreateHeader, "owner">> = {
  id: text,
  name: optional(text),
  namespace: text,
  strategy: exactly("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"),
  bundles: list(record(number)),
  labels: list(record(text)),
  isDetached: flag,
};
/**
 * A placement group as its creator asks for it: resources and a label selector for each bundle. `owner`: the driver or actor with whose end the group ends; without it, the group
 * lives as long as the session.
 */
export const group: shape.Shape<GroupCreateHeader> = named(
  "group",
  fields<GroupCreateHeader>({
    ...groupFields,
    owner: optional(shape.either(processId, actorId)),
  }),
);
export const groupState: shape.Shape<GroupStateHeader> = fields<GroupStateHeader>({
  id: text,
  state: exactly("created", "removed"),
  reason: optional(text),
});

const texts = list(text);
const folderPlace = fields({ node: nodeId, hostname: text });
export const environmentDescription: shape.Shape<object> = fields({
  envVars: optional(record(text)),
  workingDir: optional(text),
  excludes: optional(texts),
  nodeModules: optional(shape.either(text, texts)),
  python: optional(shape.either(text, texts)),
  pythonPreload: optional(texts),
  execPath: optional(text),
  execArgv: optional(texts),
  language: optional(exactly("python")),
  setupTimeoutMs: optional(number),
  job: optional(
    fields({
      node: nodeId,
      hostname: text,
      jobId: text,
      namespace: text,
      directory: text,
      directoryIdentity: optional(text),
      execArgv: texts,
    }),
  ),
  workingDirAt: optional(folderPlace),
  nodeModulesAt: optional(folderPlace),
});

/**
 * A runtime environment: the key that later shapes name, and what it means, all paths absolute. In a cluster `job` has the driver's node, folder and Node's flags, and
 * `workingDirAt` and `nodeModulesAt` the nodes where those folders lie.
 */
export const environment: shape.Shape<EnvironmentHeader> = named(
  "environment",
  fields<EnvironmentHeader>({
    key: environmentKey,
    description: environmentDescription,
  }),
);

/** The calls that a question of `why` has come by, task id and name of each, and how long the answer may take. */
export const trail: shape.Shape<WhyTrail> = named(
  "trail",
  fields<WhyTrail>({
    visited: list(unchecked<[task: string, name: string]>()),
    withinMs: number,
  }),
);

/** What a call waits for: who waits, how, why, and what that waits for in turn. */
export const why: shape.Shape<WhyHeader> = named(
  "why answer",
  fields<WhyHeader>({
    what: text,
    state: text,
    reason: text,
    causes: list(shape.leaf<WhyHeader>("such an answer", (value) => why(value), "why answer")),
    details: record(unchecked<unknown>()),
  }),
);
export const whyRef: shape.Shape<WhyRefHeader> = fields<WhyRefHeader>({ id: objectId, owner: processId, trail });

/** What two ends of a link pass on. Who says it, and what it is, the receiver checks. */
export const routed: shape.Shape<RoutedHeader> = tuple<RoutedHeader>(owner, owner, number, number, number, unchecked());
