/**
 * Trains a policy that balances a pole, saves it, and plays an episode with it.
 *
 *     node examples/rl-cartpole.ts [runners]
 *
 * With 0 runners (the default) this process does everything; with more, that many processes sample.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shutdown } from "shoal";
import { makeEnv, Policy, PPOConfig } from "shoal/rl";

const GOAL = 400;
const ITERATIONS_MAX = 50;

const runners = Number(process.argv[2] ?? 0);
if (!Number.isInteger(runners) || runners < 0) {
  console.error(`The number of runners is a whole number from 0: received ${process.argv[2]}`);
  process.exit(2);
}

const config = new PPOConfig()
  .environment("CartPole-v1")
  .envRunners({ numEnvRunners: runners, numEnvsPerEnvRunner: 8 })
  .training({ lr: 3e-4, trainBatchSizePerLearner: 4000, minibatchSize: 128, numEpochs: 6 })
  .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
  .debugging({ seed: 1 });

const folder = await mkdtemp(join(tmpdir(), "cartpole-"));
{
  await using algorithm = await config.buildAlgo();
  let mean = 0;
  for (let iteration = 0; mean < GOAL && iteration < ITERATIONS_MAX; iteration += 1) {
    const { envRunners, trainingIteration } = await algorithm.train();
    mean = envRunners.episodeReturnMean ?? 0;
    if (trainingIteration % 5 === 0) console.log(`after ${envRunners.numEnvStepsSampledLifetime} steps: ${mean.toFixed(0)}`);
  }
  console.log(`the mean return is above ${GOAL}: ${mean >= GOAL}`);
  await algorithm.save(folder);
}

const policy = await Policy.fromCheckpoint(folder);
const env = await makeEnv("CartPole-v1");
let { observation } = await env.reset({ seed: 7 });
let steps = 0;
for (let isOver = false; !isOver; steps += 1) {
  const step = await env.step(policy.computeAction(observation));
  observation = step.observation;
  isOver = step.terminated || step.truncated;
}
console.log(`the saved policy keeps the pole up for more than 200 steps: ${steps > 200}`);
await rm(folder, { recursive: true });
await shutdown();
