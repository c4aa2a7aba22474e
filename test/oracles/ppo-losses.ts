/** An update of PPO as PyTorch computed it (`test/vectors/rl/record_losses.py`), and the same one by our learner. */
import { expect } from "vitest";
import { PPOConfig, PPOLearner } from "../../src/rl/algorithms/ppo.ts";
import { buildModule } from "../../src/rl/modules/module-spec.ts";
import { type Fragment, SEQUENCE_END } from "../../src/rl/sequences/fragment.ts";
import { Box } from "../../src/rl/spaces/box.ts";
import { Discrete } from "../../src/rl/spaces/discrete.ts";
import { TorchNetwork } from "../../src/rl/torch/torch-network.ts";

type Numbers = readonly number[];

export interface RecordedPPO {
  readonly recurrent: boolean;
  readonly module: Numbers;
  readonly batch: Readonly<Record<"obs" | "states" | "actions" | "rewards" | "actionLogp" | "actionDistInputs", Numbers>>;
  readonly losses: Readonly<Record<string, number>>;
  readonly gradient: Numbers;
}

/** `SEQUENCES` of the script. */
const SEQUENCES = [
  { length: 3, end: SEQUENCE_END.TERMINATED },
  { length: 2, end: SEQUENCE_END.TRUNCATED },
  { length: 1, end: SEQUENCE_END.CUT },
];

function fragmentOf({ batch, recurrent }: RecordedPPO): Fragment {
  let start = 0;
  const sequences = SEQUENCES.flatMap(({ length, end }) => {
    start += length;
    return [start - length, length, end];
  });
  return {
    rows: batch.rewards.length,
    obs: Float32Array.from(batch.obs),
    actions: Int32Array.from(batch.actions),
    rewards: Float32Array.from(batch.rewards),
    actionLogp: Float32Array.from(batch.actionLogp),
    actionDistInputs: Float32Array.from(batch.actionDistInputs),
    sequences: Int32Array.from(sequences),
    environments: Int32Array.of(0, 1, 2),
    states: Float32Array.from(recurrent ? batch.states : []),
  };
}

/**
 * Makes the update, and compares all losses and the gradient.
 *
 * @param python - a virtual environment whose PyTorch has the network. Default: the network is ours
 */
export async function expectPPOLosses(wanted: RecordedPPO, python?: string): Promise<void> {
  const options = { lambda: 0.8, gamma: 0.9, clipParam: 0.2, vfLossCoeff: 0.5, vfClipParam: 4, klCoeff: 0.3, numEpochs: 1, lr: 0 };
  const { training } = new PPOConfig().training({ ...options, minibatchSize: 6 }).values;
  const modelConfig = { fcnetHiddens: [5], ...(wanted.recurrent ? { useLstm: true, lstmCellSize: 4, maxSeqLen: 2 } : {}) };
  const spec = { moduleClass: undefined, modelConfig, normalizeActions: true, clipActions: false };
  const spaces = { observationSpace: new Box({ low: -1, high: 1, shape: [3] }), actionSpace: new Discrete(2) };
  const built = buildModule(spec, spaces);
  expect(built.module.parameters.size).toBe(wanted.module.length);
  built.module.parameters.data.set(wanted.module);
  const learner = new PPOLearner({
    moduleId: "default_policy",
    built,
    buildTwin: () => buildModule(spec, spaces),
    config: training,
    seed: 1,
  });
  learner.entropyCoeff = 0.01;
  learner.optimizer.lr = 0;
  if (python !== undefined)
    learner.torch = new TorchNetwork({ moduleId: "default_policy", built, runtimeEnv: { python }, numCpus: 1, numGpus: 0 });
  await learner.update(fragmentOf(wanted));
  await learner.torch?.stop();
  const near = Object.fromEntries(Object.entries(wanted.losses).map(([name, loss]) => [name, expect.closeTo(loss, 4) as number]));
  expect(learner.result).toMatchObject(near);
  // Adam's first moment has a tenth of the first gradient.
  const found = Array.from(learner.getState().arrays["expAvg"] as Float32Array, (moment) => 10 * moment);
  for (const [at, value] of wanted.gradient.entries())
    expect(Math.abs((found[at] as number) - value)).toBeLessThan(1e-4 * Math.max(1, Math.abs(value)));
}
