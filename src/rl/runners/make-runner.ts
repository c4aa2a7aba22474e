/** Makes the runner that an environment needs: for one agent, for several, or for clients elsewhere; and with a learner where the algorithm wants one there. */
import { ActingRunner } from "../external/acting-runner.ts";
import { ReceivingRunner } from "../external/receiving-runner.ts";
import { EnvRunner, type Runner, type RunnerSpec } from "./env-runner.ts";
import { LearningRunner } from "./learning-runner.ts";
import { MultiAgentRunner } from "./multi-agent-runner.ts";

/** @throws EnvironmentError where the environments cannot be made */
export function makeRunner(spec: RunnerSpec): Runner {
  const { policies, learning } = spec;
  const runner = policies === undefined ? runnerOf(spec) : new MultiAgentRunner({ ...spec, policies });
  return learning === undefined ? runner : new LearningRunner(runner, learning, spec);
}

function runnerOf(spec: RunnerSpec): Runner {
  const { external } = spec.env;
  if (external === undefined) return new EnvRunner(spec);
  return external.inference === "server" ? new ActingRunner(spec) : new ReceivingRunner(spec);
}
