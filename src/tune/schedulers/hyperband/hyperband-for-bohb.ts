/**
 * `HyperBandForBOHB`: HyperBand for searches that learn from partial results, such as `BOHBSearch` (Falkner et al. 2018).
 *
 * The bracket with the most trials is filled first, so that the search learns early. A trial at a milestone is paused although its bracket is not full yet: the next
 * trial is then proposed with its result known. The decisions are those of Ray's scheduler of this name.
 */
import type { Decision, SchedulerView } from "../../scheduler.ts";
import type { Trial } from "../../trials/trial.ts";
import type { HyperBandBracket } from "./hyperband-bracket.ts";
import { HyperBandScheduler, type HyperBandSchedulerOptions } from "./hyperband-scheduler.ts";

export class HyperBandForBOHB extends HyperBandScheduler {
  /** @throws TypeError, RangeError */
  constructor(options: HyperBandSchedulerOptions = {}) {
    super(options, { name: "HyperBandForBOHB", type: "hb_bohb" });
  }

  protected override halvingsOf(filled: number): number {
    return this.bandSize - filled - 1;
  }

  protected override decideAtMilestone(bracket: HyperBandBracket, trial: Trial, view: SchedulerView): Decision {
    const othersWait = [...bracket.trialIds].every((trialId) => trialId === trial.id || view.liveTrials.get(trialId)?.status === "paused");
    return bracket.isFull() && othersWait ? this.process(bracket, view, trial) : "pause";
  }

  protected override orderOf(brackets: readonly HyperBandBracket[]): readonly HyperBandBracket[] {
    return brackets;
  }
}
