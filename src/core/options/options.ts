/**
 * The options of tasks, actors, methods and `init`: a table each, with allowed values and defaults.
 *
 * Each `resolve` function checks the user's options and returns every value, frozen, with the shape of the resources computed once. `given` keeps only the set values:
 * `.options()` adds to them, and they travel with a remote function. `remote` and `init` call these functions. `operation-options.ts` has the options of `get`, `wait`
 * and other single operations.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { outOfRange, wrongType } from "../../runtime/base/fault.ts";
import { STREAMING } from "../../runtime/wire/messages.ts";
import { resolveRuntimeEnv, type RuntimeEnvInput, type RuntimeEnvSpec } from "../../runtime/environment/runtime-env.ts";
import { BYTES_AHEAD_MAX, ITEMS_AHEAD_MAX } from "../limits.ts";
import { environmentOf, RUNTIME_ENV, withRuntimeEnvOfEnvironment } from "./environment-options.ts";
import {
  amount,
  bytes,
  checkedOptions,
  count,
  custom,
  customResources,
  faultOf,
  flag,
  fraction,
  isPlainObject,
  itemCount,
  milliseconds,
  number,
  type OptionSet,
  type TableOf,
  oneOf,
  returnCount,
  text,
  timeLimit,
  type Verdict,
  type WithDefaults,
  withDefaults,
} from "./option-kinds.ts";
import { SIGNAL } from "./operation-options.ts";
import { printWarning } from "../telemetry/output.ts";
import { FALLBACK_STRATEGY, GROUP_OPTION, LABEL_SELECTOR, LABELS, placedShape, SCHEDULING_STRATEGY } from "./scheduling-options.ts";
import type { ActorOptions, InitOptions, MethodOptions, RetryOn, TaskOptions } from "../types/types.ts";

/** Results are numbered and tracked one by one: more of them than this is an array that should be one result. */
const NUM_RETURNS_MAX = 1000;

const BUILT_IN_RESOURCES = { cpu: "numCpus", gpu: "numGpus", memory: "memoryBytes", object_store_memory: "memoryBytes" };
const BUILT_IN_INIT_RESOURCES = { cpu: "numCpus", gpu: "numGpus", object_store_memory: "objectStoreMemoryBytes" };

/** Ray's names where ours differ by more than the spelling, and what belongs elsewhere. */
const RAY_NAMES = {
  memory: "it is memoryBytes, in bytes",
  retry_exceptions: "it is retryOn",
};
const OF_ACTORS = "it is an option of actors";
const OF_TASKS = "it is an option of tasks";
const OF_TASK_WORKERS = "it is an option of tasks, whose workers are used again; an actor's process is its own, and ends with it";
const OF_METHODS = "it is an option of tasks, and of methods: methods: { name: { ... } }";

/** Options that tasks and actors share. */
const PLACED_OPTIONS = {
  numGpus: amount(0),
  memoryBytes: bytes({ min: 0 }, 0),
  resources: customResources(BUILT_IN_RESOURCES),
  schedulingStrategy: SCHEDULING_STRATEGY,
  placementGroup: GROUP_OPTION,
  labelSelector: LABEL_SELECTOR,
  fallbackStrategy: FALLBACK_STRATEGY,
  runtimeEnv: RUNTIME_ENV,
};

/** Options that calls of tasks and methods share. */
const CALL_OPTIONS = {
  numReturns: returnCount(NUM_RETURNS_MAX),
  highWaterMark: itemCount(),
  retryOn: custom<RetryOn>("true, false, an array of error classes, or a function of the error is needed", false, checkRetryOn),
  retryDelayMs: milliseconds(0),
  timeoutMs: timeLimit(),
  signal: SIGNAL,
  name: text(undefined),
};

const TASK = {
  of: "a task",
  otherNames: { ...RAY_NAMES, maxRestarts: OF_ACTORS, maxTaskRetries: OF_ACTORS, namespace: OF_ACTORS, getIfExists: OF_ACTORS },
  options: {
    numCpus: amount(1),
    ...PLACED_OPTIONS,
    ...CALL_OPTIONS,
    maxRetries: count({ min: -1 }, 3),
    maxCalls: count({ min: 0 }, 0),
  } satisfies TableOf<TaskOptions>,
};

