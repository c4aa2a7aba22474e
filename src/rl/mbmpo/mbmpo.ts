/**
 * MBMPO: meta-learning a policy in an ensemble of learnt models of the world (arXiv:1809.05214). Names and most defaults are those that Ray had.
 *
 * An iteration samples real steps, trains the models by all of them, and makes `numMamlSteps` meta-steps of imagined episodes. Each model is a task: the policy adapts to it by one gradient step, and its weights are chosen so that it does well
 * behind that step. The reward is learnt with the rest, and imagined episodes last for `horizon` steps.
 */
import type { OptionSet } from "../../core/internal.ts";
import { Algorithm } from "../algorithms/algorithm.ts";
import { AlgorithmConfig } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import type { LearnerClass } from "../learners/learner.ts";
import type { PolicyTable } from "../modules/policy-mapping.ts";
import { MBMPOLearner } from "./mbmpo-learner.ts";
import { MBMPO_TRAINING, type MBMPOTraining } from "./mbmpo-options.ts";

export class MBMPOConfig extends AlgorithmConfig<MBMPOTraining> {
  readonly name = "MBMPO";
  readonly defaultLearner: LearnerClass = MBMPOLearner;
  protected readonly trainingTable: OptionSet<MBMPOTraining> = MBMPO_TRAINING;

  protected override get modelOptions(): object {
    return { fcnetHiddens: [32, 32] };
  }

  override refuseMemory(): void {
    throw new TypeError(
      "Cannot build MBMPO: useLstm, and modules with an initialState, do not go with imagined steps. Leave useLstm out and stack observations: envToModuleConnector: () => new FrameStack({ numFrames: 4 })",
    );
  }

  override checkAgents(policies: PolicyTable | undefined): void {
    if (policies !== undefined)
      throw new TypeError(
        `Cannot build MBMPO: its models know one agent: ${this.env.name} has ${policies.agents.length}. Use PPO, QMIX or MADDPG`,
      );
  }

  override async buildAlgo(): Promise<MBMPO> {
    return await MBMPO.build(this);
  }
}

export class MBMPO extends Algorithm<MBMPOTraining> {
  /** Samples real steps, and learns in the models' imagination. */
  protected async trainingStep(signal: AbortSignal | undefined): Promise<void> {
    const fragments = await this.sample(this.values.training.trainBatchSizePerLearner, signal);
    await this.learn(async () => {
      for (const { module, fragment } of this.learningFrom(fragments))
        await (module.learner as unknown as MBMPOLearner).update(fragment, signal);
    });
  }
}

registerAlgorithm("MBMPO", MBMPOConfig);
