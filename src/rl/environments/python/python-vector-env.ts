/**
 * Several environments of Python behind the interface of vector environments: one actor of Python steps them all.
 *
 * An iteration of the environment is one call: actions there, columns back, those of 64 KB and more through shared memory. The actor starts with the first reset and belongs to its runner, with which it ends.
 * An exception of Python becomes an `EnvironmentError` with the traceback; the death of the process an `EnvironmentDiedError`, after which a runner is replaced.
 */
import { EnvironmentError } from "../../errors.ts";
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
import { PythonProcess } from "./python-process.ts";
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

const ACTOR = { file: "shoal._rl_environments", actor: "VectorEnvActor" };

async function opened(
  spec: PythonSpec,
  places: Places,
): Promise<{ process: PythonProcess<PythonActor>; spaces: NonNullable<PythonSpec["spaces"]> }> {
  const { name, context, isChecked, envConfig } = places;
  const process = new PythonProcess<PythonActor>(spec, name, ACTOR);
  try {
    const spaces = await process.call("construct", (handle) =>
      handle.open.remote(context.numEnvs ?? 1, context.autoresetMode ?? "nextStep", isChecked, envConfig),
    );
    return { process, spaces };
  } catch (error) {
    await process.end();
    throw error;
  }
}

/** Asks an environment of Python for its spaces. @throws EnvironmentError where it cannot be made */
export async function withSpaces(spec: PythonSpec, { name, envConfig }: { name: string; envConfig: object }): Promise<PythonSpec> {
  if (spec.spaces !== undefined) return spec;
  const { process, spaces } = await opened(spec, { name, envConfig, context: { numEnvs: 1 }, isChecked: true });
  try {
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
  #process: PythonProcess<PythonActor> | undefined;

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
    this.#process ??= (await opened(this.#spec, this.#places)).process;
    const { seed, options: given, mask } = options;
    const which = mask === undefined ? null : Array.from(mask.entries()).flatMap(([index, flag]) => (flag === 0 ? [] : [index]));
    const { observations, infos } = await this.#process.call("reset", (handle) => handle.reset.remote(seed ?? null, given ?? null, which));
    return { observations, infos: this.#infosOf(infos) };
  }

  async step(actions: ColumnData): Promise<VectorStepResult> {
    if (this.#process === undefined) throw new EnvironmentError(`Cannot step ${this.#places.name}: it was not reset. Reset it first`);
    const { infos, ...step } = await this.#process.call("step", (handle) => handle.step.remote(actions));
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
