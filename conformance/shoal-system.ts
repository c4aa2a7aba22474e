/**
 * Shoal behind the operations of `system.ts`: an ordinary program on the public interface.
 *
 * Refs, handles, streams and groups are kept under numbers, as the other side has to keep them too, so that a scenario cannot hold what only one side has.
 */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import {
  type ActorHandle,
  cancel,
  get,
  getActor,
  getObjectLocations,
  init,
  kill,
  nodes,
  type ObjectRef,
  type ObjectRefGenerator,
  type PlacementGroup,
  placementGroup,
  put,
  remote,
  ShoalError,
  shutdown,
  TaskError,
  availableResources,
  clusterResources,
  wait,
} from "shoal";
import { runSteps, type Step } from "./data-steps.ts";
import { classes, functions, generators } from "./library.ts";
import { programs } from "./programs.ts";
import { Handle, type Outcome, Ref, type Settings, type Strategy, type System } from "./system.ts";

export interface SystemSettings {
  readonly numCpus: number;
  readonly numGpus: number;
  readonly resources: Readonly<Record<string, number>>;
  readonly folder: string;
}

type AnyRemote = { options(o: object): AnyRemote; remote(...args: unknown[]): unknown };
type AnyHandle = Readonly<Record<string, AnyRemote>>;

/** Classes of the user's errors, by which `retryOn` names them; revived errors carry the name. */
function errorClass(name: string): new () => Error {
  const named = { [name]: class extends Error {} }[name] as new () => Error;
  return named;
}

