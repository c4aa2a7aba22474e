/** The public programming model: what `import ... from "shoal"` gives. */
import "./core/well-known-exports.ts";
import "./dag/well-known-exports.ts";

export {
  ActorDiedError,
  ActorNameTakenError,
  ActorUnschedulableError,
  ActorUnavailableError,
  AuthenticationError,
  DeadlockError,
  GetTimeoutError,
  NodeDiedError,
  ObjectLostError,
  ObjectReconstructionFailedError,
  ObjectStoreFullError,
  OutOfDiskError,
  OutOfMemoryError,
  OwnerDiedError,
  PendingCallsLimitExceededError,
  PlacementGroupNotFoundError,
  PlacementGroupRemovedError,
  RuntimeEnvError,
  SerializationError,
  ShoalError,
  TaskCancelledError,
  TaskError,
  TaskTimeoutError,
  TaskUnschedulableError,
  VersionMismatchError,
  WorkerCrashedError,
} from "./base/errors.ts";
export {
  actors,
  availableResources,
  cancel,
  clusterResources,
  exitActor,
  get,
  getActor,
  getRuntimeContext,
  kill,
  nodes,
  put,
  ready,
  remote,
  terminate,
  wait,
  why,
} from "./core/api.ts";
export { ArrowData, NdArray, type NumericData, Tensor, type TensorOptions } from "./core/objects/foreign-data.ts";
export { PythonObject, PythonValue, type PythonValueType } from "./core/objects/python-values.ts";
export { kvDelete, kvExists, kvGet, kvList, kvPut } from "./core/key-values.ts";
export { getObjectLocations, type ObjectLocations } from "./core/objects/object-locations.ts";
export { objectStoreStatistics, type ObjectStoreStatistics } from "./core/objects/store-statistics.ts";
export { init, isInitialized, type ShoalContext, shutdown } from "./core/session/init.ts";
export type * from "./core/cluster-types.ts";
export type * from "./core/graph-types.ts";
export { getCurrentPlacementGroup, getPlacementGroup, placementGroup, placementGroupTable } from "./core/groups/placement-group.ts";
export type * from "./core/options/scheduling-types.ts";
export type { Item, ObjectRefGenerator, ReturnCount } from "./core/streams/stream-types.ts";
export type * from "./core/types.ts";
export { MultiOutputNode } from "./dag/bind.ts";
export { GraphCapacityExceededError, GraphClosedError } from "./dag/graph-errors.ts";
export { type Python, python, type PythonTaskOptions } from "./python/python.ts";
export { type InputAttributeNode, InputNode } from "./dag/input-node.ts";