/** Whether a name is that of an option of tasks, in another spelling too, or one that another system has for it. */
export function isTaskOption(name: string): boolean {
  return isOptionOf(TASK, name);
}

/** The same of actors. */
export function isActorOption(name: string): boolean {
  return isOptionOf(ACTOR, name);
}

function isOptionOf({ options, otherNames }: { options: object; otherNames: object }, name: string): boolean {
  const plain = name.replaceAll("_", "").toLowerCase();
  return Object.hasOwn(otherNames, name) || Object.keys(options).some((known) => known.toLowerCase() === plain);
}

const METHOD = {
  of: "an actor's method",
  otherNames: { ...RAY_NAMES, maxRetries: "it is maxTaskRetries", maxConcurrency: OF_ACTORS, maxCalls: OF_TASK_WORKERS },
  options: {
    ...CALL_OPTIONS,
    concurrencyGroup: text(undefined),
    // Without a value it is that of the actor.
    maxTaskRetries: count({ min: -1 }, undefined),
  } satisfies TableOf<MethodOptions>,
};

const ACTOR = {
  of: "an actor",
  otherNames: {
    ...RAY_NAMES,
    numReturns: "it is an option of the actor's methods",
    maxRetries: `${OF_TASKS}: for actors there are maxRestarts and maxTaskRetries`,
    retryOn: OF_METHODS,
    retryDelayMs: OF_METHODS,
    concurrencyGroup: OF_METHODS,
    maxCalls: OF_TASK_WORKERS,
  },
  options: {
    // Without a value an actor needs a CPU to be placed and holds none while it lives.
    numCpus: amount(undefined),
    ...PLACED_OPTIONS,
    name: text(undefined),
    namespace: text(undefined),
    getIfExists: flag(false),
    lifetime: oneOf(["detached", "non_detached"], "non_detached"),
    maxRestarts: count({ min: -1 }, 0),
    maxTaskRetries: count({ min: -1 }, 0),
    maxConcurrency: count({ min: 1 }, 1),
    concurrencyGroups: custom<Readonly<Record<string, number>>>(
      "an object of names and limits, such as { io: 2 }, is needed",
      {},
      checkGroups,
    ),
    methods: custom<Readonly<Record<string, MethodOptions>>>(
      'an object of methods and their options, such as { read: { concurrencyGroup: "io" } }, is needed',
      {},
      (value) => (isPlainObject(value) ? "ok" : "wrong type"),
    ),
    maxPendingCalls: number(
      "a whole number from 1 is needed (-1: without limit)",
      -1,
      (value) => value === -1 || (Number.isInteger(value) && value >= 1),
    ),
    allowOutOfOrderExecution: flag(false),
  } satisfies TableOf<ActorOptions>,
};

const INIT: OptionSet<ResolvedInitOptions> = {
  of: "init",
  otherNames: {
    object_store_memory: "it is objectStoreMemoryBytes",
    object_spilling_directory: "it is spillDirectory",
    local_mode: 'it is mode: "inProcess"',
  },
  options: {
    address: text(undefined),
    // The defaults of those without one depend on the machine; whoever starts the node finds them.
    numCpus: amount(undefined),
    numGpus: amount(undefined),
    labels: LABELS,
    resources: customResources(BUILT_IN_INIT_RESOURCES),
    objectStoreMemoryBytes: bytes({ min: 1 }, undefined),
    memoryUsageThreshold: fraction(0.95),
    taskOomRetries: count({ min: -1 }, -1),
    waitingProcessesPerCpu: count({ min: 0 }, 2),
    spillDirectory: text(undefined),
    namespace: text(undefined),
    runtimeEnv: RUNTIME_ENV,
    logToDriver: flag(true),
    mode: oneOf(["process", "inProcess"], "process"),
    checkCaptures: flag(true),
    ignoreReinitError: flag(false),
  } satisfies TableOf<InitOptions>,
};

/** Options of `init` that hold for a node and need its start. */
const OPTIONS_OF_NODES = [
  "numCpus",
  "numGpus",
  "labels",
  "resources",
  "objectStoreMemoryBytes",
  "memoryUsageThreshold",
  "waitingProcessesPerCpu",
  "spillDirectory",
] as const;

