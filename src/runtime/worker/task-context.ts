/**
 * What is known of the task or actor call that runs here, following it through every `await`.
 *
 * Read by `getRuntimeContext()`, by the console (which task printed a line), and by every wait for a ref, which parks the task. Made by the call server; where a
 * call runs is shared by all calls of one shape or one actor.
 */
import { type ActorId, type JobId, type TaskId, taskIdOf } from "../base/ids.ts";
import { AsyncContext } from "../os/async-context.ts";
import type { AcceleratorIds } from "../wire/messages.ts";
import { TaskCancellation } from "./task-cancellation.ts";

/** Runs others while a call waits for a ref. */
export interface WaitParking {
  waitBegins(context: TaskContext): void;
  /** `resume` is called when the call may go on. */
  waitEnds(context: TaskContext, resume: () => void): void;
}

/** Where calls run: shared by all calls of one shape or one actor. */
export interface CallPlace {
  readonly actor: ActorId | undefined;
  readonly actorName: string | undefined;
  readonly incarnation: number;
  /** What it was leased or placed under (`runtime/scheduling/lease-spec.ts`): resources, group, environment. */
  readonly shape: string;
  readonly resources: Readonly<Record<string, number>>;
  /** Which accelerators it may use. */
  accelerators: AcceleratorIds | undefined;
  /** Parks a task while it waits; actors run nothing else meanwhile, so they have none. */
  readonly executor: WaitParking | undefined;
  /** Of an actor: no two of its calls overlap. */
  readonly isSerial: boolean;
  /** Of an actor: it ends once the call that decided so has been left. */
  readonly exitActor?: ((context: TaskContext) => void) | undefined;
  /** A library lays it beside the actor. */
  data?: unknown;
}

export class TaskContext {
  readonly name: string;
  /** First half of the task's id, of its caller's process, and the call's number in it. */
  readonly taskIdPrefix: string;
  readonly callId: number;
  readonly place: CallPlace;
  /** What runs; its place in a file is told when its result cannot be sent. */
  fn: ((...args: unknown[]) => unknown) | undefined = undefined;
  /** Refs that it waits for at present. */
  waits = 0;
  isFinished = false;
  /** When its code was entered, later by the time for which it waited on a shared worker; only for calls that awaited something. */
  startedMs: number | undefined = undefined;
  /** Since when the task has waited on a worker that begins others meanwhile. */
  sharedSinceMs: number | undefined = undefined;
  /** Slot and function number in the record of calls; -1 for none. */
  recordSlot = -1;
  recordFunction = -1;
  /** When it returned, where the clock was read then. */
  endedMs: number | undefined = undefined;
  /** It called `exitActor()`: it is not answered. */
  exits = false;
  /** Tells the caller that the task has begun and waits: after a crash it is known which tasks had started. */
  onParked: (() => void) | undefined = undefined;
  /** Lets go of what lives as long as the task: the actors that it created. */
  onFinished: (() => void)[] | undefined = undefined;
  /** A library lays it beside the call. A weak map would keep it until the whole heap is collected. */
  data: unknown = undefined;

  /** Made when somebody asks for the signal, waits, or cancels: most tasks end without. */
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

/** Whether calls made in this process may take over something from where they are made (`core/calls/inherited-place.ts`). */
export const placing: { isInherited: boolean } = { isInherited: false };
