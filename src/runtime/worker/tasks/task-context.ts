/**
 * Keeps the facts of the running task or actor call, through every `await`.
 *
 * `getRuntimeContext()` reads it, and so does the console, which needs the task that printed a line. A wait for a ref
 * reads it to park the task. The call server makes it. All calls of one shape or one actor share the part that says
 * where they run.
 */
import { type ActorId, type JobId, type TaskId, taskIdOf } from "../../base/ids.ts";
import { AsyncContext } from "../../os/engine/async-context.ts";
import type { AcceleratorIds } from "../../wire/messages.ts";
import { TaskCancellation } from "./task-cancellation.ts";

/** Lets others run while a call waits for a ref. */
export interface WaitParking {
  waitBegins(context: TaskContext): void;
  /** Parks the call; `resume` is called when it may go on. */
  waitEnds(context: TaskContext, resume: () => void): void;
}

/** Where calls run, shared by all calls of one shape or one actor. */
export interface CallPlace {
  readonly actor: ActorId | undefined;
  readonly actorName: string | undefined;
  readonly incarnation: number;
  /** Resources, group and environment of the lease or placement (`runtime/scheduling/lease-spec.ts`). */
  readonly shape: string;
  readonly resources: Readonly<Record<string, number>>;
  /** Accelerators that the call may use. */
  accelerators: AcceleratorIds | undefined;
  /** Parks a task while it waits. An actor has none, because nothing else runs on its worker meanwhile. */
  readonly executor: WaitParking | undefined;
  /** Whether the actor runs its calls one at a time. */
  readonly isSerial: boolean;
  /** Ends the actor once the call that decided so has returned. */
  readonly exitActor?: ((context: TaskContext) => void) | undefined;
  /** State that a library keeps beside the actor. */
  data?: unknown;
}

export class TaskContext {
  readonly name: string;
  /** First half of the task's id, of the caller's process, and the call's number in that process. */
  readonly taskIdPrefix: string;
  readonly callId: number;
  readonly place: CallPlace;
  /** Target of the call. An error about an unsendable result names its place in a file. */
  fn: ((...args: unknown[]) => unknown) | undefined = undefined;
  /** Refs that the call waits for at present. */
  waits = 0;
  isFinished = false;
  /**
   * When the call's code was entered, plus its waiting time on a shared worker. Only calls that awaited something
   * have it.
   */
  startedMs: number | undefined = undefined;
  /** Since when the task has waited on a worker that begins others meanwhile. */
  sharedSinceMs: number | undefined = undefined;
  /** Slot and function number in the record of calls; -1 for none. */
  recordSlot = -1;
  recordFunction = -1;
  /** The call that made this one: the number of that call's caller in the record (0: none), and the call id. */
  parentCaller = 0;
  parentId = 0;
  /** How often the call was tried before. */
  attempt = 0;
  /** When the call returned, if the clock was read then. */
  endedMs: number | undefined = undefined;
  /** Whether the call used `exitActor()`, and therefore gets no answer. */
  exits = false;
  /**
   * Tells the caller that the task has begun and waits. After a crash the caller then knows which tasks had started.
   */
  onParked: (() => void) | undefined = undefined;
  /** Releases the actors that the task created, which live as long as the task. */
  onFinished: (() => void)[] | undefined = undefined;
  /** State that a library keeps beside the call. A weak map would keep it until the whole heap is collected. */
  data: unknown = undefined;

  /** Created when somebody asks for the signal, waits, or cancels. Most tasks end without it. */
  #cancellation: TaskCancellation | undefined = undefined;

  constructor(options: { name: string; taskIdPrefix: string; callId: number; place: CallPlace }) {
    this.name = options.name;
    this.taskIdPrefix = options.taskIdPrefix;
    this.callId = options.callId;
    this.place = options.place;
  }

  get cancellation(): TaskCancellation {
    this.#cancellation ??= new TaskCancellation();
    return this.#cancellation;
  }

  get isCancelled(): boolean {
    return this.#cancellation?.reason !== undefined;
  }

  taskId(job: JobId): TaskId {
    return taskIdOf(this.taskIdPrefix, this.callId, job);
  }
}

export const taskContext: AsyncContext<TaskContext> = new AsyncContext<TaskContext>();

/** Whether calls made in this process may take over something from where they are made (`core/calls/submission/inherited-place.ts`). */
export const placing: { isInherited: boolean } = { isInherited: false };
