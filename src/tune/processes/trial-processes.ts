/**
 * Where trials run: the port that the experiment drives them through, and the pool of actors behind it.
 *
 * An actor is leased to one trial at a time. Pooled actors are kept for trials of the same resources. If others are needed, idle ones end
 * first, so that the pool never occupies resources that the next trial waits for. An actor whose process has died, or whose trial does not
 * leave when it is told to, is not used again.
 */
import {
  type ActorHandle,
  type ActorOptions,
  kill,
  type ObjectRef,
  type PlacementGroup,
  placementGroup,
  put,
  ready,
  remote,
  terminate,
} from "../../core/index.ts";
import { nameUnsent } from "../../core/internal.ts";
import { IDLE_ACTOR_MS, LEAVE_WITHIN_MS } from "../limits.ts";
import type { TrainableParts } from "../trainable.ts";
import type { TrialResources } from "../trials/trial.ts";
import { TrialActor } from "./trial-actor.ts";
import type { FirstEvent, ProcessAnswer, ProcessEvent, TrialSpec } from "./trial-protocol.ts";

/** The driver's handle of an attempt of a trial. */
export interface TrialProcess {
  /**
   * Resolves once the process has resources and runs. A trainer, which asks for its workers' resources itself, is ready at once. Rejects if
   * it cannot be made.
   */
  ready(): Promise<void>;
  begin(spec: TrialSpec): Promise<FirstEvent>;
  next(answer: ProcessAnswer): Promise<ProcessEvent>;
  /** Kills the process in any state: `begin` or `next` rejects. Does nothing once it is free. */
  kill(): void;
  /** The trial has ended or left by itself. Its process may run another. */
  free(): Promise<void>;
}

/** Gives trials their processes. */
export interface TrialProcesses {
  /** @throws SerializationError where the trainable cannot be sent */
  lease(resources: TrialResources): Promise<TrialProcess>;
  /** Ends all of them. */
  close(): Promise<void>;
}

interface PooledActor {
  readonly key: string;
  readonly handle: ActorHandle<TrialActor>;
  readonly group: PlacementGroup | undefined;
  idleTimer?: NodeJS.Timeout;
}

/** Makes the actor for a trial. The actor for Python has methods of the same names as `TrialActor`. */
type ActorMaker = (options: Omit<ActorOptions, "methods">) => ActorHandle<TrialActor>;

/** Copies an event's checkpoint to its staging place, if the process has not done so. `index` counts the trial's checkpoints. */
type Staging = (event: ProcessEvent, spec: TrialSpec, index: number) => Promise<ProcessEvent>;

interface ActorProcessesOptions {
  readonly make: ActorMaker;
  readonly isReusing: boolean;
  /** Whether an idle actor may have an instance of a class, which is cleaned up before the actor ends. */
  readonly hasInstances: boolean;
  readonly close?: () => void;
  readonly staging?: Staging;
  readonly onProblem: (text: string) => void;
}

export class ActorProcesses implements TrialProcesses {
  readonly #make: ActorMaker;
  readonly #isReusing: boolean;
  readonly #hasInstances: boolean;
  readonly #idle = new Map<string, PooledActor[]>();
  readonly #all = new Set<PooledActor>();
  /** Actors on their way to their end. */
  readonly #ending = new Set<Promise<void>>();
  #isClosed = false;
  readonly #close: () => void;
  readonly #staging: Staging | undefined;
  readonly #onProblem: (text: string) => void;

  constructor({ make, isReusing, hasInstances, close = () => {}, staging, onProblem }: ActorProcessesOptions) {
    this.#make = make;
    this.#isReusing = isReusing;
    this.#hasInstances = hasInstances;
    this.#close = close;
    this.#staging = staging;
    this.#onProblem = onProblem;
  }

