/**
 * The public types of the core: the types that users import, and those of `get`, `put`, `wait`, `remote` and the other functions.
 *
 * Decides all inference: from a function to its remote form, from a class to its handle, from a reference to its value. No code.
 * Limits of the language: of an overloaded function the last signature counts; a generic one is fixed by an instantiation
 * expression, `remote(identity<number>)`; a field that holds a function looks like a method.
 * Held by `test/types/*.test-d.ts`, which list what must compile and what must not.
 */
import type { Resources, RuntimeEnv, SchedulingOptions } from "../options/scheduling-types.ts";
import type { AnyIterator, Item, ObjectRefGenerator, ReturnCount } from "../streams/stream-types.ts";
import type { BindArgs, BoundMethod, BoundValue, GraphNode, GraphValue, InputsOf } from "./graph-types.ts";
import type { AnyFunction, AnyRef, GetOptions, IsAny, ObjectRef, ValueOf } from "./ref-types.ts";

export type { AnyFunction, AnyRef, GetOptions, ObjectRef, refValue, ValueOf } from "./ref-types.ts";

/** Marks {@link ActorHandle}; it exists for the compiler alone. */
export declare const actorInstance: unique symbol;

/** The member types of a union that are `U`; `never` when there are none, and for `any`. */
type MembersOf<T, U> = IsAny<T> extends true ? never : Extract<T, U>;

// ---------------------------------------------------------------------------------------------------------------------
// Remote functions

/**
 * Arguments for a parameter of type `T`: the value, or a reference to it. A parameter that is declared as a reference would receive the value, so it accepts nothing:
 * declare `[ref]` or `{ ref }`.
 */
export type Arg<T> = IsAny<T> extends true ? any : [MembersOf<T, AnyRef>] extends [never] ? T | ObjectRef<T> : never;

/** Arguments for a parameter list, each by {@link Arg}; names, optional and rest parameters are kept. */
export type Args<A extends readonly unknown[]> = { [K in keyof A]: Arg<A[K]> };

/**
 * The result of `.remote()` for a function that returns `R` with `numReturns: N`: a reference for 1, nothing for 0, a reference for each item of the returned tuple for
 * more, and a stream for a generator or `"streaming"`. Promises are awaited, and a returned reference counts as its value.
 */
export type Returned<R, N extends ReturnCount = 1> = [N] extends ["streaming"]
  ? ObjectRefGenerator<Item<Awaited<R>>>
  : [N] extends [0]
    ? void
    : [N] extends [1]
      ? SingleReturn<R>
      : number extends N
        ? AnyRef[]
        : SeveralReturns<R, N>;

type SingleReturn<R> =
  IsAny<R> extends true
    ? ObjectRef<any>
    : [R] extends [never]
      ? ObjectRef<never>
      : [R] extends [AnyIterator]
        ? ObjectRefGenerator<Item<R>>
        : ObjectRef<Awaited<R>>;

type SeveralReturns<R, N extends ReturnCount> =
  IsAny<R> extends true
    ? ObjectRef<any>[]
    : Awaited<R> extends infer T extends readonly unknown[]
      ? N extends T["length"]
        ? { -readonly [K in keyof T]: ObjectRef<Awaited<T[K]>> }
        : never
      : never;

/**
 * A function that runs in a worker process. It is not callable: `f.remote(x)` submits a task and returns at once.
 *
 * @example
 * const square = remote((x: number) => x * x);
 * await square.remote(4); // 16
 * await square.options({ numCpus: 2, name: "big square" }).remote(square.remote(4)); // 256
 */
export interface RemoteFunction<A extends readonly unknown[], R, N extends ReturnCount = 1> {
  /**
   * Submits a task and returns a reference to its result at once. Arguments are taken as they are now. A failure of
   * the task is a failure of the reference.
   *
   * @throws SerializationError if an argument or a captured value of the function cannot be sent.
   */
  remote(...args: Args<A>): Returned<R, N>;
  /** Adds a task to a graph instead of submitting it; arguments may be other nodes. They are taken when the graph is executed. */
  bind<const B extends BindArgs<A>>(...args: B): [N] extends [1] ? GraphNode<BoundValue<R>, InputsOf<B>> : never;
  /**
   * A copy with other options; those that are not named stay.
   *
   * @throws TypeError for an unknown option or a value of a wrong type, RangeError for one out of range.
   */
  options<const M extends ReturnCount = N>(options: TaskOptions<M>): RemoteFunction<A, R, M>;
}

