/** The process of a runner behind the calls of a group. */
import type { RunnerView } from "../callbacks/runner-callbacks.ts";
import type { Runner, RunnerPolicies, RunnerSpec, Sample, SampleRequest, Weights } from "./env-runner.ts";
import { makeRunner } from "./make-runner.ts";

export class RunnerActor {
  readonly #runner: Runner;
  readonly #workerIndex: number;

  constructor(spec: RunnerSpec) {
    this.#runner = makeRunner(spec);
    this.#workerIndex = spec.workerIndex;
  }

  async setPolicies(policies: RunnerPolicies): Promise<void> {
    await this.#runner.setPolicies?.(policies);
  }

  async apply<R>(run: (runner: RunnerView) => R | Promise<R>): Promise<R> {
    return await run({ env: this.#runner.env, workerIndex: this.#workerIndex });
  }

  /** @param weights - of the modules, as they lie in them; from shared memory */
  async sample(weights: Weights, request: SampleRequest): Promise<Sample> {
    this.#runner.setWeights(weights);
    return await this.#runner.sample(request);
  }

  getState(): object {
    return this.#runner.getState();
  }

  setState(state: object): void {
    this.#runner.setState(state as never);
  }

  async close(): Promise<void> {
    await this.#runner.close();
  }
}
