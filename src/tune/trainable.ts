/**
 * Trainables: functions and classes, those of Python, and trainers, with the resources and parameters that wrap them.
 *
 * `readTrainable` takes the trainable apart that a user gave to `new Tuner`.
 * `withResources` and `withParameters` wrap a trainable. Nothing here runs it.
 */
import { describeValue, isClass, isPlainObject, pythonCodeOf, type PythonCode } from "../core/internal.ts";
import { isTrainableSource, type RunDefinition, TRAINABLE, type TrainableResources, type TrainableSource } from "../runs/trainable.ts";
import { PlacementGroupFactory } from "./processes/placement-group-factory.ts";
import type { SearchSpace } from "./spaces/space.ts";
import type { Config, TrialResources } from "./trials/trial.ts";
import type { TrainableClass, TrainFunction } from "./processes/trial-loop.ts";

/** Resources of a trial: CPUs and GPUs, custom ones by name, or several bundles. */
export interface TrialResourceOptions {
  /** CPUs of a trial. Default: 1. */
  numCpus?: number | undefined;
  /** GPUs of a trial. Default: 0. */
  numGpus?: number | undefined;
  /** The spelling of Ray for `numCpus` and `numGpus`, in both cases. */
  cpu?: number | undefined;
  gpu?: number | undefined;
  CPU?: number | undefined;
  GPU?: number | undefined;
  /** Memory in bytes. Default: none reserved. */
  memoryBytes?: number | undefined;
  /** Custom resources by name. */
  resources?: Readonly<Record<string, number>> | undefined;
}

export type ResourceRequest = TrialResourceOptions | PlacementGroupFactory;

/** A trainable as given, with its wrapping. */
export interface TrainableParts {
  readonly name: string;
  readonly body:
    | { readonly kind: "function"; readonly fn: TrainFunction }
    | { readonly kind: "class"; readonly type: TrainableClass }
    | { readonly kind: "python"; readonly code: PythonCode }
    | { readonly kind: "definition"; readonly definition: RunDefinition };
  /** By name; each is stored once, and read by all trials. */
  readonly parameters: Readonly<Record<string, unknown>> | undefined;
  /** @throws errors of a user's function of the configuration */
  readonly resourcesOf: (config: Config) => TrialResources;
  /** Domains that the trainable brings along; those of `paramSpace` are added. */
  readonly space?: SearchSpace | undefined;
}

const WRAPPED = Symbol("shoal.tune.wrapped");