export class ShoalSystem implements System {
  readonly folder: string;
  readonly #kept = new Map<number, unknown>();
  #next = 1;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async start(settings: SystemSettings): Promise<ShoalSystem> {
    const { folder, ...resources } = settings;
    await init({ ...resources, namespace: "conformance", logToDriver: false });
    return new ShoalSystem(folder);
  }

  async task(name: string, args: readonly unknown[] = [], settings: Settings = {}): Promise<Ref> {
    return this.#ref(this.#remote(name, settings).remote(...this.#decoded(args)));
  }

  async tasks(name: string, args: readonly unknown[], settings: Settings): Promise<Ref[]> {
    const refs = this.#remote(name, settings).remote(...this.#decoded(args)) as unknown[];
    return refs.map((ref) => this.#ref(ref));
  }

  get(ref: Ref, options: { timeoutMs?: number } = {}): Promise<Outcome> {
    return this.#outcome(() => get(this.#of(ref), options));
  }

  getAll(refs: readonly Ref[], options: { timeoutMs?: number } = {}): Promise<Outcome> {
    return this.#outcome(() =>
      get(
        refs.map((ref) => this.#of(ref)),
        options,
      ),
    );
  }

  async put(value: unknown): Promise<Ref> {
    return this.#ref(put(this.#decode(value)));
  }

  wait(refs: readonly Ref[], options: { numReturns: number; timeoutMs?: number }): Promise<Outcome> {
    const given = refs.map((ref) => this.#of(ref));
    return this.#outcome(async () => {
      const parts = await wait(given, options);
      return parts.map((part) => part.map((ref) => given.indexOf(ref)));
    });
  }

  locations(refs: readonly Ref[]): Promise<Outcome> {
    const given = refs.map((ref) => this.#of(ref));
    return this.#outcome(async () => {
      const found = await getObjectLocations(given);
      return given.map((ref) => {
        const { nodeIds, sizeBytes = 0, didSpill } = found.get(ref) ?? { nodeIds: [], didSpill: false };
        return [nodeIds.length, sizeBytes > 100_000, didSpill];
      });
    });
  }

  cancel(ref: Ref, options: { force?: boolean; recursive?: boolean } = {}): Promise<Outcome> {
    return this.#outcome(async () => {
      cancel(this.#of(ref), options);
      return null;
    });
  }

  async actor(name: string, args: readonly unknown[] = [], settings: Settings = {}): Promise<Handle> {
    const actorClass = remote(classes[name] as new () => object) as unknown as AnyRemote;
    return this.#handle(actorClass.options(this.#options(settings)).remote(...this.#decoded(args)));
  }

  async call(actor: Handle, method: string, args: readonly unknown[] = [], settings: Settings = {}): Promise<Ref> {
    return this.#ref(this.#method(actor, method, settings).remote(...this.#decoded(args)));
  }

  tryCall(actor: Handle, method: string, args: readonly unknown[] = []): Promise<Outcome> {
    return this.#outcome(async () => [this.#method(actor, method, {}).remote(...this.#decoded(args))]).then((outcome) =>
      "value" in outcome ? { value: (outcome.value as unknown[])[0] } : outcome,
    );
  }

  getActor(name: string, options: { namespace?: string } = {}): Promise<Outcome> {
    return this.#outcome(async () => this.#handle(await getActor<object>(name, options)));
  }

  async kill(actor: Handle, options: { noRestart?: boolean } = {}): Promise<void> {
    await kill(this.#kept.get(actor.handle) as ActorHandle<object>, options);
  }

  async stream(target: string | { actor: Handle; method: string }, args: readonly unknown[] = []): Promise<Handle> {
    const callee = typeof target === "string" ? this.#remote(target, {}) : this.#method(target.actor, target.method, {});
    const generator = callee.remote(...this.#decoded(args)) as ObjectRefGenerator<unknown>;
    return this.#handle(generator[Symbol.asyncIterator]());
  }

  next(stream: Handle): Promise<Outcome> {
    return this.#outcome(async () => {
      const item = await (this.#kept.get(stream.handle) as AsyncIterator<unknown>).next();
      if (item.done === true) throw new End();
      return item.value;
    });
  }

  async placementGroup(bundles: readonly Record<string, number>[], strategy: Strategy): Promise<Handle> {
    return this.#handle(placementGroup([...bundles], { strategy }));
  }

  groupReady(group: Handle, options: { timeoutMs: number }): Promise<Outcome> {
    return this.#outcome(async () => {
      await (this.#kept.get(group.handle) as PlacementGroup).ready(options);
      return true;
    });
  }

  async removeGroup(group: Handle): Promise<void> {
    await (this.#kept.get(group.handle) as PlacementGroup).remove();
  }

  async resources(which: "cluster" | "available"): Promise<Record<string, number>> {
    return which === "cluster" ? await clusterResources() : await availableResources();
  }

  async nodeCount(): Promise<number> {
    return (await nodes()).length;
  }

  program(name: string): Promise<Outcome> {
    return this.#outcome(programs[name] as () => Promise<unknown>);
  }

  async dataset(steps: readonly Step[]): Promise<Outcome> {
    try {
      return { value: await runSteps(steps, mkdtempSync(join(this.folder, "data-"))) };
    } catch (error) {
      // Other kinds of errors differ from side to side; only the fact of an error is compared.
      for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
        if (cause.name === "AppError") return { error: "AppError", message: cause.message };
      return { error: "error" };
    }
  }

  /** Lets go of a scenario's objects and actors. */
  async forget(): Promise<void> {
    for (const kept of this.#kept.values()) (kept as Partial<Disposable>)[Symbol.dispose]?.();
    this.#kept.clear();
  }

  async close(): Promise<void> {
    await shutdown();
  }

  #remote(name: string, { maxCalls, ...settings }: Settings): AnyRemote {
    const ofFunction = maxCalls === undefined ? {} : { maxCalls };
    const task = remote((functions[name] ?? generators[name]) as () => unknown, ofFunction) as unknown as AnyRemote;
    return Object.keys(settings).length === 0 ? task : task.options(this.#options(settings));
  }

  #method(actor: Handle, name: string, settings: Settings): AnyRemote {
    const method = (this.#kept.get(actor.handle) as AnyHandle)[name] as AnyRemote;
    return Object.keys(settings).length === 0 ? method : method.options(this.#options(settings));
  }

  #options(settings: Settings): object {
    const { retryOn, envVars, placementGroup: group, bundleIndex, schedulingStrategy, ...same } = settings;
    const nodeStrategy =
      typeof schedulingStrategy === "object" ? { nodeId: "ab".repeat(16), soft: schedulingStrategy.soft } : schedulingStrategy;
    return {
      ...same,
      ...(retryOn === undefined ? {} : { retryOn: typeof retryOn === "boolean" ? retryOn : retryOn.map(errorClass) }),
      ...(envVars === undefined ? {} : { runtimeEnv: { envVars } }),
      ...(nodeStrategy === undefined ? {} : { schedulingStrategy: nodeStrategy }),
      ...(group === undefined
        ? {}
        : { schedulingStrategy: { placementGroup: this.#kept.get(group.handle), bundleIndex: bundleIndex ?? -1 } }),
    };
  }

  async #outcome(work: () => Promise<unknown>): Promise<Outcome> {
    try {
      return { value: this.#encode(await work()) };
    } catch (error) {
      return outcomeOf(error);
    }
  }

  #of(ref: Ref): ObjectRef<unknown> {
    return this.#kept.get(ref.ref) as ObjectRef<unknown>;
  }

  #ref(ref: unknown): Ref {
    return new Ref(this.#keep(ref));
  }

  #handle(handle: unknown): Handle {
    return new Handle(this.#keep(handle));
  }

  #keep(value: unknown): number {
    const number = this.#next;
    this.#next += 1;
    this.#kept.set(number, value);
    return number;
  }

  #decoded(args: readonly unknown[]): unknown[] {
    return args.map((value) => this.#decode(value));
  }

  #decode(value: unknown): unknown {
    if (value instanceof Ref) return this.#kept.get(value.ref);
    if (value instanceof Handle) return this.#kept.get(value.handle);
    return Array.isArray(value) ? value.map((inner) => this.#decode(inner)) : value;
  }

  #encode(value: unknown): unknown {
    if (value instanceof Handle) return value;
    if (value instanceof Uint8Array) return value.length;
    if (Array.isArray(value)) return value.map((inner) => this.#encode(inner));
    const isRef = typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
    return isRef ? this.#ref(value) : (value ?? null);
  }
}

class End extends Error {}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof End) return { error: "End" };
  if (error instanceof TaskError) {
    const cause = error.cause instanceof TaskError ? error.cause.cause : error.cause;
    const name = cause instanceof Error ? cause.name : typeof cause;
    const isUsers = name === "AppError" || name === "OtherError";
    return { error: "TaskError", cause: name, message: isUsers ? (cause as Error).message : undefined };
  }
  if (error instanceof ShoalError) return { error: error.constructor.name };
  if (error instanceof TypeError || error instanceof RangeError) return { error: "BadArgument" };
  throw error;
}
