/** The process of a runner: an `EnvRunner` behind the calls of a group. */
import { EnvRunner, type RunnerSpec, type RunnerState, type Sample, type SampleRequest } from "./env-runner.ts";

export class RunnerActor {
  readonly #runner: EnvRunner;

  constructor(spec: RunnerSpec) {
    this.#runner = new EnvRunner(spec);
  }

  /** @param weights - of the module, as they lie in it; from shared memory */
  async sample(weights: Float32Array, request: SampleRequest): Promise<Sample> {
    this.#runner.setWeights(weights);
    return await this.#runner.sample(request);
  }

  getState(): RunnerState {
    return this.#runner.getState();
  }

  setState(state: RunnerState): void {
    this.#runner.setState(state);
  }

  async close(): Promise<void> {
    await this.#runner.close();
  }
}
