/**
 * The loss of actor-critic algorithms without a clipped ratio: A2C, A3C and IMPALA. They differ in their estimates of advantages.
 *
 * `loss = -mean(log p(a) A) + vfLossCoeff mean((V - R)^2) / 2 - entropyCoeff mean(H)`
 */
import type { Tensor } from "../../tensor/index.ts";
import { RLError } from "../errors.ts";
import { type LossContext, type OnPolicyConfig, OnPolicyLearner } from "./on-policy-learner.ts";

interface ActorCriticConfig extends OnPolicyConfig {
  readonly vfLossCoeff: number;
}

export abstract class ActorCriticLearner<Config extends ActorCriticConfig = ActorCriticConfig> extends OnPolicyLearner<Config> {
  computeLoss(context: LossContext<Config>): Tensor {
    const policyLoss = this.policyLoss(context);
    const { vfLoss, entropy } = valueLossAndEntropy(context);
    context.log("policyLoss", policyLoss);
    return policyLoss.add(vfLoss.mul(context.config.vfLossCoeff)).sub(entropy.mul(this.entropyCoeff));
  }

  /** The part of the loss that moves the policy. */
  protected policyLoss({ batch, distribution }: LossContext<Config>): Tensor {
    return distribution.logp(batch.actions).mul(batch.advantages).mean().neg();
  }
}

function valueLossAndEntropy({ batch, output, distribution, log }: LossContext): { readonly vfLoss: Tensor; readonly entropy: Tensor } {
  if (output.vfPreds === undefined) throw new RLError("Cannot learn: forward() of the module returned no vfPreds");
  const vfLoss = output.vfPreds.reshape([batch.rows]).sub(batch.valueTargets).square().mean().mul(0.5);
  const entropy = distribution.entropy().mean();
  log("vfLoss", vfLoss);
  log("entropy", entropy);
  return { vfLoss, entropy };
}