// ---------------------------------------------------------------------------------------------------------------------
// Tasks and methods

/** Limits on a stream's producer ahead of its consumer. */
export interface StreamLimits {
  readonly items: number;
  readonly bytes: number;
}

const DEFAULT_STREAM_LIMITS: StreamLimits = Object.freeze({ items: ITEMS_AHEAD_MAX, bytes: BYTES_AHEAD_MAX });

/** Retries of a failed call. */
export interface RetryPolicy {
  maxRetries: number;
  retryOn: boolean | readonly (new (...args: never[]) => Error)[] | ((error: unknown) => boolean);
  retryDelayMs: number;
}

/** Limits that end a call early. */
export interface CallLimits {
  readonly signal: AbortSignal | undefined;
  /** From the submission on. */
  readonly timeoutMs: number | undefined;
}

/** Resolved options that tasks, methods and actors share. */
export interface ResolvedOptions {
  readonly name: string | undefined;
  /** The key of the lease spec: calls with the same shape share leases. */
  readonly shape: string;
  /** Set if the options name a place, so that a parent's group does not capture the call. */
  readonly isPlaced?: true | undefined;
  /** Undefined: the inherited one. */
  readonly runtimeEnv?: RuntimeEnvSpec | undefined;
  /** Resources of an actor while it lives. `CPU` is present only if it was set, also to 0; otherwise placing the actor needs one CPU. */
  readonly resources: Record<string, number>;
  /** The user's own settings. */
  readonly given: Readonly<Record<string, unknown>>;
}

/** The resolved options of a call of a task or method. */
export interface ResolvedTaskOptions extends ResolvedOptions {
  /** `STREAMING` for a stream. */
  readonly numReturns: number;
  readonly stream: StreamLimits;
  readonly retry: RetryPolicy;
  /** How many calls of the function one worker takes; undefined for any number. */
  readonly maxCalls?: number | undefined;
  /** The concurrency group of a method; undefined: the default group. */
  readonly group?: string | undefined;
  /** Undefined: the call has neither a signal nor a time limit. */
  readonly limits: CallLimits | undefined;
}

/** @throws TypeError, RangeError */
export function resolveTaskOptions(
  options?: TaskOptions | Record<string, unknown>,
  base?: Pick<ResolvedOptions, "given">,
): ResolvedTaskOptions {
  const given = merged(base, checkedOptions(options, TASK));
  const values = withDefaults(given, TASK);
  const { name, maxRetries, retryOn, retryDelayMs } = values;
  const resources = resourceRecord(values);
  // Abstract classes are allowed to users: an error is an instance of one as well.
  const retry = Object.freeze({ maxRetries, retryOn: retryOn as RetryPolicy["retryOn"], retryDelayMs });
  return Object.freeze({
    ...returnsOf(values),
    name,
    ...placedShape(values, resources, "a task"),
    ...environmentOf(values),
    resources,
    retry,
    maxCalls: values.maxCalls === 0 ? undefined : values.maxCalls,
    limits: limitsAmong(values),
    given,
  });
}

/**
 * A method runs under the resources of its actor, so its shape is empty; `maxRetries` is the actor's `maxTaskRetries`.
 *
 * @throws TypeError, RangeError
 */
export function resolveMethodOptions(
  options?: MethodOptions | Record<string, unknown>,
  actor: { maxRetries?: number; base?: Pick<ResolvedOptions, "given"> | undefined } = {},
): ResolvedTaskOptions {
  const given = merged(actor.base, checkedOptions(options, METHOD));
  const values = withDefaults(given, METHOD);
  const { name, concurrencyGroup: group, maxTaskRetries, retryOn, retryDelayMs } = values;
  const maxRetries = maxTaskRetries ?? actor.maxRetries ?? 0;
  const retry = Object.freeze({ maxRetries, retryOn: retryOn as RetryPolicy["retryOn"], retryDelayMs });
  const resources = Object.freeze({}) as Record<string, number>;
  return Object.freeze({ ...returnsOf(values), name, shape: "", resources, retry, limits: limitsAmong(values), group, given });
}

