/**
 * Checks of users' vector environments: the lengths of all columns and the rewards in every step, observations in the first ones.
 *
 * A column that is too short would be read as `undefined`, which becomes NaN on its way to the network, without an error. Errors name the class, the method and the field.
 */
import { describeValue } from "../../core/internal.ts";
import { EnvironmentError } from "../errors.ts";
import { CHECKED_STEPS_MAX } from "../limits.ts";
import { columnLayout } from "../spaces/columns.ts";
import { checkObservation } from "./check-env.ts";
import type { VectorEnv, VectorResetResult, VectorStepResult } from "./env.ts";

const hasLength = (value: unknown, length: number): boolean =>
  (Array.isArray(value) || ArrayBuffer.isView(value)) && (value as ArrayLike<unknown> & object).length === length;

export class VectorChecks {
  readonly #env: VectorEnv;
  readonly #name: string;
  #checksLeft = CHECKED_STEPS_MAX;

  constructor(env: VectorEnv, name: string) {
    this.#env = env;
    this.#name = name;
  }

  /** @throws EnvironmentError */
  reset(result: VectorResetResult): void {
    this.#checkColumns("reset", result);
  }

  /** @throws EnvironmentError */
  step(result: VectorStepResult): void {
    this.#checkColumns("step", result);
    const { numEnvs } = this.#env;
    for (const field of ["rewards", "terminateds", "truncateds"] as const)
      if (!hasLength(result[field], numEnvs)) throw this.#misuse("step", `${field}, ${numEnvs} numbers`, result[field]);
    for (let index = 0; index < numEnvs; index += 1)
      if (!Number.isFinite(result.rewards[index])) throw this.#misuse("step", `finite rewards`, result.rewards[index]);
  }

  #checkColumns(method: "reset" | "step", result: VectorResetResult): void {
    const { numEnvs, observationSpace } = this.#env;
    const { observations, infos } = (result ?? {}) as Partial<VectorResetResult>;
    const layout = columnLayout(observationSpace);
    const length = numEnvs * (layout.size ?? 1);
    if (observations === undefined || !hasLength(observations, length))
      throw this.#misuse(method, `observations, a column of the length ${length}`, observations);
    if (!Array.isArray(infos) || infos.length !== numEnvs) throw this.#misuse(method, `infos, a list of ${numEnvs} objects`, infos);
    if (this.#checksLeft <= 0) return;
    this.#checksLeft -= 1;
    for (let index = 0; index < numEnvs; index += 1)
      checkObservation(layout.read(observations, index), observationSpace, `${this.#name}: an observation of ${method}()`);
  }

  #misuse(method: string, wanted: string, received: unknown): EnvironmentError {
    return new EnvironmentError(`Cannot use ${this.#name}: ${method}() returns ${wanted}: received ${describeValue(received)}`);
  }
}
