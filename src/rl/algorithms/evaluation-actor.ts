/**
 * The process of an evaluation runner: copies of the modules that play episodes.
 *
 * Each call brings the weights and the knowledge of connectors. The environments are made for a call and closed behind it, so nothing of one evaluation reaches the next.
 * `playShare` does the same in the algorithm's process, with its own modules.
 */
import type { RunnerCallbackSource } from "../callbacks/runner-callbacks.ts";
import type { EnvSpec } from "../environments/registry.ts";
import { type BuiltModule, buildModule, type ModuleSpec } from "../modules/module-spec.ts";
import { DEFAULT_MODULE_ID, type ModuleRecipe, moduleSeed, type PolicyTable } from "../modules/policy-mapping.ts";
import type { Weights } from "../runners/env-runner.ts";
import { type Played, playEpisodes, type Share } from "./play-episodes.ts";
import { playGames } from "./play-games.ts";

/** Everything of an evaluation that stays the same. */
export interface EvaluationBase {
  readonly env: EnvSpec;
  readonly isChecked: boolean;
  readonly seed: number;
  readonly recipes: Readonly<Record<string, ModuleRecipe>>;
  readonly policies: PolicyTable | undefined;
  readonly module: ModuleSpec;
  readonly callbacks: RunnerCallbackSource | undefined;
  /** Whether the episodes are wanted for `output`. */
  readonly isRecorded?: boolean | undefined;
}

/** Parts of an evaluation that may differ each time. */
export interface EvaluationWays {
  readonly envConfig: object;
  readonly explore: boolean;
}

/** The knowledge of an algorithm at the time of an evaluation. */
export interface EvaluatedState {
  readonly weights: Weights;
  /** By module: the states of connectors. */
  readonly connectors: Readonly<Record<string, readonly unknown[]>>;
}

export class EvaluationActor {
  #spec: EvaluationBase;
  #built: ReadonlyMap<string, BuiltModule>;

  constructor(spec: EvaluationBase) {
    this.#spec = spec;
    this.#built = modulesOf(spec);
  }

  /** Evaluates other policies from now on. Each call brings their weights. */
  setSpec(spec: EvaluationBase): void {
    this.#spec = spec;
    this.#built = modulesOf(spec);
  }

  async play({ weights, connectors }: EvaluatedState, share: Share, ways: EvaluationWays): Promise<Played> {
    for (const [id, { module, encoder }] of this.#built) {
      module.parameters.data.set(weights[id] as Float32Array);
      encoder.setStates(connectors[id] ?? []);
    }
    return await playShare({ ...this.#spec, ...ways }, this.#built, { share, signal: undefined });
  }
}

function modulesOf({ recipes, seed }: EvaluationBase): ReadonlyMap<string, BuiltModule> {
  return new Map(Object.entries(recipes).map(([id, { spec, ...spaces }]) => [id, buildModule(spec, spaces, moduleSeed(seed, id))]));
}

/** Plays a share with modules that have their weights. */
export async function playShare(
  spec: EvaluationBase & EvaluationWays,
  built: ReadonlyMap<string, BuiltModule>,
  { share, signal }: { share: Share; signal: AbortSignal | undefined },
): Promise<Played> {
  const { policies } = spec;
  if (policies !== undefined) return await playGames({ ...spec, policies, built, share, signal });
  return await playEpisodes({ ...spec, built: built.get(DEFAULT_MODULE_ID) as BuiltModule, share, signal });
}
