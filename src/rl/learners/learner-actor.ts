/**
 * The process of one learner among several, behind the calls of a `LearnerGroup`.
 *
 * Each has all modules, learns from its shard, and shares gradients with the others by all-reduce, so the weights of all stay equal.
 * A learner that fails ends the group's operations; the group then starts all of them again.
 */
import { destroyCollectiveGroup, initCollectiveGroup } from "../../util/index.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import { type ModuleRecipe, moduleSeed } from "../modules/policy-mapping.ts";
import type { Fragment } from "../sequences/fragment.ts";
import type { LearnerClass, LearnerResult, LearnerState } from "./learner.ts";
import type { OnPolicyConfig, OnPolicyLearner } from "./on-policy-learner.ts";

export interface LearnerSpec {
  readonly recipes: Readonly<Record<string, ModuleRecipe>>;
  readonly configs: Readonly<Record<string, object>>;
  readonly learnerClass: LearnerClass;
  readonly seed: number;
}

/** The place of a learner in its group. */
interface LearnerPlace {
  readonly rank: number;
  readonly worldSize: number;
  readonly groupName: string;
}

/** Everything from which the learner of a module goes on. */
export interface ModuleLearning {
  readonly weights: Float32Array;
  readonly state: LearnerState;
}

/** The outcome of an update. */
export interface Learnt {
  readonly results: Readonly<Record<string, LearnerResult>>;
  /** Only from the first learner: all have the same. */
  readonly weights: Readonly<Record<string, Float32Array>>;
}

export class LearnerActor {
  readonly #learners = new Map<string, OnPolicyLearner>();
  readonly #place: LearnerPlace;

  constructor({ recipes, configs, learnerClass, seed: base }: LearnerSpec, place: LearnerPlace) {
    this.#place = place;
    for (const [moduleId, { spec, ...spaces }] of Object.entries(recipes)) {
      const seed = moduleSeed(base, moduleId);
      const buildTwin = (): BuiltModule => buildModule(spec, spaces, seed);
      const setup = { moduleId, built: buildTwin(), buildTwin, config: configs[moduleId] as OnPolicyConfig, seed };
      this.#learners.set(moduleId, new learnerClass(setup) as unknown as OnPolicyLearner);
    }
  }

  /** Meets the other learners. */
  async join(): Promise<void> {
    if (this.#place.worldSize === 1) return;
    const partners = await initCollectiveGroup(this.#place);
    for (const learner of this.#learners.values()) learner.partners = partners;
  }

  /** Learns from a shard of each module's batch, module by module, like all others. */
  async update(shards: Readonly<Record<string, Fragment>>, envSteps: number): Promise<Learnt> {
    const results: Record<string, LearnerResult> = {};
    const weights: Record<string, Float32Array> = {};
    for (const [moduleId, shard] of Object.entries(shards)) {
      const learner = this.#learners.get(moduleId) as OnPolicyLearner;
      learner.beginAt(envSteps);
      await learner.update(shard);
      results[moduleId] = learner.result ?? {};
      if (this.#place.rank === 0) weights[moduleId] = learner.built.module.parameters.data.slice();
    }
    return { results, weights };
  }

  getState(): Record<string, ModuleLearning> {
    const all = Array.from(this.#learners, ([id, learner]) => [
      id,
      { weights: learner.built.module.parameters.data.slice(), state: learner.getState() },
    ]);
    return Object.fromEntries(all) as Record<string, ModuleLearning>;
  }

  setState(states: Readonly<Record<string, ModuleLearning>>): void {
    for (const [id, { weights, state }] of Object.entries(states)) {
      const learner = this.#learners.get(id) as OnPolicyLearner;
      learner.built.module.parameters.data.set(weights);
      learner.setState(state);
    }
  }

  async close(): Promise<void> {
    if (this.#place.worldSize > 1) await destroyCollectiveGroup(this.#place.groupName);
  }
}
