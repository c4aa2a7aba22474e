/**
 * Runs requests that a library received over its own connection as calls of the actor.
 *
 * The code runs as a call does: `getRuntimeContext()` has a signal for it, lines that it prints are its own, and its calls are cancelled with it. A library may
 * keep data beside the call, and reads that data anywhere in the call's code.
 */
import { taskContext, TaskContext } from "../../runtime/worker/tasks/task-context.ts";
import { requireRuntime } from "../current-runtime.ts";

/** One call that runs here. */
export interface LibraryCall {
  /** Aborts when the call is cancelled. */
  readonly signal: AbortSignal;
  /** Aborts its signal, breaks off its waits, and cancels the calls that it has made. */
  cancel(reason: Error): void;
  /** Runs more code as part of the call. */
  run<T>(body: () => T): T;
}

class RunningLibraryCall implements LibraryCall {
  readonly #context: TaskContext;

  constructor(context: TaskContext) {
    this.#context = context;
  }

  get signal(): AbortSignal {
    return this.#context.cancellation.signal;
  }

  cancel(reason: Error): void {
    this.#context.cancellation.cancel(reason);
    requireRuntime().cancellation.cancelChildren(this.#context);
  }

  run<T>(body: () => T): T {
    return taskContext.run(this.#context, body);
  }
}

/**
 * A new call of this actor, which has not begun. Make it in the actor's constructor, or in one of the actor's calls.
 *
 * @returns a function that makes one call for each request
 * @throws TypeError outside of an actor
 */
export function libraryCalls(): (name: string, data: unknown) => LibraryCall {
  const place = taskContext.current?.place;
  if (place?.actor === undefined) throw new TypeError("Cannot make calls for a library: only actors do, and no actor runs here");
  return (name, data) => {
    const context = new TaskContext({ name, taskIdPrefix: "", callId: 0, place });
    context.data = data;
    return new RunningLibraryCall(context);
  };
}

/** Returns the library's data for the call that runs here. */
export function callData(): unknown {
  return taskContext.current?.data;
}

/** Why the call that runs here was cancelled; undefined where it was not. Makes no signal, as `getRuntimeContext().signal` does. */
export function callCancelled(): Error | undefined {
  const context = taskContext.current;
  return context?.isCancelled === true ? context.cancellation.reason : undefined;
}

/** Lays it beside the call that runs here, which came as a call of the core. */
export function setCallData(data: unknown): void {
  const context = taskContext.current;
  if (context !== undefined) context.data = data;
}

/** The data that the library has laid beside the actor whose code runs here. */
export function actorData(): unknown {
  return taskContext.current?.place.data;
}

/** Keeps data beside this actor, for all calls. In in-process mode, where actors share a process, each actor has its own data. @throws TypeError outside of an actor */
export function setActorData(data: unknown): void {
  const place = taskContext.current?.place;
  if (place?.actor === undefined) throw new TypeError("Cannot lay data beside an actor: no actor runs here");
  place.data = data;
}

/** Runs code outside of any call: work that the code begins outlives the surrounding call. */
export function outsideCalls<T>(body: () => T): T {
  return taskContext.run(undefined as never, body);
}