// ---------------------------------------------------------------------------------------------------------------------
// Actors

/** Any class that can be made with `new`. */
export type AnyClass = new (...args: any) => object;

/** The names of an instance's public methods. Fields, accessors and methods named by symbols are not among them. */
export type MethodsOf<I> =
  IsAny<I> extends true ? string & keyof I : { [K in keyof I]-?: K extends string ? MethodName<K, I[K]> : never }[keyof I];

type MethodName<K, F> = IsAny<F> extends true ? never : [F] extends [never] ? never : [F] extends [AnyFunction] ? K : never;

/** A method of an actor, called as `handle.method.remote(...)`. Calls of one caller run in order. */
export interface RemoteMethod<A extends readonly unknown[], R, N extends ReturnCount = 1> {
  /**
   * Submits a call and returns a reference to its result at once.
   *
   * @throws SerializationError when an argument cannot be sent.
   */
  remote(...args: Args<A>): Returned<R, N>;
  /** Adds a call to a graph instead of submitting it; arguments may be nodes. They are taken when the graph is executed. */
  bind<const B extends BindArgs<A>>(...args: B): [N] extends [1] ? GraphNode<BoundValue<R>, InputsOf<B>> : never;
  /** A copy with other options for its calls. */
  options<const M extends ReturnCount = N>(options: MethodOptions<M>): RemoteMethod<A, R, M>;
}

/** The remote form of a method of type `F`. */
export type ActorMethod<F, N extends number = 1> =
  IsAny<F> extends true ? RemoteMethod<any[], any, N> : F extends (...args: infer A) => infer R ? RemoteMethod<A, R, N> : never;

/**
 * A handle to an actor: its methods, each with `.remote()`, and nothing else. It can be passed to tasks and to other actors.
 *
 * In the process that created the actor, `using` ends it with the block; otherwise it lives until `terminate`, `kill` or the end of that process. `T` are the methods'
 * options that change the results of calls.
 */
export type ActorHandle<I, T = {}> = { readonly [M in MethodsOf<I>]: ActorMethod<I[M], NumReturnsIn<T, M>> } & Disposable & {
    readonly [actorInstance]: I;
  };

/** A handle to an actor of any class. */
export type AnyActorHandle = Disposable & { readonly [actorInstance]: unknown };

/**
 * A class whose instances live in processes of their own.
 *
 * @example
 * class Counter { #n = 0; increment(by = 1) { return (this.#n += by); } }
 * using counter = remote(Counter).remote();
 * await counter.increment.remote(5); // 5
 */
export interface ActorClass<C extends AnyClass, T = {}> {
  /**
   * Creates an actor in the background and returns its handle at once. When the constructor throws, each call fails with
   * `ActorDiedError` and the thrown error as its cause.
   *
   * @throws SerializationError if an argument or a captured value of the class cannot be sent.
   */
  remote(...args: Args<ConstructorParameters<C>>): ActorHandle<InstanceType<C>, T>;
  /** An actor that each execution of a graph creates; `bind` its methods to call it. Arguments may be nodes. */
  bind<const B extends BindArgs<ConstructorParameters<C>>>(...args: B): BoundActor<C, B>;
  /**
   * A copy with other options; those that are not named stay.
   *
   * @throws TypeError for an unknown option or a value of a wrong type, RangeError for one out of range.
   */
  options<const U extends MethodTable<InstanceType<C>> = T & MethodTable<InstanceType<C>>>(
    options: ActorOptions<InstanceType<C>, U>,
  ): ActorClass<C, U>;
}

/**
 * An actor that each execution of the graph creates, and that ends after the execution's calls. `bind` its methods like those of a handle.
 */
export type ActorNode<T, I = never> = {
  readonly [M in MethodsOf<T>]: T[M] extends (...args: infer A) => infer R ? BoundMethod<A, R, I> : never;
} & GraphValue<ActorHandle<T>, I>;

/** The result of `bind` for a class. */
export type BoundActor<C extends AnyClass, B extends readonly unknown[]> = ActorNode<InstanceType<C>, InputsOf<B>>;

// ---------------------------------------------------------------------------------------------------------------------
// Options

