/**
 * Deployments: a class or a function with its replicas' options, and `bind`, which makes an application.
 *
 * Everything is checked here, before anything starts. A deployment is a description: it holds no resource and can be bound any number of times.
 * `build/application-graph.ts` and `run.ts` turn applications into running ones.
 */
import type { ActorClass } from "../../core/index.ts";
import { describeValue, isClass, type PythonCode, pythonCodeOf } from "../../core/internal.ts";
import type { HandleArg, HandleOf } from "../handle/handle-types.ts";
import type { DeploymentConfig } from "./deployment-config.ts";
import { type DeploymentFunctions, type DeploymentOptions, resolveDeploymentOptions } from "./deployment-options.ts";

type AnyClass = new (...args: any) => object;
type AnyFunction = (...args: any) => any;
/** A class or a function that can be deployed. */
export type Deployable = AnyClass | AnyFunction;

/** The argument that `bind` takes for a parameter: for a handle, a bound deployment. */
type BindArg<P> = P extends { readonly remote: unknown; readonly options: unknown }
  ? BoundAs<P> | P
  : P extends readonly (infer H extends { readonly remote: unknown; readonly options: unknown })[]
    ? readonly (BoundAs<H> | H)[]
    : HandleArg<P>;
/** An application whose deployment has the handle `H`, or one of a type that does not tell. */
interface BoundAs<H> {
  readonly _handle?: H;
}
type BindArgs<A extends readonly unknown[]> = { [K in keyof A]: BindArg<A[K]> };
type ParametersOf<T> = T extends AnyClass ? ConstructorParameters<T> : [];

let partsOf: <T extends Deployable>(application: Application<T>) => ApplicationParts;

/** @internal */
interface ApplicationParts {
  readonly deployment: Deployment;
  readonly args: readonly unknown[];
}

/** A deployment with its constructor's arguments. `serve.run` runs it, and other deployments can be bound to it. */
export class Application<T extends Deployable = Deployable> {
  readonly #parts: ApplicationParts;
  declare readonly _target?: T;
  declare readonly _handle?: Deployable extends T ? any : HandleOf<T>;

  static {
    partsOf = <U extends Deployable>(application: Application<U>): ApplicationParts => application.#parts;
  }

  /** @internal made by `bind` */
  constructor(parts: ApplicationParts) {
    this.#parts = parts;
  }
}

export function applicationParts(application: Application<any>): ApplicationParts {
  return partsOf(application);
}

/** A class or function with options. */
export class Deployment<T extends Deployable = Deployable> {
  /** The class or function itself; where it is Python's, what `python.actor` or `python.task` gave. */
  readonly target: T;
  /** @internal where Python has the class or function */
  readonly python: PythonCode | undefined;
  readonly config: DeploymentConfig;
  /** @internal those that run elsewhere than in replicas */
  readonly functions: DeploymentFunctions;
  readonly #given: DeploymentOptions;

  /** @internal made by `deployment` */
  constructor(target: T, given: DeploymentOptions) {
    this.target = target;
    this.#given = given;
    this.python = pythonCodeOf(target);
    const { config, functions } = resolveDeploymentOptions(this.python?.name ?? target.name, withPythonOptions(this.python, given));
    this.config = config;
    this.functions = functions;
  }

  get name(): string {
    return this.config.name;
  }

  /** Makes an application. Bound deployments among the arguments arrive as handles. */
  bind(...args: BindArgs<ParametersOf<T>>): Application<T> {
    const isPlain = this.python === undefined ? !isClass(this.target as AnyFunction) : this.python.kind === "function";
    if (isPlain && args.length > 0)
      throw new TypeError(
        `Cannot bind deployment ${this.name}: it is a function, which has no constructor: received ${describeValue(args)}`,
      );
    return new Application<T>({ deployment: this, args });
  }

  /** A copy with other options; those that are not named stay. @throws TypeError, RangeError that name the option */
  options(options: DeploymentOptions): Deployment<T> {
    return new Deployment(this.target, { ...this.#given, ...options });
  }
}

/** Options of `python.actor` that are the replicas' own; `methods` says which methods are generators. */
const PYTHON_ACTOR_OPTIONS = ["numCpus", "numGpus", "memoryBytes", "resources", "runtimeEnv", "labelSelector", "fallbackStrategy"];

/** Resources and environment that Python code was named with, unless the deployment says otherwise. @throws TypeError for options that Serve sets */
function withPythonOptions(python: PythonCode | undefined, given: DeploymentOptions): DeploymentOptions {
  if (python === undefined) return given;
  const named = Object.entries(python.options).filter(([name, value]) => name !== "methods" && value !== undefined);
  for (const [name] of named)
    if (!PYTHON_ACTOR_OPTIONS.includes(name))
      throw new TypeError(
        `Cannot make a deployment of ${python.name} in ${python.place}: Serve sets ${name} itself: there are ${PYTHON_ACTOR_OPTIONS.join(", ")} and methods`,
      );
  return named.length === 0 ? given : { ...given, actorOptions: { ...Object.fromEntries(named), ...given.actorOptions } };
}

/**
 * Makes a deployment of a class or a function, of TypeScript or, by `python.actor`, of Python.
 *
 * @throws TypeError for any other target, for an unknown option or a value of a wrong type; RangeError for a value out of range
 * @example
 * class Greeter {
 *   #greeting: string;
 *   constructor(greeting: string) { this.#greeting = greeting; }
 *   fetch(request: Request) { return new Response(`${this.#greeting}, ${request.headers.get("user-agent")}`); }
 * }
 * const handle = await serve.run(serve.deployment(Greeter, { numReplicas: 2 }).bind("Hello"));
 */
export function deployment<C extends AnyClass>(target: ActorClass<C>, options?: DeploymentOptions): Deployment<C>;
export function deployment<T extends Deployable>(target: T, options?: DeploymentOptions): Deployment<T>;
export function deployment<T extends Deployable>(target: T, options: DeploymentOptions = {}): Deployment<T> {
  if (typeof target !== "function")
    throw new TypeError(`Cannot make a deployment: a class or a function is needed: received ${describeValue(target)}`);
  return new Deployment(target, options);
}

/** The handle of a deployment `D`, of a class or of a function: `constructor(model: serve.Handle<typeof Model>)`. */
export type Handle<D> = D extends Deployment<infer T> ? HandleOf<T> : D extends Application<infer T> ? HandleOf<T> : HandleOf<D>;
