/**
 * The core's door for our own libraries, beside the public functions of `core/index.ts`.
 *
 * Folders above the core import only these two files (`test/layers.test.ts`). Each export documents its promises at its declaration. Other packages get this file as
 * `shoal/internal`, for exactly the version that they were built with: any release may change it.
 */

// Options: tables of allowed values and defaults, and errors that name the nearest option.
export {
  callable,
  count,
  custom,
  customResources,
  flag,
  isPlainObject,
  milliseconds,
  number,
  oneOf,
  type Option,
  type OptionSet,
  plainObject,
  readOptions,
  text,
  texts,
  timeLimit,
} from "./options/option-kinds.ts";
export { resolvePlacementGroupOptions } from "./options/group-options.ts";
export { isActorOption, isTaskOption } from "./options/options.ts";
export { SIGNAL } from "./options/operation-options.ts";

// A placement group that another process has made.
export { placementGroupOfId } from "./groups/placement-group.ts";

// Notices that this process's node is to be drained, and each change of one.
export { followPreemption } from "./context/runtime-context.ts";

// Conditions on the labels of nodes: as an option, and which nodes meet them.
export { LABEL_SELECTOR } from "./options/scheduling-options.ts";
export type { LabelSelector } from "./options/scheduling-types.ts";
export { matchesLabels, NODE_ID_LABEL } from "../runtime/scheduling/label-selector.ts";

export { nearNames } from "../runtime/base/texts/near-names.ts";

// A digest that is the same in every language.
export { sha256Hex } from "../runtime/os/digest.ts";

// Limits that libraries share with the core.
export { TIMER_MS_MAX } from "../runtime/base/limits.ts";
export { BUNDLES_MAX, REFERENCE_FROM_BYTES, WAITERS_MAX } from "./limits.ts";

// Assertions on the state of machines, for `checkInvariants()`.
export { invariant } from "../runtime/base/invariant.ts";

// Errors keep their class in other processes. Messages show values in a few words.
export { asError, describeValue, messageOf } from "../runtime/base/texts/describe.ts";
export { registerErrorClass, taskErrorFrom } from "../runtime/base/errors.ts";
export { processEnding } from "./calls/failures/call-failures.ts";
export { userStack } from "./user-stacks.ts";

// Travelling values.
export { registerExports } from "../runtime/closure/values/well-known.ts";
export { nameUnsent } from "../runtime/closure/capturing/graph-builder.ts";
export { deregisterSerializer, registerSerializer } from "./objects/values/registered-serializers.ts";
export { inspectSerializability, type SerializabilityReport } from "./objects/inspect-serializability.ts";

// The present process, actors and references.
export { isClass } from "./api.ts";
export { actorIdOf } from "./actors/actor-handle.ts";
export { askNode, isSessionOpen } from "./current-runtime.ts";
export { isWorker } from "./runtime-slot.ts";
export { within } from "./objects/waiting-limits.ts";
export { ignoreRejection, isThenable } from "../runtime/base/thenable.ts";
export { isObjectRef } from "./objects/object-ref.ts";
export { producerOf, type StreamProducer } from "./streams/object-ref-generator.ts";

export { startedHere } from "./session/session.ts";
export { runsInProcess } from "./runtime-slot.ts";

// Connections to actors beside their calls, code that runs as a call without having come as one, and values with code in them as bytes.
export { connectToActor, offerConnections, type ServiceConnection } from "./actors/actor-connections.ts";
export {
  actorData,
  callCancelled,
  callData,
  type LibraryCall,
  libraryCalls,
  outsideCalls,
  setActorData,
  setCallData,
} from "./calls/library-calls.ts";
export { isGeneratorFunction } from "./calls/definitions/generators.ts";
export { comparableOfKept, keptBytesOf, valueOfKept } from "./objects/kept-value.ts";
export type { ComparableCapture } from "../runtime/closure/comparable.ts";
export { toDriverPath as driverCodePath, toLocalPath as localCodePath } from "../runtime/closure/modules/foreign-code.ts";
export type { Frame } from "../runtime/wire/frame.ts";

// Python code.
export { pythonFile } from "./python/python-code.ts";
export { type PythonCode, pythonClass, pythonCodeOf, pythonFunction } from "./python/python-definitions.ts";

// Parts of a library in the head, in daemons and in workers, with separate messages and durable tables.
export {
  answering,
  type CallOutcome,
  type DurableTable,
  type Extension,
  type ExtensionCaller,
  type ExtensionContext,
  type HeadContext,
  type HeadParts,
  type NodeContext,
  type NodeParts,
  type RunningCall,
  withBytes,
  type WorkerParts,
} from "../runtime/extension/extension.ts";
export { registerExtension } from "../runtime/extension/load-extensions.ts";
export { type ExtensionClient, extensionClient, type ExtensionPlace, ExtensionRefusal } from "./cluster/extensions.ts";
export * as shape from "../runtime/wire/header-shape.ts";

// Events and counters.
export { reportMetrics } from "./telemetry/metrics-report.ts";
export { setMetricSource } from "./telemetry/metrics-source.ts";
export { prometheusText } from "../runtime/observe/prometheus-text.ts";
export type { MetricKind, MetricSnapshot, ProcessMetrics } from "../runtime/wire/observing/metric-messages.ts";
export { addToCounter, listCounters, listEvents, recordEvent } from "./telemetry/telemetry.ts";
export type { CollectedEvent, CounterValue, EventFields } from "../runtime/events/telemetry-messages.ts";

// Texts for the driver's terminal.
export { type OutputLines, sendSignal, setSignalSink, takeOutput } from "./telemetry/output.ts";

// Folders of this machine for a while, where all processes have theirs; and folders that the processes of a user share, which nobody else may look into.
export { newTemporaryFolder, temporaryRoot } from "../runtime/os/files/sessions/temporary-folder.ts";
export { makePrivateFolder } from "../runtime/os/files/private-files.ts";
export { newProgramFolder } from "../runtime/os/files/sessions/program-folder.ts";
export { removeIfEmpty } from "../runtime/os/files/sessions/shared-folder.ts";

// The process that left a record in a file, and whether it still runs.
export { isProcessGone, processIdentity, runsHere } from "../runtime/os/processes/process-identity.ts";

// The machine: memory of the process and of the machine, and its name.
export { createMemoryProbe, ownMemoryBytes } from "../runtime/os/machine/memory-usage.ts";
export { machineName } from "../runtime/os/machine/machine.ts";

// Fewer collections of garbage while large arrays pass through a worker.
export { HeapGrowth } from "../runtime/os/engine/garbage.ts";

// Modules of WebAssembly that are optimized later.
export { loadPatiently } from "../runtime/os/engine/wasm-tiers.ts";

// A queue that takes from its front in constant time.
export { Fifo } from "../runtime/base/collections/fifo.ts";

// Graphs.
export {
  type ActorBinding,
  type Binding,
  type GraphActor,
  type GraphRuntime,
  graphRuntime,
  type MethodBinding,
  setGraphBinder,
  type TaskBinding,
} from "./graph-binder.ts";
