/**
 * Several environments of Python behind the interface of vector environments: one actor of Python steps them all.
 *
 * An iteration of the environment is one call: actions there, columns back, those of 64 KB and more through shared memory. The actor starts with the first reset and belongs to its runner, with which it ends.
 * An exception of Python becomes an `EnvironmentError` with the traceback; the death of the process an `EnvironmentDiedError`, after which a runner is replaced.
 */
import { ActorDiedError, type ActorHandle, ActorUnavailableError, kill, TaskError, terminate } from "../../../core/index.ts";
import { messageOf } from "../../../core/internal.ts";
import { python } from "../../../python/python.ts";
import { EnvironmentDiedError, EnvironmentError } from "../../errors.ts";
import { LEAVE_WITHIN_MS } from "../../limits.ts";
import type { ColumnData } from "../../spaces/columns.ts";
import type { Space, SpaceJson } from "../../spaces/space.ts";
import { spaceFromJson } from "../../spaces/space-json.ts";
import {
  type AutoresetMode,
  type Info,
  NO_INFO,
  type VectorContext,
  type VectorEnv,
  type VectorResetOptions,
  type VectorResetResult,
  type VectorStepResult,
} from "../env.ts";
import type { PythonSpec } from "./python-source.ts";

interface ResetAnswer {
  readonly observations: ColumnData;
  readonly infos: readonly (readonly [index: number, info: Info])[];
}

interface StepAnswer extends ResetAnswer {
  readonly rewards: Float64Array;
  readonly terminateds: Uint8Array;
  readonly truncateds: Uint8Array;
}

interface PythonActor {
  open(count: number, mode: AutoresetMode, isChecked: boolean, envConfig: object): NonNullable<PythonSpec["spaces"]>;
  reset(seed: number | null, options: Info | null, which: readonly number[] | null): ResetAnswer;
  step(actions: ColumnData): StepAnswer;
  close(): void;
}

interface Places {
  readonly name: string;
  readonly envConfig: object;
  readonly context: VectorContext;
  readonly isChecked: boolean;
}

/** The calls of one actor, whose errors name the environment. */
class PythonProcess {
  readonly #handle: ActorHandle<PythonActor>;
  readonly #name: string;

  constructor({ recipe, runtimeEnv }: PythonSpec, name: string) {
    const actorClass = python.actor<PythonActor, [recipe: object]>("shoal._rl_environments", "VectorEnvActor", {
      numCpus: 0,
      ...(runtimeEnv === undefined ? {} : { runtimeEnv }),
    });
    this.#handle = actorClass.remote(recipe);
    this.#name = name;
  }

  async open(places: Places): Promise<NonNullable<PythonSpec["spaces"]>> {
    const { context, isChecked, envConfig } = places;
    return await this.#call("construct", () =>
      this.#handle.open.remote(context.numEnvs ?? 1, context.autoresetMode ?? "nextStep", isChecked, envConfig),
    );
  }

  async reset({ seed, options, mask }: VectorResetOptions): Promise<ResetAnswer> {
    const which = mask === undefined ? null : Array.from(mask.entries()).flatMap(([index, flag]) => (flag === 0 ? [] : [index]));
    return await this.#call("reset", () => this.#handle.reset.remote(seed ?? null, options ?? null, which));
  }

  async step(actions: ColumnData): Promise<StepAnswer> {
    return await this.#call("step", () => this.#handle.step.remote(actions));
  }

  async #call<R>(what: string, run: () => PromiseLike<R>): Promise<R> {
    try {
      return await run();
    } catch (error) {
      if ([ActorDiedError, ActorUnavailableError].some((type) => error instanceof type))
        throw new EnvironmentDiedError(`Cannot ${what} ${this.#name}: its Python process ended: ${messageOf(error)}`, { cause: error });
      const thrown = error instanceof TaskError ? (error.cause ?? error) : error;
      throw new EnvironmentError(`Cannot ${what} ${this.#name}: it threw ${messageOf(thrown)}`, { cause: thrown });
    }
  }

  async end(): Promise<void> {
    try {
      await this.#handle.close.options({ timeoutMs: LEAVE_WITHIN_MS }).remote();
      await terminate(this.#handle);
    } catch {
      await kill(this.#handle).catch(() => {});
    }
  }
}

/** Asks an environment of Python for its spaces. @throws EnvironmentError where it cannot be made */
export async function withSpaces(spec: PythonSpec, { name, envConfig }: { name: string; envConfig: object }): Promise<PythonSpec> {
  if (spec.spaces !== undefined) return spec;
  const process = new PythonProcess(spec, name);
  try {
    const spaces = await process.open({ name, envConfig, context: { numEnvs: 1 }, isChecked: true });
    for (const space of Object.values<SpaceJson>(spaces)) void spaceFromJson(space);
    return { ...spec, spaces };
  } finally {
    await process.end();
  }
}

export class PythonVectorEnv implements VectorEnv {
  readonly numEnvs: number;
  readonly autoresetMode: AutoresetMode;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly #spec: PythonSpec;
  readonly #places: Places;
  #process: PythonProcess | undefined;

  /** @param spec - with its spaces */
  constructor(spec: PythonSpec, places: Places) {
    const { spaces } = spec;
    if (spaces === undefined)
      throw new EnvironmentError(`Cannot make ${places.name}: its spaces are unknown. Make it with makeVectorEnv()`);
    this.#spec = spec;
    this.#places = places;
    this.numEnvs = places.context.numEnvs ?? 1;
    this.autoresetMode = places.context.autoresetMode ?? "nextStep";
    this.observationSpace = spaceFromJson(spaces.observation);
    this.actionSpace = spaceFromJson(spaces.action);
  }

  async reset(options: VectorResetOptions = {}): Promise<VectorResetResult> {
    if (this.#process === undefined) {
      const process = new PythonProcess(this.#spec, this.#places.name);
      this.#process = process;
      await process.open(this.#places);
    }
    const { observations, infos } = await this.#process.reset(options);
    return { observations, infos: this.#infosOf(infos) };
  }

  async step(actions: ColumnData): Promise<VectorStepResult> {
    if (this.#process === undefined) throw new EnvironmentError(`Cannot step ${this.#places.name}: it was not reset. Reset it first`);
    const { infos, ...step } = await this.#process.step(actions);
    return { ...step, infos: this.#infosOf(infos) };
  }

  #infosOf(given: ResetAnswer["infos"]): Info[] {
    const infos = Array.from({ length: this.numEnvs }, () => NO_INFO);
    for (const [index, info] of given) infos[index] = info;
    return infos;
  }

  async close(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    await process?.end();
  }
}
