/** A value that follows a chain of calls through every `await`, timer and callback: which task is running here. */
import { AsyncLocalStorage } from "node:async_hooks";

export class AsyncContext<T> {
  readonly #storage = new AsyncLocalStorage<T>();

  get current(): T | undefined {
    return this.#storage.getStore();
  }

  run<R>(value: T, body: () => R): R {
    return this.#storage.run(value, body);
  }
}
