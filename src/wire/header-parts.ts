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
  ActorInterfaceHeader,
  ActorLeavingHeader,
  ActorOptionsHeader,
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
import type { WhyRefHeader, WhyTrail } from "./why-messages.ts";

const { actorId, count, environmentKey, exactly, fields, flag, leaseSpec, list, nodeId, number, objectId, optional } = shape;
const { processId, record, text, tuple, unchecked } = shape;

/** The name of a file of the store: no path. */
export const arenaName: shape.Shape<string> = shape.leaf(
  "the name of a file of the store",
  (value) => typeof value === "string" && /^[\w-]{1,128}$/.test(value),
);

export const location: shape.Shape<WireLocation> = tuple<WireLocation>(arenaName, count, count, exactly("memory", "disk"));

/** The owner may be named by more than a process: the daemon of a node that has gone, or nobody. */
const owner: shape.Shape<ProcessId> = shape.leaf("a string", (value) => typeof value === "string");
const stored = fields<StoredHeader>({ id: objectId, owner, location });
const refs = list(tuple<[id: StoredHeader["id"], owner: ProcessId]>(objectId, owner));

/** A value that follows in the body, or lies in a store. */
export const payload: shape.Shape<PayloadHeader> = fields<PayloadHeader>({
  inBand: count,
  buffers: list(count),
  graph: flag,
  error: flag,
  definitions: list(text),
  refs,
  stored: optional(stored),
});

export const definition: shape.Shape<DefinitionHeader> = fields<DefinitionHeader>({
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
});

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

export const workerExit: shape.Shape<WorkerExitedHeader> = fields<WorkerExitedHeader>({
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
});

export const workerFacts: shape.Shape<WorkerFactsHeader> = fields<WorkerFactsHeader>({
  id: processId,
  holderId: processId,
  pid: number,
  address: text,
  remoteAddress: text,
});

export const actorInterface: shape.Shape<ActorInterfaceHeader> = fields<ActorInterfaceHeader>({
  className: text,
  methods: record(record(unchecked())),
  groups: record(number),
  maxTaskRetries: unchecked(),
  maxPendingCalls: unchecked(),
  allowOutOfOrderExecution: unchecked(),
  isOpen: unchecked(),
});

export const actorOptions: shape.Shape<ActorOptionsHeader> = fields<ActorOptionsHeader>({
  name: optional(text),
  namespace: text,
  getIfExists: flag,
  resources: record(number),
  shape: leaseSpec,
  group: optional(text),
  maxRestarts: number,
  isDetached: flag,
  interface: actorInterface,
});

export const actorFacts: shape.Shape<ActorFactsHeader> = fields<ActorFactsHeader>({
  incarnation: number,
  creator: processId,
  options: actorOptions,
});

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
export const group: shape.Shape<GroupCreateHeader> = fields<GroupCreateHeader>({
  ...groupFields,
  owner: optional(shape.either(processId, actorId)),
});
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

export const environment: shape.Shape<EnvironmentHeader> = fields<EnvironmentHeader>({
  key: environmentKey,
  description: environmentDescription,
});

export const trail: shape.Shape<WhyTrail> = fields<WhyTrail>({
  visited: list(unchecked<[task: string, name: string]>()),
  withinMs: number,
});
export const whyRef: shape.Shape<WhyRefHeader> = fields<WhyRefHeader>({ id: objectId, owner: processId, trail });

/** What two ends of a link pass on. Who says it, and what it is, the receiver checks. */
export const routed: shape.Shape<RoutedHeader> = tuple<RoutedHeader>(owner, owner, number, number, number, unchecked());
