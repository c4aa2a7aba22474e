/** Exports of `shoal/util` that travel by name: those that users import in functions that they send, and its internal actors. */
import { CollectiveError } from "./collective/collective-error.ts";
import {
  createCollectiveGroup,
  destroyCollectiveGroup,
  getCollectiveGroup,
  initCollectiveGroup,
  isGroupInitialized,
} from "./collective/membership.ts";
import { Rendezvous } from "./collective/rendezvous.ts";
import { deregisterSerializer, inspectSerializability, registerExports, registerSerializer } from "../core/internal.ts";
import { ActorPool } from "./actor-pool.ts";
import { Pool } from "./pool.ts";
import { PoolWorker } from "./pool-worker.ts";
import { adoptProgressBar, progress, ProgressBar } from "./progress.ts";
import { adoptQueue, Queue, QueueEmptyError, QueueFullError, QueueShutdownError } from "./queue.ts";
import { QueueActor } from "./queue-actor.ts";

registerExports("shoal/util", {
  ActorPool,
  adoptProgressBar,
  adoptQueue,
  CollectiveError,
  createCollectiveGroup,
  deregisterSerializer,
  destroyCollectiveGroup,
  getCollectiveGroup,
  initCollectiveGroup,
  inspectSerializability,
  isGroupInitialized,
  Pool,
  PoolWorker,
  progress,
  ProgressBar,
  Queue,
  QueueActor,
  QueueEmptyError,
  QueueFullError,
  QueueShutdownError,
  registerSerializer,
  Rendezvous,
});
