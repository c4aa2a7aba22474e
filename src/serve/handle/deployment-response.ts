/**
 * The response of a call of a deployment: a promise that can be cancelled and passed on, and for generators a stream.
 *
 * The call has begun when it is returned, and the replica is chosen behind it. Passed to another deployment unawaited, its value goes there from where it lies, not through
 * this process.
 */
import type { ObjectRef } from "../../core/index.ts";

/** The call behind a response. */
export interface CallInProgress<T> {
  /** Settles with the value. */
  readonly value: Promise<T>;
  /** Resolves once the call has succeeded, with the argument that other calls take for its value: a reference or the value itself. Rejects as `value` does. */
  reference(): Promise<{ readonly ref: ObjectRef<T> | T }>;
  cancel(): void;
}

let callOf: <T>(response: DeploymentResponse<T>) => CallInProgress<T>;

/**
 * The answer of a deployment, to be awaited.
 *
 * @example
 * const words = Split.remote(text);            // not awaited
 * const count = await Count.remote(words);     // goes from one replica to the other
 */
export class DeploymentResponse<T> implements PromiseLike<T> {
  readonly #call: CallInProgress<T>;

  static {
    callOf = <U>(response: DeploymentResponse<U>): CallInProgress<U> => response.#call;
  }

  /** @internal */
  constructor(call: CallInProgress<T>) {
    this.#call = call;
  }

  then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#call.value.then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.#call.value.catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    return this.#call.value.finally(onFinally);
  }

  /** Ends the call: whoever awaits it gets RequestCancelledError, the replica's signal aborts, and so do the calls that it has made. */
  cancel(): void {
    this.#call.cancel();
  }

  get [Symbol.toStringTag](): string {
    return "DeploymentResponse";
  }
}

export function callBehind<T>(response: DeploymentResponse<T>): CallInProgress<T> {
  return callOf(response);
}

/** The items of a deployment's generator, as they come. Leaving the loop ends the generator. */
export class DeploymentResponseGenerator<T> implements AsyncIterableIterator<T, void, undefined> {
  readonly #items: AsyncGenerator<T, void, undefined>;
  readonly #cancel: () => void;

  /** @internal */
  constructor(items: AsyncGenerator<T, void, undefined>, cancel: () => void) {
    this.#items = items;
    this.#cancel = cancel;
  }

  next(): Promise<IteratorResult<T, void>> {
    return this.#items.next();
  }

  async return(): Promise<IteratorResult<T, void>> {
    this.#cancel();
    return this.#items.return(undefined);
  }

  /** Ends the stream and the work behind it. */
  cancel(): void {
    this.#cancel();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
