/**
 * The user's object in a replica: makes it from its deployment's code and calls its methods by name.
 *
 * Decides which names are methods (own and inherited functions, never those of `Object.prototype`), which method `handle.remote()` without a name calls, and which
 * hooks the object has: `fetch`, `websocket`, `checkHealth`, `reconfigure`, a dispose method.
 */
import { describeValue, isClass, type PythonCode } from "../../core/internal.ts";
import type { MetricSnapshot } from "../../metrics/registry.ts";

export type AnyFunction = (...args: unknown[]) => unknown;

/** A class, a function or an ASGI application of Python; the digest is empty if its files are unknown. */
export interface DeployedPython extends PythonCode {
  readonly digest: string;
}

/** Code of a deployment: a class or a function, or the place of one in Python, and the arguments of the constructor. */
export interface DeploymentCode {
  readonly target: AnyFunction | (new (...args: never[]) => object) | DeployedPython;
  readonly args: readonly unknown[];
}

export interface ClientMethods {
  readonly fetch: string;
  readonly websocket: string;
}

const CLIENT_METHODS: ClientMethods = { fetch: "fetch(request)", websocket: "websocket(socket, request)" };

/** The user's code as the replica calls it, in this process (`UserObject`) or in Python (`PythonObject`). */
export interface UserCode {
  /** The methods by which an ingress answers clients, as its language names them. */
  readonly clientMethods: ClientMethods;
  readonly fetch: AnyFunction | undefined;
  readonly websocket: AnyFunction | undefined;
  /** @throws TypeError where there is no such method */
  method(name: string): AnyFunction;
  /** A method whose answer is read as a stream. */
  stream(name: string): AnyFunction;
  /** A method by the first of these names that there is; undefined where there is none, or it cannot read a stream. */
  grpcMethod(names: readonly string[], how: { readonly streamsIn: boolean; readonly streamsOut: boolean }): AnyFunction | undefined;
  checkHealth(): Promise<void>;
  reconfigure(userConfig: unknown): Promise<void>;
  /** The replica has another rank, or its deployment another number of replicas. */
  setRank(rank: number, worldSize: number): Promise<void>;
  /** Metrics of another process in which the code runs; those of this process are the replica's. */
  metrics(): Promise<readonly MetricSnapshot[]>;
  dispose(): Promise<void>;
}

/** Called where a handle names no method: a function deployment itself, or one of these. */
const DEFAULT_METHODS = ["call", "fetch"];

export class UserObject implements UserCode {
  readonly clientMethods = CLIENT_METHODS;
  readonly #name: string;
  readonly #isFunction: boolean;
  readonly #object: object;
  readonly #methods = new Map<string, AnyFunction>();

  /** @throws the constructor's error */
  constructor(name: string, { target, args }: { target: AnyFunction | (new (...args: never[]) => object); args: readonly unknown[] }) {
    this.#name = name;
    this.#isFunction = !isClass(target as AnyFunction);
    this.#object = this.#isFunction ? target : new (target as new (...given: unknown[]) => object)(...args);
  }

  /** `fetch` of an ingress, or undefined where it has none. */
  get fetch(): AnyFunction | undefined {
    return this.#isFunction ? this.#bound("") : this.find("fetch");
  }

  /** `websocket` of an ingress, or undefined where it has none. */
  get websocket(): AnyFunction | undefined {
    return this.find("websocket");
  }

  /** @throws TypeError where there is no such method */
  method(name: string): AnyFunction {
    const found = name === "" ? this.#default() : this.find(name);
    if (found !== undefined) return found;
    const wanted = name === "" ? `method without a name (${DEFAULT_METHODS.join(" or ")})` : `method ${JSON.stringify(name.slice(0, 100))}`;
    throw new TypeError(`Cannot call deployment ${this.#name}: it has no ${wanted}`);
  }

  stream(name: string): AnyFunction {
    return this.method(name);
  }

  grpcMethod(names: readonly string[]): AnyFunction | undefined {
    for (const name of names) {
      const found = this.find(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  find(name: string): AnyFunction | undefined {
    const known = this.#methods.get(name);
    if (known !== undefined) return known;
    if (name === "constructor" || name === "__proto__" || name in Object.prototype || this.#isFunction) return undefined;
    const value = (this.#object as Record<string, unknown>)[name];
    return typeof value === "function" ? this.#bound(name) : undefined;
  }

  async checkHealth(): Promise<void> {
    await this.find("checkHealth")?.();
  }

  /** @throws TypeError where the object takes no configuration */
  async reconfigure(userConfig: unknown): Promise<void> {
    const reconfigure = this.find("reconfigure");
    if (reconfigure === undefined)
      throw new TypeError(
        `Cannot set userConfig of deployment ${this.#name}: its class has no method reconfigure: received ${describeValue(userConfig)}`,
      );
    await reconfigure(userConfig);
  }

  /** The replica's context, which this process shares, shows it already. */
  async setRank(): Promise<void> {}

  async metrics(): Promise<readonly MetricSnapshot[]> {
    return [];
  }

  async dispose(): Promise<void> {
    const object = this.#object as { [Symbol.asyncDispose]?: () => unknown; [Symbol.dispose]?: () => unknown; dispose?: () => unknown };
    if (this.#isFunction) return;
    await (object[Symbol.asyncDispose] ?? object[Symbol.dispose] ?? object.dispose)?.call(object);
  }

  #default(): AnyFunction | undefined {
    if (this.#isFunction) return this.#bound("");
    for (const name of DEFAULT_METHODS) {
      const found = this.find(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #bound(name: string): AnyFunction {
    const known = this.#methods.get(name);
    if (known !== undefined) return known;
    const object = this.#object;
    const bound: AnyFunction = this.#isFunction
      ? (...args) => (object as AnyFunction)(...args)
      : (...args) => Reflect.apply((object as Record<string, AnyFunction>)[name] as AnyFunction, object, args);
    this.#methods.set(name, bound);
    return bound;
  }
}