/** The resources that a task or an actor asks for. They decide its place and how many run at once, and do not limit its actual use. */
export interface ResourceOptions {
  /** CPUs, in steps of 0.0001. Default: 1 for tasks; for actors 1 to be placed and 0 while they live. */
  numCpus?: number | undefined;
  /** GPUs, in steps of 0.0001. Default: 0. */
  numGpus?: number | undefined;
  /**
   * Memory in bytes, a whole number: reserved on the node and enforced. A process that uses more, beyond its worker's memory from before, is ended, and the call fails
   * with OutOfMemoryError once its `maxRetries` are used up. Mappings of the object store do not count. Default: 0, which means no request and no limit.
   */
  memoryBytes?: number | undefined;
  /** Custom resources by name, in steps of 0.0001. CPUs and GPUs have options of their own. Default: none. */
  resources?: Resources | undefined;
}

/** Selects the task's own errors after which it runs again. */
export type RetryOn = boolean | readonly (abstract new (...args: any) => Error)[] | ((error: unknown) => boolean);

/** The options of single calls, of tasks as of methods. */
interface CallOptions<N extends ReturnCount> {
  /**
   * Into how many references the result is split: 0 to 1,000. For more than 1 the function returns a tuple. `"streaming"`: its items are a stream, for
   * what returns an iterator or iterable without being a native generator. Default: 1, and `"streaming"` for generators.
   */
  numReturns?: N | undefined;
  /**
   * For streams: how many items may be produced ahead of their consumption, from 1; `Infinity` is no limit. Default: 256, and no more than
   * 64 MB of them.
   */
  highWaterMark?: number | undefined;
  /**
   * The function's errors that are retried, up to `maxRetries` times or, for methods, `maxTaskRetries`: none, all, those of some classes, or those that a predicate in
   * the caller accepts. The predicate of a method stays with the process that gave it. Default: false.
   */
  retryOn?: RetryOn | undefined;
  /** Time before each retry, in milliseconds; of a method before those because of `retryOn`. Default: 0. */
  retryDelayMs?: number | undefined;
  /**
   * How long it may take from its submission on, in milliseconds, waiting for arguments and for a worker included. Then it is cancelled and its
   * references fail with `TaskTimeoutError`. Default: no limit.
   */
  timeoutMs?: number | undefined;
  /** Cancels it, as `cancel` does, when it aborts. Stays in this process: it does not travel with the remote function. Default: none. */
  signal?: AbortSignal | undefined;
  /** The name in errors, logs and tools. Default: that of the function, or `Class.method`. */
  name?: string | undefined;
}

/** The options of a task: of `remote(fn, options)` and of `f.options(options)`. */
export interface TaskOptions<N extends ReturnCount = ReturnCount> extends CallOptions<N>, ResourceOptions, SchedulingOptions {
  /** How often it is run again when its worker or node dies, or `retryOn` says so; -1 is without end. Default: 3. */
  maxRetries?: number | undefined;
  /**
   * Limit on the function's calls in one worker process. After the last call another worker replaces the process, which frees memory that the function's libraries leak.
   * The option belongs to the function, so `f.options()` does not take it. Without effect in in-process mode. Default: 0, without limit; 1 for a Python function that
   * holds GPUs.
   *
   * @example
   * const convert = remote(convertWithALeak, { maxCalls: 100 });
   */
  maxCalls?: number | undefined;
}

/** The options of one actor method: `handle.method.options(options)`. */
export interface MethodOptions<N extends ReturnCount = ReturnCount> extends CallOptions<N> {
  /** In which of the actor's `concurrencyGroups` it runs, or `"default"`. Default: `"default"`. */
  concurrencyGroup?: string | undefined;
  /** How often a call that was under way at a restart is sent again; -1 is without end. Default: that of the actor. */
  maxTaskRetries?: number | undefined;
}

/** The options of an actor's methods, by their names. */
export type MethodTable<I> = { readonly [M in MethodsOf<I>]?: MethodOptions | undefined };

/** `numReturns` of a method by a method table; 1 where it says nothing. */
type NumReturnsIn<T, M> = M extends keyof T ? (T[M] extends { numReturns: infer N extends number } ? N : 1) : 1;

