/**
 * PPO as programs for older versions of RLlib have it: each old name works, and says today's name once.
 *
 *     node examples/rl-old-spellings.ts
 */
import { init, shutdown } from "shoal";
import { PPOConfig } from "shoal/rl";

await init({ numCpus: 2 });
const config = new PPOConfig()
  .environment("CartPole-v1")
  .rollouts({ numRolloutWorkers: 2, numEnvsPerEnvRunner: 4 })
  .training({ gamma: 0.99, lr: 3e-4, trainBatchSize: 4000, sgdMinibatchSize: 128, numSgdIter: 6 })
  .resources({ numGpus: 0 })
  .debugging({ seed: 1 });

const algorithm = await config.build();
let best = 0;
for (let iteration = 0; best < 100 && iteration < 20; iteration += 1) {
  const result = await algorithm.train();
  best = Math.max(best, result.episodeRewardMean ?? 0);
}
console.log(`the mean return is above 100: ${best >= 100}`);
await algorithm.stop();
await shutdown();
