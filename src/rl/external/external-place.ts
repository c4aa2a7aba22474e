/** The environment that stands for an external one where its spaces are needed. Nobody here can step it. */
import type { Env, ResetResult, StepResult } from "../environments/env.ts";
import { EnvironmentError } from "../errors.ts";
import type { Space, SpaceJson } from "../spaces/space.ts";
import { spaceFromJson } from "../spaces/space-json.ts";

export class ExternalPlace implements Env {
  readonly observationSpace: Space;
  readonly actionSpace: Space;

  constructor({ spaces }: { readonly spaces: { readonly observation: SpaceJson; readonly action: SpaceJson } }) {
    this.observationSpace = spaceFromJson(spaces.observation);
    this.actionSpace = spaceFromJson(spaces.action);
  }

  reset(): ResetResult {
    throw this.#foreign("reset");
  }

  step(): StepResult {
    throw this.#foreign("step");
  }

  #foreign(call: string): EnvironmentError {
    return new EnvironmentError(
      `Cannot ${call} an external environment: its clients play by themselves. Train an algorithm with it, and evaluate in the client, or in an environment of this process`,
    );
  }
}