/** The options of an actor: of `remote(Class, options)` and of `actorClass.options(options)`. */
export interface ActorOptions<I = any, T extends MethodTable<I> = MethodTable<I>> extends ResourceOptions, SchedulingOptions {
  /** A name under which `getActor` finds it, unique in its namespace. Default: none. */
  name?: string | undefined;
  /** Where the name lives. Default: the namespace of `init`. */
  namespace?: string | undefined;
  /** Return the actor that has the name already instead of failing. Needs `name`. Default: false. */
  getIfExists?: boolean | undefined;
  /**
   * `"detached"`: it outlives the process, task or job that creates it, and its handles, until `kill`, `terminate` or the end of the node. Needs `name`.
   * A node that `init` has started ends with its last driver, and the actor with it. Default: `"non_detached"`.
   */
  lifetime?: "detached" | "non_detached" | undefined;
  /** How often the actor is made anew when its process dies; -1 is without end. Default: 0. */
  maxRestarts?: number | undefined;
  /** How often a call that was under way at a restart is sent again; -1 is without end. Default: 0. */
  maxTaskRetries?: number | undefined;
  /**
   * How many calls may be under way at a time: async methods overlap at their awaits, in one thread. Calls begin in each caller's order. Default: 1, a call
   * ends before the next begins.
   */
  maxConcurrency?: number | undefined;
  /** Groups of calls with limits of their own, such as `{ io: 2 }`: one group never holds back another. Default: none. */
  concurrencyGroups?: Readonly<Record<string, number>> | undefined;
  /** Options of single methods, such as `{ read: { concurrencyGroup: "io" } }`; a call's own options go before. Default: none. */
  methods?: (T & { readonly [M in Exclude<keyof T, MethodsOf<I>>]: never }) | undefined;
  /** How many calls of one process may be unanswered: one more throws PendingCallsLimitExceededError. -1 is without limit. Default: -1. */
  maxPendingCalls?: number | undefined;
  /** A call whose arguments are pending does not hold back those behind it. Default: false. */
  allowOutOfOrderExecution?: boolean | undefined;
}

/** The options of `init`. */
export interface InitOptions {
  /**
   * Connects to a cluster instead of starting a node. Give the address that `shoal start --head` printed (`"10.0.0.7:6380"`; for several heads one address, or several
   * with commas), or `"auto"` for the one cluster that has a node on this machine. A node of the cluster must run on this machine. Options that describe a node are
   * refused together with an address. Default: the value of `SHOAL_ADDRESS`, with which such options have no effect; without it the program starts a separate node.
   */
  address?: string | undefined;
  /** CPUs of this machine, and with them worker processes at a time. Default: those that the process may use. */
  numCpus?: number | undefined;
  /** GPUs of this machine. Default: those that `CUDA_VISIBLE_DEVICES` names, else those of the NVIDIA driver. */
  numGpus?: number | undefined;
  /** Labels of this machine, which a `labelSelector` asks for. Default: none but `shoal.io/node-id`. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** Custom resources of this machine by name, in steps of 0.0001. Default: none. */
  resources?: Resources | undefined;
  /** Shared memory for objects in bytes; further objects go to disk. Default: 30 % of memory, at most half of the free bytes of the shared-memory file system. */
  objectStoreMemoryBytes?: number | undefined;
  /**
   * Part of the machine's or container's memory above which a worker is ended, before the kernel kills an arbitrary process: an idle worker first, then the newest
   * task. Default: 0.95. Without effect in `"inProcess"` mode, and on systems without `/proc`.
   */
  memoryUsageThreshold?: number | undefined;
  /**
   * How often a task is run again, with growing pauses, when its worker was ended for `memoryUsageThreshold`; tasks with `maxRetries: 0` are not. -1: without
   * end. Default: -1.
   */
  taskOomRetries?: number | undefined;
  /**
   * Processes that waiting tasks of a program keep for themselves, for each CPU; nested tasks that wait have half as many. Beyond that, and where the machine's
   * memory is full, the tasks that they call share their processes. 0: they always do. Default: 2.
   */
  waitingProcessesPerCpu?: number | undefined;
  /** Folder for objects that memory has no room for. Default: one in the system's folder for temporary files. */
  spillDirectory?: string | undefined;
  /** The namespace of actors' names. Default: the value of `SHOAL_NAMESPACE`, else a new namespace for each `init`. */
  namespace?: string | undefined;
  /** Runtime environment of this program's workers; tasks and actors may add to it. Default: the JSON in `SHOAL_RUNTIME_ENV`; else nothing. */
  runtimeEnv?: RuntimeEnv | undefined;
  /** Print here what workers print. Default: true. */
  logToDriver?: boolean | undefined;
  /** `"inProcess"` runs everything in this process: nothing to start, breakpoints hold. Default: `"process"`. */
  mode?: "process" | "inProcess" | undefined;
  /**
   * Warn, in `"inProcess"` mode, of what functions and classes capture that could not be sent to a worker process: a socket, say. Looks at each once. Without effect in
   * `"process"` mode, which refuses it. Default: true.
   */
  checkCaptures?: boolean | undefined;
  /** Return the running runtime from a second `init` instead of failing. Default: false. */
  ignoreReinitError?: boolean | undefined;
}

