/**
 * The calls of one caller that a message can meet here: those that wait to begin, and those that have begun and await something.
 *
 * Decides what a cancellation does to them: the signal, the waits that it breaks off, what they have called, and what becomes of one that does not heed
 * it. Owned by one `call-server.ts`, which adds calls and takes them out when they have been answered; calls that end where they began never come here.
 */
import { TaskCancelledError } from "../base/errors.ts";
import type { CancelHeader } from "../wire/messages.ts";
import type { Executor } from "./executor.ts";
import { CANCEL_GRACE_MS } from "../base/limits.ts";
import { GRAPH_METHOD } from "./reserved-methods.ts";
import { type TaskContext, taskContext } from "./task-context.ts";

interface OpenCallsOptions {
  executor: Executor;
  /** Cancels the calls that a call of this process made and that have not ended. */
  cancelChildren: (parent: TaskContext) => void;
  /** Answers for a call that goes on without anybody who waits for it. */
  abandon: (context: TaskContext, callId: number) => void;
  /** Of the worker's own calls: the process is to be replaced. Others have a caller who sees to it. */
  onUnsafe: (() => void) | undefined;
}

/** Why a call ends whose caller is gone. */
const CALLER_ENDED = "the process that submitted it ended";

export class OpenCalls {
  readonly #options: OpenCallsOptions;
  readonly #calls = new Map<number, TaskContext>();

  constructor(options: OpenCallsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Those that have begun and await something. */
  get begun(): TaskContext[] {
    return Array.from(this.#calls.values()).filter((context) => context.startedMs !== undefined && !context.isFinished);
  }

  get(callId: number): TaskContext | undefined {
    return this.#calls.get(callId);
  }

  set(callId: number, context: TaskContext): void {
    this.#calls.set(callId, context);
  }

  delete(callId: number): void {
    this.#calls.delete(callId);
  }

  /** Ends its tasks, and later gives up those that go on; calls of an actor are left alone. */
  callerGone(): void {
    this.#cancelTasks({ recursive: true, abandon: false });
    if (this.#calls.size === 0) return;
    // The daemon ends a worker that nobody else uses. One that others use, too, goes on without what does not heed its signal.
    setTimeout(() => this.#cancelTasks({ recursive: true, abandon: true }), CANCEL_GRACE_MS).unref();
  }

  cancel(callId: number, { recursive, abandon }: CancelHeader, why = "its caller cancelled it"): void {
    const { executor, onUnsafe } = this.#options;
    const context = this.#calls.get(callId);
    if (context === undefined) return;
    if (context.isCancelled) {
      // Those that have begun here would die with it; it goes on without anybody who waits for it.
      if (abandon && executor.othersHaveBegun(context)) this.#options.abandon(context, callId);
      // Nobody but this worker itself pursues a call that runs on the worker of its parent.
      else if (abandon) onUnsafe?.();
      return;
    }
    const reason = new TaskCancelledError(`Task ${context.name} was cancelled`, { reason: why });
    // In the task's context, where its listeners were added: what they print and call is the task's.
    taskContext.run(context, () => context.cancellation.cancel(reason));
    if (recursive) this.#options.cancelChildren(context);
    if (context.place.executor !== undefined) executor.letGo(context);
  }

  /** Nobody reads on, and the generator has been told so between two items. */
  leave(context: TaskContext): void {
    this.#options.cancelChildren(context);
    if (context.place.executor !== undefined) this.#options.executor.letGo(context);
  }

  #cancelTasks(header: CancelHeader): void {
    for (const [callId, context] of Array.from(this.#calls)) {
      // A graph that nobody executes any more must not hold the actor.
      const isGraph = context.name.endsWith(GRAPH_METHOD);
      if (context.place.actor === undefined || isGraph) this.cancel(callId, header, CALLER_ENDED);
      else if (!header.abandon) {
        const reason = new TaskCancelledError(`The caller of ${context.name} is gone`, { reason: CALLER_ENDED });
        taskContext.run(context, () => context.cancellation.callerGone(reason));
      }
    }
  }
}
