/**
 * Conservative Q-learning: arXiv:2006.04779, on SAC's networks, with the defaults of RLlib 2.60.
 *
 * The critics' loss is the squared error plus `minQWeight temperature mean(log sum exp((Q(s, a') - log density of a') / temperature)) - minQWeight mean(Q(s, a))`, by critic. The `a'`
 * are equally likely numbers, and draws of the policy at `s` and at the next observation. For `bcIters` updates the actor repeats the recorded actions instead of seeking values.
 */
import { count, flag, type OptionSet } from "../../core/internal.ts";
import { noGrad, type Tensor, tensor } from "../../tensor/index.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { atLeastZero, positive, TRAINING_OPTIONS, upToOne, type ValuesOf } from "../config/option-tables.ts";
import { squashedNormal } from "../distributions/bounded-actions.ts";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import type { LearnerClass, LearnerState } from "../learners/learner.ts";
import type { ReplayLossBatch } from "../learners/replay-learner.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import { actionInputs } from "../modules/rl-module.ts";
import { actionTensor } from "../off-policy/critics.ts";
import { type PolicyDraw, SACLearner, SAC_OPTIONS } from "../off-policy/sac.ts";
import { OfflineAlgorithm, OfflineConfig, type OfflineLearner } from "./offline-algorithm.ts";
import { refuseChoices } from "./refuse-choices.ts";
import type { RecordedSteps } from "./recorded-steps.ts";

const TRAINING = {
  of: "training() of CQL",
  otherNames: {
    lr: "there are actorLr, criticLr and alphaLr",
    replayBufferConfig: "the recorded steps are the buffer: leave it out",
    trainBatchSize: "it is trainBatchSizePerLearner",
  },
  options: {
    ...SAC_OPTIONS,
    gamma: TRAINING_OPTIONS.gamma,
    gradClip: TRAINING_OPTIONS.gradClip,
    trainBatchSizePerLearner: count({ min: 1 }, 256),
    nStep: count({ min: 1 }, 1),
    tau: upToOne(5e-3),
    targetNetworkUpdateFreq: count({ min: 0 }, 0),
    adamEpsilon: positive(1e-8),
    /** Updates in which the actor repeats the recorded actions. */
    bcIters: count({ min: 0 }, 20_000),
    temperature: positive(1),
    /** Actions of each kind for each row. */
    numActions: count({ min: 1, max: 1000 }, 10),
    minQWeight: atLeastZero(5),
    /** Whether targets leave the entropy of the next action out. */
    deterministicBackup: flag(true),
  },
};

/** The values of `training()`. */
export type CQLTraining = ValuesOf<typeof TRAINING>;

export class CQLLearner extends SACLearner<CQLTraining> implements OfflineLearner {
  #updates = 0;

  learnFrom(steps: RecordedSteps, chosen: Int32Array, trained: number): void {
    this.update(steps.transitionsOf(chosen, this.config.nStep), trained);
    this.#updates += 1;
    this.note("numModuleStepsTrainedLifetime", trained + chosen.length);
  }

  protected override criticLoss(values: readonly Tensor[], targets: Tensor, batch: ReplayLossBatch): Tensor {
    const { minQWeight, temperature } = this.config;
    const others = this.#otherActions(batch);
    const zeros = new Int32Array(batch.rows);
    const losses = this.critics.forward(others.obs, others.actions).map((each, index) => {
      const own = values[index] as Tensor;
      const scores = each
        .reshape([batch.rows, others.count])
        .sub(others.logDensities)
        .mul(1 / temperature);
      // log sum exp: a score less its log-softmax.
      const total = scores.gather(zeros).sub(scores.logSoftmax().gather(zeros));
      const gap = total.mean().mul(temperature).sub(own.mean());
      this.log("cqlLoss", gap);
      return own.sub(targets).square().mean().add(gap.mul(minQWeight));
    });
    return losses.reduce((a, b) => a.add(b));
  }

  /** Actions that the critics should not overrate, `3 numActions` a row: equally likely ones, and draws of the policy at both observations. */
  #otherActions({ obs, nextObs, rows }: ReplayLossBatch): { obs: Tensor; actions: Tensor; logDensities: Tensor; count: number } {
    const { numActions: each } = this.config;
    const size = this.built.distribution.actions.size as number;
    const total = 3 * each;
    const actions = new Float32Array(rows * total * size);
    const logDensities = new Float32Array(rows * total);
    const repeat = (times: number): Int32Array => Int32Array.from({ length: rows * times }, (_, at) => Math.floor(at / times));
    const write = (place: number, drawn: Float32Array, logp: (at: number) => number): void => {
      for (let row = 0; row < rows; row += 1)
        for (let index = 0; index < each; index += 1) {
          const [from, to] = [row * each + index, row * total + place * each + index];
          actions.set(drawn.subarray(from * size, (from + 1) * size), to * size);
          logDensities[to] = logp(from);
        }
    };
    write(
      0,
      Float32Array.from({ length: rows * each * size }, () => 2 * this.random.uniform() - 1),
      () => -size * Math.LN2,
    );
    for (const [index, seen] of [obs, nextObs].entries()) {
      const drawn = noGrad(() => this.draw(seen.rows(repeat(each))));
      const logp = drawn.logp.toArray();
      write(index + 1, (drawn.actions as Tensor).toArray(), (at) => logp[at] as number);
    }
    return {
      obs: obs.rows(repeat(total)),
      actions: tensor(actions, { shape: [rows * total, size] }),
      logDensities: tensor(logDensities, { shape: [rows, total] }),
      count: total,
    };
  }

  protected override nextValues(values: Tensor, logp: Tensor): Tensor {
    return this.config.deterministicBackup ? values : super.nextValues(values, logp);
  }

  protected override actorValues(batch: ReplayLossBatch, draw: PolicyDraw): Tensor {
    if (this.#updates >= this.config.bcIters) return super.actorValues(batch, draw);
    const inputs = actionInputs(this.built.module.forwardTrain({ obs: batch.obs }));
    return squashedNormal(inputs).logp(actionTensor(batch.actions, batch.rows));
  }

  protected override get extra(): LearnerState["data"] {
    return { ...super.extra, updates: this.#updates };
  }

  protected override set extra(data: LearnerState["data"]) {
    super.extra = data;
    this.#updates = data["updates"] as number;
  }
}

export class CQLConfig extends OfflineConfig<CQLTraining> {
  readonly name = "CQL";
  readonly defaultLearner: LearnerClass = CQLLearner;
  override readonly policyKind: PolicyKind = "squashed";
  protected readonly trainingTable: OptionSet<CQLTraining> = TRAINING;

  override async readInput(built: ReadonlyMap<string, BuiltModule>): Promise<void> {
    refuseChoices(this.name, built);
    await super.readInput(built);
  }

  override async buildAlgo(): Promise<CQL> {
    return await CQL.build(this);
  }
}

export class CQL extends OfflineAlgorithm<CQLTraining> {}

registerAlgorithm("CQL", CQLConfig);
