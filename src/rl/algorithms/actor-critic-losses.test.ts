/** The losses and the gradients of one update, against those that PyTorch computed for the same weights and batch (test/vectors/rl/record_vtrace_losses.py). */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { OnPolicyConfig, OnPolicyLearner } from "../learners/on-policy-learner.ts";
import type { LearnerSetup } from "../learners/learner.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { APPOConfig, APPOLearner } from "../asynchronous/appo.ts";
import { IMPALAConfig, IMPALALearner } from "../asynchronous/impala.ts";
import { A2CConfig, A2CLearner } from "./a2c.ts";

type Numbers = readonly number[];

interface Recorded {
  readonly module: Numbers;
  readonly losses: Readonly<Record<string, number>>;
  readonly gradient: Numbers;
}

const recorded = JSON.parse(readFileSync(new URL("../../../test/vectors/rl/vtrace-losses.json", import.meta.url), "utf8")) as {
  readonly batch: Readonly<Record<"obs" | "actions" | "rewards" | "actionLogp" | "actionDistInputs", Numbers>>;
  readonly a2c: Recorded;
  readonly impala: Recorded;
  readonly appo: Recorded & { readonly target: Numbers };
};

/** The batch, with the `SEQUENCES` of the script. */
function fragment(): Fragment {
  const { obs, actions, rewards, actionLogp, actionDistInputs } = recorded.batch;
  const { TERMINATED, TRUNCATED, CUT } = SEQUENCE_END;
  return {
    rows: rewards.length,
    obs: Float32Array.from(obs),
    actions: Int32Array.from(actions),
    rewards: Float32Array.from(rewards),
    actionLogp: Float32Array.from(actionLogp),
    actionDistInputs: Float32Array.from(actionDistInputs),
    sequences: Int32Array.of(0, 3, TERMINATED, 3, 2, TRUNCATED, 5, 1, CUT),
    environments: Int32Array.of(0, 1, 2),
    states: new Float32Array(),
  };
}

/** A learner with a hidden layer of five, its module with the recorded weights. */
function setupOf<Config>({ module }: Recorded, config: Config): LearnerSetup<Config> {
  const spec = { moduleClass: undefined, modelConfig: { fcnetHiddens: [5] }, normalizeActions: true, clipActions: false };
  const spaces = { observationSpace: new Box({ low: -1, high: 1, shape: [3] }), actionSpace: new Discrete(2) };
  const buildTwin = (): BuiltModule => buildModule(spec, spaces);
  const built = buildTwin();
  expect(built.module.parameters.size).toBe(module.length);
  built.module.parameters.data.set(module);
  return { moduleId: "default_policy", built, buildTwin, config, seed: 1 };
}

async function expectLosses<Config extends OnPolicyConfig>(learner: OnPolicyLearner<Config>, wanted: Recorded): Promise<void> {
  learner.beginAt(0);
  await learner.update(fragment());
  const near = Object.fromEntries(Object.entries(wanted.losses).map(([name, loss]) => [name, expect.closeTo(loss, 4) as number]));
  expect(learner.result).toMatchObject(near);
  // Adam's first moment has a tenth of the first gradient.
  const found = Array.from(learner.getState().arrays["expAvg"] as Float32Array, (moment) => 10 * moment);
  for (const [at, value] of wanted.gradient.entries())
    expect(Math.abs((found[at] as number) - value)).toBeLessThan(1e-4 * Math.max(1, Math.abs(value)));
}

const common = { lr: 0, gamma: 0.9, vfLossCoeff: 0.5, entropyCoeff: 0.01 };

test("A2C", async () => {
  const { training } = new A2CConfig().training({ ...common, lambda: 0.8 }).values;
  await expectLosses(new A2CLearner(setupOf(recorded.a2c, training)), recorded.a2c);
});

test("IMPALA", async () => {
  const { training } = new IMPALAConfig().training({ ...common, vtraceClipPgRhoThreshold: 0.8 }).values;
  await expectLosses(new IMPALALearner(setupOf(recorded.impala, training)), recorded.impala);
});

test("APPO, with an old policy", async () => {
  const { training } = new APPOConfig().training({ ...common, useKlLoss: true, klCoeff: 0.3 }).values;
  const learner = new APPOLearner(setupOf(recorded.appo, training));
  const { data, arrays } = learner.getState();
  learner.setState({ data, arrays: { ...arrays, target: Float32Array.from(recorded.appo.target) } });
  await expectLosses(learner, recorded.appo);
});
