/** Processor time of the ranks for a step of DDP, in percent of the same steps under `torchrun` right afterwards. A round is a pair. */
import { type HarnessFigure, valueAtMost } from "../figure.ts";
import { stepsOfTorchrun, trainFigure } from "../train-figures.ts";

export const figure: HarnessFigure = trainFigure({
  name: "train-step-cost",
  title: "processor time: step of DDP, of torchrun's",
  goal: valueAtMost(101),
  floor: valueAtMost(103),
  unit: "%",
  note: "A round is one pair: quote the median of seven (--rounds 7).",
  loop: "ddp-steps",
  runs: 1,
  async measure(subject, _plan, { samples: [ownMs = Number.NaN] }) {
    const torchrunMs = await stepsOfTorchrun(subject);
    return { samples: [(100 * ownMs) / torchrunMs], details: { stepMs: ownMs, torchrunStepMs: torchrunMs } };
  },
});