/** Undefined for most calls: they have no limits. */
function limitsAmong(options: { signal: AbortSignal | undefined; timeoutMs: number | undefined }): CallLimits | undefined {
  const { signal, timeoutMs } = options;
  return signal === undefined && timeoutMs === undefined ? undefined : { signal, timeoutMs };
}

function returnsOf(values: { numReturns: number | "streaming"; highWaterMark: number | undefined }): {
  numReturns: number;
  stream: StreamLimits;
} {
  const { numReturns, highWaterMark } = values;
  return {
    numReturns: numReturns === "streaming" ? STREAMING : numReturns,
    stream: highWaterMark === undefined ? DEFAULT_STREAM_LIMITS : { items: highWaterMark, bytes: Number.POSITIVE_INFINITY },
  };
}

/**
 * The options of a function that is a native generator at its definition: it streams without an option, and its items cannot be split into
 * references.
 *
 * @throws TypeError
 */
export function generatorOptions<O extends object>(options: O, name: string): O {
  if (!isPlainObject(options)) return options;
  const given = options["numReturns"];
  if (given !== undefined && given !== 1 && given !== "streaming") {
    throw new TypeError(
      `Cannot set numReturns of ${name}: it is a generator, whose items are a stream: leave the option away: received ${describeValue(given)}`,
    );
  }
  return { ...options, numReturns: "streaming" };
}

function checkRetryOn(value: unknown): Verdict {
  if (typeof value === "boolean") return "ok";
  if (isErrorClass(value)) return wrongType(`a class goes into an array, [${value.name}]`);
  if (typeof value === "function") return "ok";
  if (!Array.isArray(value)) return "wrong type";
  const wrong = value.findIndex((item) => !isErrorClass(item));
  return wrong === -1 ? "ok" : wrongType(`item ${wrong} is not a class of errors`);
}

function isErrorClass(value: unknown): value is new () => Error {
  return typeof value === "function" && (value === Error || value.prototype instanceof Error);
}

// ---------------------------------------------------------------------------------------------------------------------
// Actors

export interface ResolvedActorOptions extends ResolvedOptions {
  /** Undefined: that of the session. */
  readonly namespace: string | undefined;
  readonly getIfExists: boolean;
  readonly isDetached: boolean;
  /** The placement group that it lives in. */
  readonly placementGroupId?: string | undefined;
  readonly maxRestarts: number;
  readonly maxTaskRetries: number;
  readonly maxConcurrency: number;
  /** Without the default group. */
  readonly concurrencyGroups: Readonly<Record<string, number>>;
  /** Checked, as far as that goes without the class. */
  readonly methods: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly maxPendingCalls: number;
  readonly allowOutOfOrderExecution: boolean;
}

/** @throws TypeError, RangeError */
export function resolveActorOptions(
  options?: ActorOptions | Record<string, unknown>,
  base?: Pick<ResolvedOptions, "given">,
): ResolvedActorOptions {
  const given = merged(base, checkedOptions(options, ACTOR));
  const values = withDefaults(given, ACTOR);
  const { name, namespace, getIfExists, lifetime, maxRestarts, maxTaskRetries, maxConcurrency, maxPendingCalls } = values;
  const isDetached = lifetime === "detached";
  if (getIfExists && name === undefined)
    throw new TypeError("Cannot set getIfExists of an actor: it needs the option name, by which the actor is found");
  const resources = resourceRecord(values);
  return Object.freeze({
    name,
    namespace,
    getIfExists,
    resources,
    isDetached,
    ...placedShape(values, resources, "an actor"),
    ...environmentOf(values),
    maxRestarts,
    maxTaskRetries,
    maxConcurrency,
    concurrencyGroups: Object.freeze({ ...values.concurrencyGroups }),
    methods: methodTable(values.methods),
    maxPendingCalls,
    allowOutOfOrderExecution: values.allowOutOfOrderExecution,
    given,
  });
}