interface Wrapping {
  readonly inner: unknown;
  readonly resources?: ResourceRequest | ((config: never) => ResourceRequest);
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** Wraps a trainable with resources or parameters. To the compiler the result has the inner type. */
function wrap<T>(inner: T, wrapping: Omit<Wrapping, "inner">): T {
  return { [WRAPPED]: { inner, ...wrapping } } as T;
}

/**
 * Gives the trials of a trainable resources: an object, bundles, or a function of the configuration that gives one of them.
 *
 * @example
 * new Tuner(withResources(train, { numCpus: 2 }), { paramSpace });
 * new Tuner(withResources(train, (config) => ({ numCpus: config.width > 100 ? 4 : 1 })), { paramSpace });
 */
export function withResources<T>(trainable: T, resources: ResourceRequest | ((config: ConfigOf<T>) => ResourceRequest)): T {
  if (typeof resources !== "function") toTrialResources(resources);
  return wrap(trainable, { resources });
}

/** The configuration that a trainable takes. */
export type ConfigOf<T> = T extends (config: infer C, ...rest: never[]) => unknown
  ? C
  : T extends new () => { setup(config: infer C, ...rest: never[]): unknown }
    ? C
    : Record<string, unknown>;

/**
 * Gives the trials of a function or class large values: each is stored once, and all trials read it from shared memory. They are the second argument of the function, or of `setup`.
 *
 * @example
 * const trainable = withParameters(async (config: { lr: number }, { data }: { data: Float64Array }) => ({ loss: fit(data, config.lr) }), { data });
 */
export function withParameters<C, P extends Record<string, unknown>, R>(
  trainable: (config: C, parameters: P) => R,
  parameters: NoInfer<P>,
): (config: C) => R;
export function withParameters<C, P extends Record<string, unknown>, I extends { setup(config: C, parameters: P): unknown }>(
  trainable: new () => I,
  parameters: NoInfer<P>,
): new () => Omit<I, "setup"> & { setup(config: C): unknown };
export function withParameters(trainable: unknown, parameters: Record<string, unknown>): unknown {
  if (!isPlainObject(parameters))
    throw new TypeError(`Cannot add parameters: an object such as { data } is needed: received ${describeValue(parameters)}`);
  return wrap(trainable, { parameters });
}

/** @throws TypeError for a value that cannot be tuned */
export function readTrainable(given: unknown): TrainableParts {
  let inner = given;
  let resources: Wrapping["resources"];
  let parameters: Wrapping["parameters"];
  while (typeof inner === "object" && inner !== null && WRAPPED in inner) {
    const wrapping = (inner as { [WRAPPED]: Wrapping })[WRAPPED];
    // The outermost wins.
    resources ??= wrapping.resources;
    if (wrapping.parameters !== undefined) parameters = { ...wrapping.parameters, ...parameters };
    inner = wrapping.inner;
  }
  if (isTrainableSource(inner)) return fromSource(inner, { parameters, resources });
  const body = bodyOf(inner);
  if (parameters !== undefined && body.kind !== "function" && body.kind !== "class") throw noParameters(nameOf(inner, body));
  return { name: nameOf(inner, body), body, parameters, resourcesOf: resourcesOf(body, resources, inner) };
}

/** A trainer, or a configuration of another library. */
function fromSource(
  source: TrainableSource,
  { parameters, resources }: Pick<Partial<TrainableParts>, "parameters"> & { resources: Wrapping["resources"] },
): TrainableParts {
  const definition = source[TRAINABLE]();
  const { name } = definition;
  if (parameters !== undefined) throw noParameters(name);
  const own = (config: Config): TrialResources => withStrategy(definition.resources(config));
  const given = resources === undefined ? own : requested(resources);
  if (!("trainable" in definition)) return { name, body: { kind: "definition", definition }, parameters: undefined, resourcesOf: given };
  const { trainable: type, space } = definition;
  return { name, body: { kind: "class", type }, parameters: definition.parameters, resourcesOf: given, space };
}

function noParameters(name: string): TypeError {
  return new TypeError(`Cannot add parameters to ${name}: withParameters is for functions and classes of TypeScript`);
}

function withStrategy({ bundles, strategy = "PACK" }: TrainableResources): TrialResources {
  return { bundles, strategy };
}

function bodyOf(given: unknown): TrainableParts["body"] {
  const code = pythonCodeOf(given);
  if (code !== undefined) return { kind: "python", code: withKnownOptions(code) };
  if (typeof given !== "function")
    throw new TypeError(
      `Cannot make a Tuner: a function, a class with step(), python.task(...), python.actor(...), a trainer or a configuration of shoal/rl is needed: received ${describeValue(given)}`,
    );
  if (!isClass(given as never)) return { kind: "function", fn: given as TrainFunction };
  if (typeof (given as { prototype: { step?: unknown } }).prototype.step !== "function")
    throw new TypeError(`Cannot make a Tuner: the class ${given.name || "without a name"} has no method step()`);
  return { kind: "class", type: given as TrainableClass };
}

const SPELLINGS: Readonly<Record<string, string>> = { cpu: "numCpus", CPU: "numCpus", gpu: "numGpus", GPU: "numGpus" };
const RESOURCE_OPTIONS: readonly string[] = ["numCpus", "numGpus", "memoryBytes", "resources"];

/** Options of `python.actor` that mean something for trials. */
const TRIAL_OPTIONS: readonly string[] = [...RESOURCE_OPTIONS, "runtimeEnv", "labelSelector"];

/** Actors of a class are Tune's to name, to restart and to call. */
function withKnownOptions(code: PythonCode): PythonCode {
  const other = code.kind === "class" && Object.keys(code.options).find((name) => !TRIAL_OPTIONS.includes(name));
  if (typeof other === "string")
    throw new TypeError(
      `Cannot tune the class ${code.name} of Python: its option ${other} is for actors, not for trials: there are ${TRIAL_OPTIONS.join(", ")}`,
    );
  return code;
}

function nameOf(given: unknown, body: TrainableParts["body"]): string {
  if (body.kind === "python") return body.code.name;
  const { name } = given as { name: string };
  return name === "" ? "trainable" : name;
}

function resourcesOf(body: TrainableParts["body"], request: Wrapping["resources"], given: unknown): (config: Config) => TrialResources {
  if (request !== undefined) return requested(request);
  // As Ray's `default_resource_request`.
  const { defaultResourceRequest } = given as { defaultResourceRequest?: (config: Config) => ResourceRequest };
  if (body.kind === "class" && typeof defaultResourceRequest === "function")
    return (config) => toTrialResources(defaultResourceRequest.call(given, config));
  const fixed = toTrialResources(body.kind === "python" ? pythonResources(body.code.options) : {});
  return () => fixed;
}

function requested(request: NonNullable<Wrapping["resources"]>): (config: Config) => TrialResources {
  if (typeof request === "function") return (config) => toTrialResources(request(config as never));
  const fixed = toTrialResources(request);
  return () => fixed;
}

function pythonResources(options: object): TrialResourceOptions {
  const { numCpus, numGpus, memoryBytes, resources } = options as TrialResourceOptions;
  return { numCpus, numGpus, memoryBytes, resources };
}

/** @throws TypeError for unknown names, and for two spellings of one */
function withOneSpelling(request: object): Pick<TrialResourceOptions, "numCpus" | "numGpus" | "memoryBytes" | "resources"> {
  const read: Record<string, unknown> = {};
  for (const [given, value] of Object.entries(request)) {
    const name = Object.hasOwn(SPELLINGS, given) ? (SPELLINGS[given] as string) : given;
    if (!RESOURCE_OPTIONS.includes(name))
      throw new TypeError(
        `Cannot give a trial resources: there is no option ${JSON.stringify(given)}: there are ${RESOURCE_OPTIONS.join(", ")}; others go into resources: { ${given}: 1 }`,
      );
    if (value === undefined) continue;
    if (name in read)
      throw new TypeError(`Cannot give a trial resources: ${name} has two spellings: received ${Object.keys(request).join(", ")}`);
    read[name] = value;
  }
  return read;
}

function toTrialResources(request: ResourceRequest): TrialResources {
  if (request instanceof PlacementGroupFactory) return { bundles: request.bundles, strategy: request.strategy };
  if (!isPlainObject(request))
    throw new TypeError(
      `Cannot give a trial resources: an object such as { numCpus: 2 } or a PlacementGroupFactory is needed: received ${describeValue(request)}`,
    );
  const { numCpus = 1, numGpus = 0, memoryBytes = 0, resources = {} } = withOneSpelling(request);
  const bundle: Record<string, number> = {};
  for (const [name, amount] of Object.entries({ CPU: numCpus, GPU: numGpus, memory: memoryBytes, ...resources })) {
    if (typeof amount !== "number" || !(amount >= 0) || !Number.isFinite(amount))
      throw new RangeError(`Cannot give a trial resources: ${name} must be a number from 0: received ${describeValue(amount)}`);
    if (amount > 0) bundle[name] = amount;
  }
  return { bundles: [bundle], strategy: "PACK" };
}