/** Options of `wait`. */
export interface WaitOptions extends GetOptions {
  /** How many references to wait for: 1 to as many as there are. Default: 1. */
  numReturns?: number | undefined;
  /** Count a reference as ready only when its value is on this node. Default: true. */
  fetchLocal?: boolean | undefined;
}

// ---------------------------------------------------------------------------------------------------------------------
// The functions of the core

/**
 * Returns the value of a reference, or the values of several in their order. Each call gives a separate value; large buffers share memory.
 *
 * @throws TaskError if the task threw; `cause` is the thrown value. For several references, the first failure.
 * @throws GetTimeoutError after `timeoutMs`.
 * @example
 * const [name, size] = await get([nameRef, sizeRef], { timeoutMs: 1000 });
 */
export type GetFunction = {
  <R extends AnyRef>(ref: R, options?: GetOptions): Promise<ValueOf<R>>;
  <const R extends readonly AnyRef[]>(refs: R, options?: GetOptions): Promise<{ -readonly [K in keyof R]: ValueOf<R[K]> }>;
};

/**
 * Stores a value and returns a reference to it at once. The value is taken as it is now; many tasks can then read it without sending it again.
 *
 * @throws TypeError for a reference or a promise: await it first.
 * @throws SerializationError when the value cannot be sent.
 * @throws ObjectStoreFullError when memory and spill disk are full.
 * @example
 * const table = put(new Float64Array(1e7));
 * const sums = await get([0, 1, 2].map((part) => sum.remote(table, part)));
 */
export type PutFunction = <T>(
  value: T,
  ...notAReference: [MembersOf<T, PromiseLike<unknown>>] extends [never] ? [] : [notAReference: never]
) => ObjectRef<T>;

/**
 * Makes a function or a class remote. The first `.remote()` captures its variables, which travel with it.
 *
 * @throws TypeError for any other target, for an unknown option or a value of a wrong type; RangeError for a value out of range.
 * @example
 * const offset = 10;
 * const add = remote((x: number) => x + offset, { numCpus: 0.5 });
 * const counter = remote(Counter).remote();
 */
export type RemoteType = {
  <C extends AnyClass, const T extends MethodTable<InstanceType<C>> = {}>(
    actorClass: C,
    options?: ActorOptions<InstanceType<C>, T>,
  ): ActorClass<C, T>;
  // Last, because the compiler explains a mistake by the last overload, and most calls make tasks. The whole function is inferred and not
  // its parameters and result: those would make `unknown` of a parameter that has only a default, `(x = 1) => x`.
  <F extends AnyFunction, const N extends ReturnCount = 1>(
    fn: F,
    options?: TaskOptions<N>,
  ): RemoteFunction<Parameters<F>, ReturnType<F>, N>;
};

/** The options of `getActor`. */
export interface GetActorOptions {
  /** Where the name was given. Default: the namespace of this program. */
  namespace?: string | undefined;
}

/** The options of `cancel`. */
export interface CancelOptions {
  /** End the worker process at once if the task has begun, instead of telling it, interrupting it, and ending it after 3 seconds. Not for calls of actors. Default: false. */
  force?: boolean | undefined;
  /** Cancel the tasks and actor calls that it has made, too. Default: true. */
  recursive?: boolean | undefined;
}

/** The options of `kill`. */
export interface KillOptions {
  /** End it for good, whatever its `maxRestarts`. Default: true. */
  noRestart?: boolean | undefined;
}
