/** The losses and gradients of one update of a team, against those that PyTorch computed for the same weights and batch (test/vectors/rl/record_teams.py). */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import type { LearnerSetup } from "../learners/learner.ts";
import type { ReplayLearner } from "../learners/replay-learner.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import type { ReplayBatch } from "../replay/episode-replay.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { Space } from "../spaces/space.ts";
import { MADDPGConfig, MADDPGLearner, type MADDPGTraining } from "./maddpg.ts";
import { QMixConfig, QMixLearner, type QMixTraining } from "./qmix.ts";
import type { TeamSeat } from "./team-algorithm.ts";

type Numbers = readonly number[];
type Batch = Readonly<Record<"obs" | "actions" | "rewards" | "nextObs" | "discounts" | "weights", Numbers>>;
const recorded = JSON.parse(readFileSync(new URL("../../../test/vectors/rl/teams.json", import.meta.url), "utf8")) as {
  readonly qmix: {
    readonly module: Numbers;
    readonly networks: Readonly<Record<string, Numbers>>;
    readonly batch: Batch;
    readonly loss: number;
    readonly gradient: Numbers;
    readonly priorities: Numbers;
  };
  readonly maddpg: {
    readonly module: Numbers;
    readonly targets: readonly Numbers[];
    readonly critic: Numbers;
    readonly targetCritic: Numbers;
    readonly batch: Batch;
    readonly losses: Readonly<Record<string, number>>;
    readonly gradients: { readonly critic: Numbers; readonly actor: Numbers };
  };
};

/** Makes modules with a hidden layer of five. */
function buildOf(policyKind: PolicyKind, [observations, actionSpace]: readonly [number, Space], modelOptions: object): () => BuiltModule {
  const modelConfig = { fcnetHiddens: [5], fcnetActivation: "relu" as const, ...modelOptions };
  const spec = { moduleClass: undefined, modelConfig, normalizeActions: true, clipActions: false, policyKind };
  return () => buildModule(spec, { observationSpace: new Box({ low: -1, high: 1, shape: [observations] }), actionSpace });
}

function setupOf<Training>(moduleId: string, build: () => BuiltModule, config: Training): LearnerSetup<Training> {
  return { moduleId, built: build(), buildTwin: build, config, seed: 1 };
}

function batchOf(batch: Batch): ReplayBatch {
  const columns = Object.fromEntries(Object.entries(batch).map(([name, numbers]) => [name, Float32Array.from(numbers)]));
  return { ...(columns as Record<keyof Batch, Float32Array>), rows: batch.rewards.length, indices: new Float64Array(batch.rewards.length) };
}

function setNetworks(learner: ReplayLearner<never>, networks: Readonly<Record<string, Numbers>>): void {
  const { data, arrays } = learner.getState();
  const given = Object.entries(networks).map(([name, numbers]) => [name, Float32Array.from(numbers)] as const);
  learner.setState({ data, arrays: { ...arrays, ...Object.fromEntries(given) } });
}

/** The gradient of the first update, which Adam's first moment has a tenth of. */
function gradientOf(learner: ReplayLearner<never>, optimizer: string): number[] {
  return Array.from(learner.getState().arrays[`${optimizer}.expAvg`] as Float32Array, (moment) => 10 * moment);
}

function expectClose(found: ArrayLike<number>, wanted: Numbers): void {
  expect(found.length).toBe(wanted.length);
  for (const [at, value] of wanted.entries())
    expect(Math.abs((found[at] as number) - value)).toBeLessThan(1e-4 * Math.max(1, Math.abs(value)));
}

test("QMIX", () => {
  const { qmix } = recorded;
  const { training } = new QMixConfig().training({ lr: 0, mixingEmbedDim: 3, gradClip: 1e6 }).values;
  const options = { dueling: false, numAtoms: 1, vMin: 0, vMax: 0, noisy: false, sigma0: 0 };
  const setup = setupOf<QMixTraining>("team", buildOf("values", [3, new Discrete(2)], options), training);
  setup.built.module.parameters.data.set(qmix.module);
  const learner = new QMixLearner(setup);
  const seat = { moduleId: "team", obsSize: 3, actionSize: 1, built: setup.built, learner: learner as unknown as TeamSeat["learner"] };
  learner.join(["a", "b"].map((agent) => ({ agent, ...seat })));
  setNetworks(learner as never, qmix.networks);
  expectClose(learner.update(batchOf(qmix.batch), 0), qmix.priorities);
  expect(learner.result?.["qfLoss"]).toBeCloseTo(qmix.loss, 4);
  expectClose(gradientOf(learner as never, "optimizer"), qmix.gradient);
});

test("MADDPG", () => {
  const { maddpg } = recorded;
  const { training } = new MADDPGConfig().training({ actorLr: 0, criticLr: 0, actorFeatureReg: 0.01, gradClip: 1e6 }).values;
  const learners = (
    [
      [3, 1],
      [2, 2],
    ] as const
  ).map(([observations, actions], index) => {
    const build = buildOf("relaxed", [observations, new Box({ low: -1, high: 1, shape: [actions] })], {});
    return new MADDPGLearner(setupOf<MADDPGTraining>(`policy${index}`, build, training));
  });
  const seats = learners.map((learner, index) => ({
    agent: `agent${index}`,
    moduleId: learner.moduleId,
    obsSize: 3 - index,
    actionSize: 1 + index,
    built: learner.built,
    learner: learner as unknown as TeamSeat["learner"],
  }));
  for (const learner of learners) learner.join(seats);
  const [first, second] = learners as [MADDPGLearner, MADDPGLearner];
  first.built.module.parameters.data.set(maddpg.module);
  const [targetActor = [], other = []] = maddpg.targets;
  setNetworks(first as never, { targetActor, critic: maddpg.critic, targetCritic: maddpg.targetCritic });
  setNetworks(second as never, { targetActor: other });
  first.update(batchOf(maddpg.batch), 0);
  for (const [name, loss] of Object.entries(maddpg.losses)) expect(first.result?.[name]).toBeCloseTo(loss, 4);
  expectClose(gradientOf(first as never, "criticOptimizer"), maddpg.gradients.critic);
  expectClose(gradientOf(first as never, "actor"), maddpg.gradients.actor);
});
