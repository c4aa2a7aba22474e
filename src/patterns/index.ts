/** `shoal/util`: what is built on the programming model or beside it. */
export { inspectSerializability, type SerializabilityReport } from "../core/inspect-serializability.ts";
export { deregisterSerializer, registerSerializer } from "../core/registered-serializers.ts";
export { ActorPool, type NextInOrderOptions, type NextOptions } from "./actor-pool.ts";
export { type ChunkOptions, Pool, type PoolOptions } from "./pool.ts";
export { Queue, type QueueActorOptions, type QueueOptions, type QueueShutdownOptions, type QueueWaitOptions } from "./queue.ts";
export { QueueEmptyError, QueueFullError, QueueShutdownError } from "./queue-errors.ts";
