/**
 * PPO with its network in PyTorch, under the names that older versions of RLlib have.
 *
 *     node examples/rl-torch.ts [VENV]
 *
 * A process of Python has the network and Adam. The loss, the environments and the runners are here, and runners act with the same weights
 * without Python. VENV is a virtual environment with PyTorch; without one, `python3` needs `pip install torch numpy`.
 */
import { init, shutdown } from "shoal";
import { PPOConfig } from "shoal/rl";

const [venv] = process.argv.slice(2);

await init({ numCpus: 2 });
const config = new PPOConfig()
  .environment("CartPole-v1")
  .framework("torch", venv === undefined ? {} : { runtimeEnv: { python: venv } })
  .rollouts({ numRolloutWorkers: 2, numEnvsPerEnvRunner: 4 })
  .training({ gamma: 0.99, lr: 3e-4, trainBatchSize: 4000, sgdMinibatchSize: 128, numSgdIter: 6 })
  .resources({ numGpus: 0 })
  .debugging({ seed: 1 });

{
  await using algorithm = await config.build();
  let best = 0;
  for (let iteration = 0; best < 100 && iteration < 20; iteration += 1) {
    const result = await algorithm.train();
    best = Math.max(best, result.episodeRewardMean ?? 0);
  }
  console.log(`the mean return is above 100: ${best >= 100}`);
}
await shutdown();
