/** The calls of an actor of Python that holds environments. Errors name the environment. */
import { ActorDiedError, type ActorHandle, ActorUnavailableError, kill, TaskError, terminate } from "../../../core/index.ts";
import { messageOf } from "../../../core/internal.ts";
import { python } from "../../../python/python.ts";
import { EnvironmentDiedError, EnvironmentError } from "../../errors.ts";
import { LEAVE_WITHIN_MS } from "../../limits.ts";
import type { PythonSpec } from "./python-source.ts";

interface Closable {
  close(): void;
}

export class PythonProcess<Actor extends Closable> {
  readonly #handle: ActorHandle<Actor>;
  readonly #name: string;

  /** @param name - of the environment */
  constructor({ recipe, runtimeEnv }: PythonSpec, name: string, { file, actor }: { file: string; actor: string }) {
    const actorClass = python.actor<Actor, [recipe: object]>(file, actor, {
      numCpus: 0,
      ...(runtimeEnv === undefined ? {} : { runtimeEnv }),
    });
    this.#handle = actorClass.remote(recipe);
    this.#name = name;
  }

  /** @throws EnvironmentError with the traceback, EnvironmentDiedError where the process has ended */
  async call<R>(what: string, run: (handle: ActorHandle<Actor>) => PromiseLike<R>): Promise<R> {
    try {
      return await run(this.#handle);
    } catch (error) {
      if ([ActorDiedError, ActorUnavailableError].some((type) => error instanceof type))
        throw new EnvironmentDiedError(`Cannot ${what} ${this.#name}: its Python process ended: ${messageOf(error)}`, { cause: error });
      const thrown = error instanceof TaskError ? (error.cause ?? error) : error;
      throw new EnvironmentError(`Cannot ${what} ${this.#name}: it threw ${messageOf(thrown)}`, { cause: thrown });
    }
  }

  async end(): Promise<void> {
    const handle = this.#handle as unknown as ActorHandle<Closable>;
    try {
      await handle.close.options({ timeoutMs: LEAVE_WITHIN_MS }).remote();
      await terminate(handle);
    } catch {
      await kill(handle).catch(() => {});
    }
  }
}