  async lease(resources: TrialResources): Promise<TrialProcess> {
    const key = JSON.stringify(resources);
    const idle = this.#idle.get(key)?.pop();
    if (idle !== undefined) {
      clearTimeout(idle.idleTimer);
      return this.#process(idle);
    }
    await this.#endIdle();
    // An actor that is made after `close` would never be ended.
    if (this.#isClosed) throw new Error("Cannot lease an actor: the experiment has ended");
    const actor = this.#create(key, resources);
    this.#all.add(actor);
    return this.#process(actor);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const idle = new Set(this.#hasInstances ? [...this.#idle.values()].flat() : []);
    this.#idle.clear();
    for (const actor of this.#all) void this.#end(actor, { isGentle: idle.has(actor) });
    await Promise.all(this.#ending);
    this.#close();
  }

  #create(key: string, resources: TrialResources): PooledActor {
    const [first = {}] = resources.bundles;
    const { CPU: numCpus = 0, GPU: numGpus = 0, memory: memoryBytes = 0, ...others } = first;
    const amounts = { numCpus, numGpus, memoryBytes, resources: others };
    if (resources.bundles.length === 1) return { key, handle: this.#make(amounts), group: undefined };
    const group = placementGroup(resources.bundles, { strategy: resources.strategy });
    const handle = this.#make({ ...amounts, schedulingStrategy: { placementGroup: group, bundleIndex: 0, captureChildTasks: true } });
    return { key, handle, group };
  }

  #process(actor: PooledActor): TrialProcess {
    const { handle } = actor;
    /** Killed or freed: the actor is not this trial's any more. */
    let isOver = false;
    let given: TrialSpec | undefined;
    let nextCheckpoint = 0;
    const staged = async (event: ProcessEvent): Promise<ProcessEvent> => {
      if (this.#staging === undefined || given === undefined) return event;
      const whole = await this.#staging(event, given, nextCheckpoint);
      if (whole.type !== "ended" && whole.checkpoint !== undefined) nextCheckpoint += 1;
      return whole;
    };
    return {
      ready: async () => await ready(handle),
      begin: async (spec) => {
        given = spec;
        nextCheckpoint = spec.nextCheckpoint;
        let first = await handle.begin.remote(spec);
        if ("cleanupFailure" in first) {
          this.#onProblem(first.cleanupFailure);
          first = await handle.begin.remote(spec);
        }
        const { process, savesWhenAsked, ...event } = first as FirstEvent;
        return { ...(await staged(event)), process, savesWhenAsked };
      },
      next: async (answer) => await staged(await handle.next.remote(answer)),
      kill: () => {
        if (isOver) return;
        isOver = true;
        void this.#end(actor, { isGentle: false });
      },
      free: async () => {
        if (isOver) return;
        isOver = true;
        if (!this.#isReusing) return await this.#end(actor, { isGentle: true });
        this.#keep(actor);
      },
    };
  }

  #keep(actor: PooledActor): void {
    const others = this.#idle.get(actor.key);
    if (others === undefined) this.#idle.set(actor.key, [actor]);
    else others.push(actor);
    actor.idleTimer = setTimeout(() => {
      this.#idle.set(
        actor.key,
        (this.#idle.get(actor.key) ?? []).filter((other) => other !== actor),
      );
      void this.#end(actor, { isGentle: true });
    }, IDLE_ACTOR_MS);
    actor.idleTimer.unref();
  }

  /** Ends all idle actors: the next trial needs the resources that they occupy. */
  async #endIdle(): Promise<void> {
    const idle = [...this.#idle.values()].flat();
    this.#idle.clear();
    await Promise.all(idle.map((actor) => this.#end(actor, { isGentle: true })));
  }

  async #end(actor: PooledActor, how: { isGentle: boolean }): Promise<void> {
    clearTimeout(actor.idleTimer);
    if (!this.#all.delete(actor)) return;
    const ending = this.#finish(actor, how).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    await ending;
  }

  async #finish(actor: PooledActor, { isGentle }: { isGentle: boolean }): Promise<void> {
    try {
      if (isGentle) {
        const failure = await actor.handle.cleanUp.options({ timeoutMs: LEAVE_WITHIN_MS }).remote();
        // Python sends null for none.
        if (typeof failure === "string") this.#onProblem(failure);
        await terminate(actor.handle);
      } else await kill(actor.handle);
    } catch {
      await kill(actor.handle).catch(() => {});
    }
    // A session that has ended has no groups any more.
    await actor.group?.remove().catch(() => {});
  }
}

/** Settings of a pool. */
export interface PoolOptions {
  readonly isReusing: boolean;
  readonly onProblem: (text: string) => void;
}

/** The pool for functions and classes of TypeScript. The trainable and its parameters are stored once. */
export function typescriptProcesses({ body, parameters }: TrainableParts, { isReusing, onProblem }: PoolOptions): ActorProcesses {
  if (body.kind !== "function" && body.kind !== "class") throw new TypeError(`A trainable of the kind ${body.kind} runs elsewhere`);
  const trainable: ObjectRef<unknown> = putNamed("the trainable", body.kind === "function" ? body.fn : body.type);
  const names = Object.keys(parameters ?? {});
  const values = names.map((name) => putNamed(`the parameter ${name}`, (parameters as Record<string, unknown>)[name]));
  const actorClass = remote(TrialActor);
  return new ActorProcesses({
    isReusing,
    onProblem,
    hasInstances: body.kind === "class",
    make: (options) => actorClass.options(options).remote(trainable as never, names, ...values),
    close: () => {
      for (const ref of [trainable, ...values]) ref[Symbol.dispose]();
    },
  });
}

/** @throws SerializationError that names the value that cannot be sent */
function putNamed(name: string, value: unknown): ObjectRef<unknown> {
  try {
    return put(value);
  } catch (error) {
    throw nameUnsent(error, () => name);
  }
}
