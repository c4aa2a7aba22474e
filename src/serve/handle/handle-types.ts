/** The types of handles, derived from deployed classes and functions. No code. */
import type { DeploymentResponse, DeploymentResponseGenerator } from "./deployment-response.ts";

type AnyFunction = (...args: any) => any;
type AnyClass = new (...args: any) => object;

/** Options for the calls of a handle, all of them optional. */
export interface HandleOptionsInput {
  /** The method gives an async iterable without being written as a generator. Default: whether it is a generator. */
  stream?: boolean | undefined;
  /** The model for `serve.multiplexed`; replicas that have loaded it are preferred. Default: that of the request in which the call is made. */
  multiplexedModelId?: string | undefined;
  /** Calls of one session go to the same replica while it is there and has room. Default: the session of the request in which the call is made. */
  sessionId?: string | undefined;
  /** Time limit on a call, with its wait for a replica. Default: the remaining time of the request that makes the call. */
  timeoutMs?: number | undefined;
  /** Cancels calls that are under way when it aborts. Stays in this process. Default: none. */
  signal?: AbortSignal | undefined;
}

export type HandleOptions = { readonly [K in keyof HandleOptionsInput]?: Exclude<HandleOptionsInput[K], undefined> };

/** An argument for a parameter: the value, a response of another deployment that is not awaited, or a reference. */
export type HandleArg<T> = T | DeploymentResponse<T> | PromiseLike<T> | { readonly [Key in keyof T]: T[Key] | DeploymentResponse<T[Key]> };

type HandleArgs<A extends readonly unknown[]> = { [K in keyof A]: HandleArg<A[K]> };

type Item<R> = R extends AsyncIterable<infer T> ? T : R extends Iterable<infer T> ? T : never;
type IsGenerator<R> = R extends AsyncGenerator<any> | Generator<any> ? true : false;

type CallResult<R> = [R] extends [never]
  ? DeploymentResponse<never>
  : IsGenerator<R> extends true
    ? DeploymentResponseGenerator<Item<R>>
    : DeploymentResponse<Awaited<R>>;

/** A method of a deployment. */
export interface HandleMethod<A extends readonly unknown[], R> {
  /** Calls it on one of the replicas. The arguments are taken as they are now. */
  remote(...args: HandleArgs<A>): CallResult<R>;
  options<const O extends HandleOptionsInput>(
    options: O,
  ): O extends { stream: true } ? { remote(...args: HandleArgs<A>): DeploymentResponseGenerator<Item<Awaited<R>>> } : HandleMethod<A, R>;
}

type MethodNames<I> = { [K in keyof I]-?: K extends string ? (I[K] extends AnyFunction ? K : never) : never }[keyof I];

/** The method behind `handle.remote()`: `call`, else `fetch`. */
type DefaultMethod<I> = I extends { call: infer F extends AnyFunction } ? F : I extends { fetch: infer F extends AnyFunction } ? F : never;

/** The handle of a deployment of class `I` or of a function. */
export type HandleOf<T> = T extends AnyClass ? InstanceHandle<InstanceType<T>> : T extends AnyFunction ? CallableHandle<T, unknown> : never;

type InstanceHandle<I> = {
  readonly [K in MethodNames<I>]: I[K] extends (...args: infer A) => infer R ? HandleMethod<A, R> : never;
} & CallableHandle<DefaultMethod<I>, I>;

interface CallableHandle<F, I> {
  /** Calls the function, or the method `call` of the class, or else `fetch`. */
  remote: F extends (...args: infer A) => infer R ? HandleMethod<A, R>["remote"] : never;
  /** A handle with other options for its calls. */
  options(options: HandleOptionsInput): InstanceHandle<I> & CallableHandle<F, I>;
  /**
   * Calls a method on every replica that there is. One that is full takes the call as soon as it has room, so a request that broadcasts to its own deployment needs a place beside
   * its own. Ends with the options of the handle, as calls do.
   */
  broadcast<K extends MethodNames<I>>(
    method: K,
    ...args: I[K] extends (...args: infer A) => unknown ? A : never
  ): Promise<I[K] extends (...args: any) => infer R ? Awaited<R>[] : never>;
}
