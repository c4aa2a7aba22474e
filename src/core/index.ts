/** The door of the core for users: all that `import ... from "shoal"` gives, apart from graphs and Python, which stand above the core. */
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
  KeyValuesFullError,
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
} from "../runtime/base/errors.ts";
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
} from "./api.ts";
export { ArrowData, NdArray, type NumericData, Tensor, type TensorOptions } from "./objects/values/foreign-data.ts";
export { PythonKeywords, PythonObject, PythonValue, type PythonValueType } from "./objects/python/python-values.ts";
export { requestResources } from "./cluster/request-resources.ts";
export { kvDelete, kvExists, kvGet, kvList, kvPut } from "./cluster/key-values.ts";
export { getObjectLocations, type ObjectLocations } from "./objects/object-locations.ts";
export { objectStoreStatistics, type ObjectStoreStatistics } from "./objects/store-statistics.ts";
export { init, isInitialized, type ShoalContext, shutdown } from "./session/init.ts";
export type * from "./types/cluster-types.ts";
export type * from "./types/graph-types.ts";
export { getCurrentPlacementGroup, getPlacementGroup, placementGroup, placementGroupTable } from "./groups/placement-group.ts";
export type * from "./options/scheduling-types.ts";
export type { Item, ObjectRefGenerator, ReturnCount } from "./streams/stream-types.ts";
export type * from "./types/types.ts";
