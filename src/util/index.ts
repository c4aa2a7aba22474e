/** `shoal/util`: tools built on the programming model or beside it. */
import "./well-known-exports.ts";

export { deregisterSerializer, inspectSerializability, registerSerializer, type SerializabilityReport } from "../core/internal.ts";
export { CollectiveError } from "./collective/collective-error.ts";
export type { CollectiveGroup, CollectiveOptions, ReduceOptions, RootOptions } from "./collective/group.ts";
export {
  createCollectiveGroup,
  type CreateGroupOptions,
  destroyCollectiveGroup,
  getCollectiveGroup,
  initCollectiveGroup,
  type InitGroupOptions,
  isGroupInitialized,
} from "./collective/membership.ts";
export type { NumericArray, ReduceOperation } from "./collective/reduction.ts";
export { ActorPool, type NextInOrderOptions, type NextOptions } from "./actor-pool.ts";
export { type ChunkOptions, Pool, type PoolOptions } from "./pool.ts";
export {
  Queue,
  type QueueActorOptions,
  QueueEmptyError,
  QueueFullError,
  type QueueOptions,
  QueueShutdownError,
  type QueueShutdownOptions,
  type QueueWaitOptions,
} from "./queue.ts";
export { progress, ProgressBar, type ProgressOptions } from "./progress.ts";
