/** Makes the runner that an environment needs: for one agent, or for several. */
import { EnvRunner, type Runner, type RunnerSpec } from "./env-runner.ts";
import { MultiAgentRunner } from "./multi-agent-runner.ts";

/** @throws EnvironmentError where the environments cannot be made */
export function makeRunner(spec: RunnerSpec): Runner {
  const { policies } = spec;
  return policies === undefined ? new EnvRunner(spec) : new MultiAgentRunner({ ...spec, policies });
}
