/** Makes the runner that an environment needs: for one agent, or for several, and with a learner where the algorithm wants one there. */
import { EnvRunner, type Runner, type RunnerSpec } from "./env-runner.ts";
import { LearningRunner } from "./learning-runner.ts";
import { MultiAgentRunner } from "./multi-agent-runner.ts";

/** @throws EnvironmentError where the environments cannot be made */
export function makeRunner(spec: RunnerSpec): Runner {
  const { policies, learning } = spec;
  const runner = policies === undefined ? new EnvRunner(spec) : new MultiAgentRunner({ ...spec, policies });
  return learning === undefined ? runner : new LearningRunner(runner, learning, spec);
}
