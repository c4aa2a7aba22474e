/**
 * References, and further types that several of the other files of public types need. No code.
 *
 * The lowest of these files: `types.ts` passes the users' part on.
 */
import type { ObjectId } from "../../runtime/base/ids.ts";

/** Carries the value's type in {@link ObjectRef}; it exists for the compiler alone. */
export declare const refValue: unique symbol;

/**
 * A reference to a value that is or will be somewhere in the cluster. `await ref` is `get(ref)`.
 *
 * As a top-level argument of a task it stands for its value; inside arrays, maps and objects it stays a reference. The value is freed when the
 * last reference to it is gone: at the end of a `using` block, or when it is collected as garbage.
 *
 * @example
 * using ref = square.remote(4);
 * console.log(await ref); // 16
 */
export interface ObjectRef<out T> extends PromiseLike<T>, Disposable {
  /** The object's id: 40 hex digits. */
  readonly id: ObjectId;
  readonly [refValue]: T;
  /** The value, or what becomes of the failure, as of a promise. */
  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B>;
  /** The value, after the callback has run, as of a promise. */
  finally(onFinally?: (() => void) | null): Promise<T>;
}

/** The type of a reference's value. */
export type ValueOf<R> = IsAny<R> extends true ? any : R extends ObjectRef<infer T> ? T : never;

/** A reference of any value. */
export type AnyRef = ObjectRef<unknown>;

/** Any function. Parameters are `never` so that every function fits, and one without annotations is an error rather than `any`. */
export type AnyFunction = (...args: never) => unknown;

/** How long to wait, for `get` and `ready`. */
export interface GetOptions {
  /** Time in milliseconds; 0 asks whether it is there now. Default: no limit. */
  timeoutMs?: number | undefined;
  /** Ends the wait with the signal's reason. The task goes on. Default: none. */
  signal?: AbortSignal | undefined;
}

/** Whether a type is `any`. */
export type IsAny<T> = 0 extends 1 & T ? true : false;
