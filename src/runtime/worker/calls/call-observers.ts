/**
 * Tells extensions which calls begin and end in this worker.
 *
 * Absent (undefined) where no extension asked, so that calls pay nothing. An observer that throws is left out from then on: it must not fail a user's call.
 */
import type { JobId } from "../../base/ids.ts";
import type { CallOutcome, Extension, WorkerParts } from "../../extension/extension.ts";
import type { TaskContext } from "../tasks/task-context.ts";

export class CallObservers {
  readonly #job: JobId;
  #observers: readonly NonNullable<WorkerParts["callBegins"]>[];
  readonly #ends = new WeakMap<TaskContext, readonly ((outcome: CallOutcome) => void)[]>();

  private constructor(job: JobId, observers: readonly NonNullable<WorkerParts["callBegins"]>[]) {
    this.#job = job;
    this.#observers = observers;
  }

  static of(extensions: readonly Extension[], job: JobId): CallObservers | undefined {
    const observers = extensions.flatMap(({ worker }) => worker?.().callBegins ?? []);
    return observers.length === 0 ? undefined : new CallObservers(job, observers);
  }

  begins(context: TaskContext): void {
    const call = { taskId: context.taskId(this.#job), name: context.name, actor: context.place.actor };
    const ends = this.#observers.flatMap((observer) => this.#guarded(observer, () => observer(call)) ?? []);
    if (ends.length > 0) this.#ends.set(context, ends);
  }

  ended(context: TaskContext, outcome: CallOutcome): void {
    for (const end of this.#ends.get(context) ?? []) this.#guarded(undefined, () => end(outcome));
    this.#ends.delete(context);
  }

  #guarded<T>(observer: unknown, body: () => T): T | undefined {
    try {
      return body();
    } catch (error) {
      this.#observers = this.#observers.filter((other) => other !== observer);
      console.error("shoal: an extension that observes calls failed:", error);
      return undefined;
    }
  }
}
