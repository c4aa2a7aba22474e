/**
 * Holds the calls of one caller that a message can meet here: those that wait to begin, and those that await
 * something.
 *
 * The file decides what a cancellation does to a call. It aborts the call's signal, breaks off its waits, cancels the
 * calls that it made, and replaces the process when the call does not heed the signal. One `call-server.ts` owns the
 * calls: it adds them, and removes them once they are answered. A call that ends where it began never comes here.
 */
import { TaskCancelledError } from "../../base/errors.ts";
import type { CancelHeader } from "../../wire/messages.ts";
import type { Executor } from "../executor.ts";
import { CANCEL_GRACE_MS } from "../../base/limits.ts";
import { GRAPH_METHOD } from "../actors/reserved-methods.ts";
import { type TaskContext, taskContext } from "../tasks/task-context.ts";

interface OpenCallsOptions {
  executor: Executor;
  /** Cancels the calls that a call of this process made and that have not ended. */
  cancelChildren: (parent: TaskContext) => void;
  /** Answers for a call that goes on although nobody waits for it. */
  abandon: (context: TaskContext, callId: number) => void;
  /** Asks for a new process. Only the worker's own calls need this; the caller of any other call sees to it. */
  onUnsafe: (() => void) | undefined;
}

/** Reason of a call that ends because its caller is gone. */
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

  /** Calls that have begun and await something. */
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

  /** Ends the caller's tasks, and later gives up those that go on. Calls of an actor are left alone. */
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
      // Other calls that have begun here would die with the process. The call goes on, and nobody waits for it.
      if (abandon && executor.othersHaveBegun(context)) this.#options.abandon(context, callId);
      // A call that runs on the parent's worker can be pursued by this worker alone.
      else if (abandon) onUnsafe?.();
      return;
    }
    const reason = new TaskCancelledError(`Task ${context.name} was cancelled`, { reason: why });
    // The signal's listeners were added in the task's context. Running them there makes their output and calls the
    // task's.
    taskContext.run(context, () => context.cancellation.cancel(reason));
    if (recursive) this.#options.cancelChildren(context);
    if (context.place.executor !== undefined) executor.letGo(context);
  }

  /** Lets go of a stream that nobody reads, after its generator was told to end between two items. */
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