/** The options that each method sets: resolved once here, so that a fault is reported where it is written. */
function methodTable(methods: Readonly<Record<string, MethodOptions | undefined>>): ResolvedActorOptions["methods"] {
  const table: Record<string, Readonly<Record<string, unknown>>> = {};
  for (const [name, options] of Object.entries(methods)) {
    if (options === undefined) continue;
    table[name] = Object.freeze(checkedOptions(options, { ...METHOD, of: `method ${name} of an actor` }));
  }
  return Object.freeze(table);
}

function checkGroups(value: unknown): Verdict {
  if (!isPlainObject(value)) return "wrong type";
  for (const [name, given] of Object.entries(value)) {
    if (name === "" || name === "default")
      return outOfRange('the limit of the group "default" is maxConcurrency, and others have names of their own');
    const fault = faultOf(count({ min: 1 }, 1), given);
    if (fault !== undefined) return { ...fault, reason: `for group ${name} ${fault.reason}` };
  }
  return "ok";
}

// ---------------------------------------------------------------------------------------------------------------------
// init

/** The code that starts the node or the session replaces undefined ones. */
export type ResolvedInitOptions = WithDefaults<
  InitOptions,
  "address" | "numCpus" | "numGpus" | "objectStoreMemoryBytes" | "spillDirectory" | "namespace" | "runtimeEnv"
>;

/**
 * A program that would start a node connects to a cluster instead where its environment says so. Its options for a node are then without
 * effect.
 */
function withAddressOfEnvironment(checked: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const address = process.env["SHOAL_ADDRESS"];
  if (address === undefined || address === "" || checked["address"] !== undefined || checked["mode"] === "inProcess") return checked;
  const ignored = OPTIONS_OF_NODES.filter((name) => checked[name] !== undefined);
  if (ignored.length > 0)
    printWarning(
      `SHOAL_ADDRESS connects to a node that runs already, so ${ignored.join(", ")} of init() ${ignored.length === 1 ? "is" : "are"} without effect.`,
    );
  return { ...checked, ...Object.fromEntries(ignored.map((name) => [name, undefined])), address };
}

/** Programs that are to find each other's actors share a namespace without being changed. */
function withNamespaceOfEnvironment(checked: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const namespace = process.env["SHOAL_NAMESPACE"];
  return namespace === undefined || namespace === "" || checked["namespace"] !== undefined ? checked : { ...checked, namespace };
}

/** @throws TypeError, RangeError */
export function resolveInitOptions(options?: InitOptions): ResolvedInitOptions {
  const given = checkedOptions(options, INIT);
  const checked = withRuntimeEnvOfEnvironment(withNamespaceOfEnvironment(withAddressOfEnvironment(given)));
  const ofNode = checked["address"] === undefined ? [] : OPTIONS_OF_NODES.filter((name) => checked[name] !== undefined);
  if (ofNode.length > 0) {
    const one = ofNode.length === 1 ? "it is an option" : "they are options";
    throw new TypeError(
      `Cannot start Shoal: address connects to a node that runs already: received ${ofNode.join(", ")}, but ${one} of \`shoal start\``,
    );
  }
  const values = withDefaults(checked, INIT);
  return Object.freeze({ ...values, resources: Object.freeze({ ...values.resources }) });
}

// ---------------------------------------------------------------------------------------------------------------------

function merged(base: Pick<ResolvedOptions, "given"> | undefined, set: Record<string, unknown>): Readonly<Record<string, unknown>> {
  // Paths are those of the process that named them.
  const environment = set["runtimeEnv"] === undefined ? {} : { runtimeEnv: resolveRuntimeEnv(set["runtimeEnv"] as RuntimeEnvInput) };
  return Object.freeze({ ...base?.given, ...set, ...environment });
}

/** All resources under the names by which nodes offer them; resources that are not asked for are absent. */
function resourceRecord(values: {
  numCpus: number | undefined;
  numGpus: number;
  memoryBytes: number;
  resources: Readonly<Record<string, number>>;
}): Record<string, number> {
  const { numCpus, numGpus, memoryBytes, resources } = values;
  return Object.freeze({
    ...resources,
    ...(numCpus === undefined ? {} : { CPU: numCpus }),
    ...(numGpus === 0 ? {} : { GPU: numGpus }),
    ...(memoryBytes === 0 ? {} : { memory: memoryBytes }),
  });
}
