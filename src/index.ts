/** The public programming model: what `import ... from "shoal"` gives. */
import { registerWellKnown } from "./closure/well-known.ts";
import * as api from "./core/api.ts";
import { init, isInitialized, shutdown } from "./core/init.ts";

export {
  ActorDiedError,
  ActorUnavailableError,
  AuthenticationError,
  DeadlockError,
  GetTimeoutError,
  NodeDiedError,
  ObjectLostError,
  ObjectStoreFullError,
  OutOfDiskError,
  OutOfMemoryError,
  OwnerDiedError,
  SerializationError,
  ShoalError,
  TaskError,
  VersionMismatchError,
  WorkerCrashedError,
} from "./base/errors.ts";
export { availableResources, clusterResources, get, getActor, getRuntimeContext, kill, nodes, put, ready, remote, terminate, wait } from "./core/api.ts";
export { init, isInitialized, type ShoalContext, shutdown } from "./core/init.ts";
export type * from "./core/types.ts";

// Functions that travel refer to these by name, so that they meet the worker's own instance.
for (const [name, value] of Object.entries({ ...api, init, isInitialized, shutdown })) {
  if (typeof value === "function") registerWellKnown(`shoal:${name}`, value);
}
