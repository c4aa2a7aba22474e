/**
 * A runner whose samples a learner works on before they are sent: gradients in the place of steps, or priorities beside them.
 *
 * The learner shares the runner's module, so it computes with the weights that sampled. Its optimizer never steps.
 * The algorithm decides which modules learn, and gives the class and the configurations with the runner's spec.
 */
import type { Learner, RunnerLearning } from "../learners/learner.ts";
import type { RunnerEnvironment } from "../callbacks/runner-callbacks.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import { moduleSeed } from "../modules/policy-mapping.ts";
import type { Runner, RunnerPolicies, RunnerSpec, Sample, SampleRequest, Weights } from "./env-runner.ts";

export class LearningRunner implements Runner {
  readonly #runner: Runner;
  readonly #spec: RunnerSpec;
  readonly #learners = new Map<string, Learner>();

  constructor(runner: Runner, learning: RunnerLearning, spec: RunnerSpec) {
    this.#runner = runner;
    this.#spec = spec;
    this.#makeLearners(learning, spec);
  }

  get modules(): ReadonlyMap<string, BuiltModule> {
    return this.#runner.modules;
  }

  get env(): RunnerEnvironment {
    return this.#runner.env;
  }

  /** Makes the learners of modules that have none. */
  #makeLearners({ learnerClass, configs }: RunnerLearning, { policies, module }: Pick<RunnerSpec, "policies" | "module">): void {
    for (const [moduleId, config] of Object.entries(configs)) {
      if (this.#learners.has(moduleId)) continue;
      const built = this.modules.get(moduleId) as BuiltModule;
      const seed = moduleSeed(this.#spec.seed, moduleId);
      const moduleSpec = policies?.recipes[moduleId]?.spec ?? module;
      const buildTwin = (): BuiltModule => buildModule(moduleSpec, built, seed);
      this.#learners.set(moduleId, new learnerClass({ moduleId, built, buildTwin, config, seed }) as Learner);
    }
  }

  async setPolicies(given: RunnerPolicies): Promise<void> {
    await this.#runner.setPolicies?.(given);
    const { learning, policies } = given;
    for (const id of this.#learners.keys()) if (!Object.hasOwn(learning?.configs ?? {}, id)) this.#learners.delete(id);
    if (learning !== undefined) this.#makeLearners(learning, { policies, module: this.#spec.module });
  }

  async ready(): Promise<void> {
    await this.#runner.ready?.();
  }

  setWeights(weights: Weights): void {
    this.#runner.setWeights(weights);
  }

  async sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    const { modules, ...others } = await this.#runner.sample(request, signal);
    const worked = Object.entries(modules).map(([id, share]) => {
      const learner = share.fragment.rows === 0 ? undefined : this.#learners.get(id);
      return [id, learner === undefined ? share : { ...share, ...learner.digest(share.fragment, request.envSteps ?? 0) }];
    });
    return { ...others, modules: Object.fromEntries(worked) as Sample["modules"] };
  }

  getState(): object {
    return this.#runner.getState();
  }

  setState(state: never): void {
    this.#runner.setState(state);
  }

  async close(): Promise<void> {
    await this.#runner.close();
  }
}
