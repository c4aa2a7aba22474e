/**
 * An algorithm of one's own: the vanilla policy gradient, with a baseline of values.
 *
 *     node examples/rl-vpg.ts
 *
 * A learner says the loss, a configuration says the options, and the training step is one of Shoal's. Runners, checkpoints, evaluation and trials of Tune work as for the other algorithms.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shutdown } from "shoal";
import {
  Algorithm,
  AlgorithmConfig,
  type LossContext,
  numberOption,
  OnPolicyAlgorithm,
  OnPolicyLearner,
  onPolicyOptions,
  registerAlgorithm,
  type TrainingTable,
  type TrainingValues,
} from "shoal/rl";
import type { Tensor } from "shoal/tensor";

const GOAL = 150;
const ITERATIONS_MAX = 150;

const TRAINING = { of: "training() of VPG", options: { ...onPolicyOptions, vfLossCoeff: numberOption(0.5, { min: 0 }) } };
type Training = TrainingValues<typeof TRAINING>;

class VPGLearner extends OnPolicyLearner<Training> {
  computeLoss({ batch, output, distribution, config, log }: LossContext<Training>): Tensor {
    const policyLoss = distribution.logp(batch.actions).mul(batch.advantages).mean().neg();
    log("policyLoss", policyLoss);
    if (output.vfPreds === undefined) return policyLoss;
    const vfLoss = output.vfPreds.reshape([batch.rows]).huberLoss(batch.valueTargets);
    return policyLoss.add(vfLoss.mul(config.vfLossCoeff));
  }
}

class VPGConfig extends AlgorithmConfig<Training> {
  readonly name = "VPG";
  readonly defaultLearner = VPGLearner;
  protected readonly trainingTable: TrainingTable<Training> = TRAINING;

  async buildAlgo(): Promise<VPG> {
    return await VPG.build(this);
  }
}

class VPG extends OnPolicyAlgorithm<Training> {}

// Checkpoints name their algorithm.
registerAlgorithm("VPG", VPGConfig);

const config = new VPGConfig()
  .environment("CartPole-v1")
  .envRunners({ numEnvsPerEnvRunner: 8 })
  .training({ lr: 5e-3, trainBatchSizePerLearner: 1000, lambda: 0.97 })
  .rlModule({ modelConfig: { fcnetHiddens: [64], vfShareLayers: false } })
  .debugging({ seed: 1 });

const folder = await mkdtemp(join(tmpdir(), "vpg-"));
let mean = 0;
{
  await using algorithm = await config.buildAlgo();
  for (let iteration = 0; mean < GOAL && iteration < ITERATIONS_MAX; iteration += 1)
    mean = (await algorithm.train()).envRunners.episodeReturnMean ?? 0;
  await algorithm.save(folder);
}
console.log(`the mean return is above ${GOAL}: ${mean >= GOAL}`);
await using restored = await Algorithm.fromCheckpoint(folder);
console.log(`a restored run goes on above half: ${((await restored.train()).envRunners.episodeReturnMean ?? 0) > GOAL / 2}`);
await rm(folder, { recursive: true });
await shutdown();
