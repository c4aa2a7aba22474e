/**
 * The options of transforms: of functions, which run in tasks, and of classes, which run in pools of actors.
 *
 * `readCompute` checks them in the user's call, and splits them into the choice of tasks or a pool and the core's options. The syntax decides whether a value is
 * a class, so a plain function is never constructed.
 */
import { type ActorOptions, type MethodOptions, remote, type TaskOptions } from "../../core/index.ts";
import {
  count,
  custom,
  isActorOption,
  isClass,
  isPlainObject,
  isTaskOption,
  nearNames,
  number,
  oneOf,
  readOptions,
} from "../../core/internal.ts";
import type { OnError } from "../blocks/memory/losses.ts";
import type { Compute, TaskLimit } from "../engine/pools/compute.ts";
import { ChainActor } from "../engine/pools/pool-actor.ts";
import type { Transform } from "../engine/tasks/transform.ts";
import { CALLS_PER_ACTOR, ERROR_RETRIES } from "../limits.ts";

/** Options of a transform's tasks, such as `numCpus` or `maxRetries`. A transform with options runs in separate tasks. */
export interface TransformOptions extends Omit<TaskOptions<1>, "name" | "numReturns" | "highWaterMark" | "signal"> {
  /** Limit on simultaneous tasks. Default: the number of CPUs. */
  concurrency?: number | undefined;
}

/** The cost of a row that fails. */
export interface RowErrorOptions<E extends OnError = "raise" | "skip"> {
  /**
   * `"raise"`: an error of the function ends the run. `"skip"`: the row, or the batch, is left out. `"null"`, of `map` alone: the row has null in every column. `stats()` counts such rows in
   * `erroredItems`, with the first errors. Default: `"raise"`.
   */
  onError?: E | undefined;
}

/** Reads `onError`, and the other options. */
export function splitOnError<O extends { readonly onError?: unknown }>(
  of: string,
  given: O,
  values: readonly OnError[],
): { readonly onError: OnError | undefined; readonly others: Omit<O, "onError"> } {
  const { onError, ...others } = given;
  const read = readOptions({ onError }, { of, options: { onError: oneOf(values, "raise") } });
  return { onError: read.onError === "raise" ? undefined : read.onError, others };
}

/** How many actors a pool has: between `min` and `max`, as its input asks for it. */
export interface PoolSize {
  min: number;
  max: number;
  /** To begin with. Default: `min`. */
  initial?: number | undefined;
}

type ActorParts = Omit<
  ActorOptions,
  "name" | "namespace" | "getIfExists" | "lifetime" | "concurrencyGroups" | "methods" | "maxPendingCalls" | "allowOutOfOrderExecution"
>;

/** The options of a class as a transform: how many actors there are, and what each of them is made with. */
export interface ActorTransformOptions extends ActorParts, Pick<MethodOptions, "retryOn" | "retryDelayMs" | "timeoutMs"> {
  /** How many actors. Default: one, and up to as many as there are CPUs while blocks wait. */
  concurrency?: number | PoolSize | undefined;
  /** The same in Ray's form, and how many calls an actor has at a time. Not beside `concurrency`. */
  compute?: ActorPoolStrategy | undefined;
  /** CPUs that each actor holds while it lives. Where the tasks beside the pool would find none, less. Default: 1. */
  numCpus?: number | undefined;
  /** How often each actor is replaced when it dies; -1 is without end. Default: until three die one after the other in their constructors. */
  maxRestarts?: number | undefined;
  /** How often rows are given to another actor when theirs dies; -1 is without end. Default: until three die one after the other with the same rows. */
  maxTaskRetries?: number | undefined;
}

/** `options` with the arguments of the class, which are needed where its constructor needs some. */
export type WithConstructorArgs<C extends abstract new (...args: any) => unknown, O> =
  ConstructorParameters<C> extends infer A
    ? [] extends A
      ? [options?: O & { constructorArgs?: Readonly<A> | undefined }]
      : [options: O & { constructorArgs: Readonly<A> }]
    : never;

const POOL_STRATEGY = {
  of: "ActorPoolStrategy",
  otherNames: { max_tasks_in_flight_per_actor: "it is maxTasksInFlightPerActor" },
  options: {
    size: count({ min: 1 }, undefined),
    minSize: count({ min: 1 }, undefined),
    maxSize: number("a whole number from 1, or Infinity, is needed", undefined, isSize),
    initialSize: count({ min: 1 }, undefined),
    maxTasksInFlightPerActor: count({ min: 1 }, undefined),
  },
};

function isSize(value: number): boolean {
  return value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && value >= 1);
}

/**
 * How many actors a class runs in: a fixed number, or between two.
 *
 * @example
 * texts.mapBatches(Embed, { compute: new ActorPoolStrategy({ minSize: 1, maxSize: 4 }) });
 */
export class ActorPoolStrategy {
  readonly minSize: number;
  /** Undefined: as many as there are CPUs. */
  readonly maxSize: number | undefined;
  readonly initialSize: number;
  readonly maxTasksInFlightPerActor: number | undefined;

  /** @throws TypeError for an unknown option, for `size` beside others and for a value of a wrong type, RangeError for one out of range */
  constructor(
    options: {
      size?: number | undefined;
      minSize?: number | undefined;
      maxSize?: number | undefined;
      initialSize?: number | undefined;
      maxTasksInFlightPerActor?: number | undefined;
    } = {},
  ) {
    const { size, minSize, maxSize, initialSize, maxTasksInFlightPerActor } = readOptions(options, POOL_STRATEGY);
    if (size !== undefined && (minSize ?? maxSize ?? initialSize) !== undefined)
      throw new TypeError("Cannot make ActorPoolStrategy: it takes size, or minSize, maxSize and initialSize, and not both");
    this.minSize = size ?? minSize ?? 1;
    this.maxSize = size ?? maxSize;
    this.initialSize = initialSize ?? this.minSize;
    this.maxTasksInFlightPerActor = maxTasksInFlightPerActor;
    requireSizes("ActorPoolStrategy", this);
  }
}

function requireSizes(of: string, { minSize, maxSize = Number.POSITIVE_INFINITY, initialSize }: ActorPoolStrategy): void {
  if (minSize <= initialSize && initialSize <= maxSize) return;
  throw new RangeError(
    `Cannot call ${of}: the initial size is from the smallest to the largest: received ${minSize}, ${initialSize} and ${maxSize}`,
  );
}

/** The split options of a method. `options` are those of tasks; a pool's are in `compute`. */
export interface ReadOptions {
  readonly compute: Compute | undefined;
  readonly options: TaskOptions<1>;
}

/**
 * Where a transform runs, by the options that its method was given.
 *
 * @throws TypeError, RangeError for options that the core, or the pool, would refuse
 */
export function readCompute(transform: Transform, given: TransformOptions | ActorTransformOptions): ReadOptions {
  const method = methodOf(transform);
  const isPool = transform.kind === "pythonBatches" ? transform.code.kind === "class" : "fn" in transform && isClass(transform.fn);
  if (!isPool) return readTasks(method, given as TransformOptions);
  refuseMisspelt(method, given, isActorOption);
  return readPool(method, given);
}

/** The method that users call. */
function methodOf({ kind }: Transform): string {
  if (kind === "pythonBatches") return "mapBatches";
  return kind === "sink" ? "writeDatasink" : kind;
}

/** Options of transforms that are none of tasks and actors. */
const OWN_OPTIONS = [
  "onError",
  "batchSize",
  "batchFormat",
  "concurrency",
  "compute",
  "constructorArgs",
  "fnArgs",
  "fnKwargs",
  "constructorKwargs",
];

/** The core refuses every other name, but knows no option of transforms that could have been meant. */
function refuseMisspelt(method: string, given: object, isCores: (name: string) => boolean): void {
  for (const name of Object.keys(given)) {
    if (OWN_OPTIONS.includes(name) || isCores(name)) continue;
    const near = nearNames(name, OWN_OPTIONS);
    if (near.length > 0)
      throw new TypeError(
        `Cannot set options of ${method}: there is no option ${JSON.stringify(name)}: did you mean ${near.join(" or ")}?`,
      );
  }
}

/**
 * Checks the options of a step that always runs in tasks.
 *
 * @throws TypeError, RangeError for options that the core would refuse
 */
export function readTasks(
  method: string,
  { concurrency, ...options }: TransformOptions,
): { readonly compute: TaskLimit | undefined; readonly options: TaskOptions<1> } {
  refuseMisspelt(method, options, isTaskOption);
  for (const name of ["compute", "constructorArgs"])
    if ((options as Record<string, unknown>)[name] !== undefined)
      throw new TypeError(`Cannot call ${method}: it takes ${name} with a class: received a function, which runs in tasks`);
  // Checked where the user wrote them and not when the dataset is consumed.
  remote(() => {}, options);
  const read = readOptions({ concurrency }, { of: method, options: { concurrency: count({ min: 1 }, undefined) } });
  return { compute: read.concurrency === undefined ? undefined : { kind: "tasks", concurrency: read.concurrency }, options };
}

const POOL = {
  concurrency: custom<number | PoolSize | undefined>("a whole number from 1, or { min, max, initial }, is needed", undefined, (value) =>
    isPlainObject(value) || (Number.isSafeInteger(value) && (value as number) >= 1) ? "ok" : "wrong type",
  ),
  compute: custom<ActorPoolStrategy | undefined>("an ActorPoolStrategy is needed", undefined, (value) =>
    value instanceof ActorPoolStrategy ? "ok" : "wrong type",
  ),
  constructorArgs: custom<readonly unknown[]>("an array is needed", [], (value) => (Array.isArray(value) ? "ok" : "wrong type")),
};

/** Options of actors that a pool has no use for: its actors have no name and one method. */
const NOT_OF_POOLS = [
  "name",
  "namespace",
  "getIfExists",
  "lifetime",
  "concurrencyGroups",
  "methods",
  "maxPendingCalls",
  "allowOutOfOrderExecution",
];

function readPool(method: string, given: ActorTransformOptions & { constructorArgs?: readonly unknown[] }): ReadOptions {
  const {
    concurrency,
    compute,
    constructorArgs,
    retryOn,
    retryDelayMs,
    timeoutMs,
    numCpus = 1,
    maxRestarts,
    maxTaskRetries,
    ...others
  } = given;
  for (const name of NOT_OF_POOLS)
    if (Object.hasOwn(others, name)) throw new TypeError(`Cannot call ${method} of a class: it takes no option ${name}`);
  const read = readOptions({ concurrency, compute, constructorArgs }, { of: method, options: POOL });
  if (concurrency !== undefined && compute !== undefined)
    throw new TypeError(`Cannot call ${method}: it takes concurrency or compute, and not both`);
  // The pool replaces actors itself. Blocks that are lost with a node are made again where their actor lives.
  const callOptions = {
    ...present({ retryOn, retryDelayMs, timeoutMs }),
    maxTaskRetries: maxTaskRetries ?? (retryOn === undefined ? -1 : ERROR_RETRIES),
  };
  remote(ChainActor, { ...others, numCpus, ...present({ maxRestarts, maxTaskRetries }), methods: { run: callOptions } });
  const size = read.compute ?? sizeOf(method, read.concurrency);
  return {
    options: {},
    compute: {
      kind: "actors",
      min: size.minSize,
      max: size.maxSize === Number.POSITIVE_INFINITY ? undefined : size.maxSize,
      initial: size.initialSize,
      tasksInFlightMax: size.maxTasksInFlightPerActor ?? CALLS_PER_ACTOR * (others.maxConcurrency ?? 1),
      numCpus,
      constructorArgs: read.constructorArgs,
      maxRestarts,
      maxTaskRetries,
      actorOptions: others,
      callOptions,
    },
  };
}

function sizeOf(method: string, concurrency: number | PoolSize | undefined): ActorPoolStrategy {
  if (concurrency === undefined) return new ActorPoolStrategy();
  if (typeof concurrency === "number") return new ActorPoolStrategy({ size: concurrency });
  const sizes = {
    min: count({ min: 1 }, 1),
    max: number("a whole number from 1, or Infinity, is needed", undefined, isSize),
    initial: count({ min: 1 }, undefined),
  };
  const { min, max, initial } = readOptions(concurrency, { of: `concurrency of ${method}`, options: sizes });
  return new ActorPoolStrategy({ minSize: min, maxSize: max, initialSize: initial });
}

/** The entries that are set. */
function present<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>;
}
