/** The losses and gradients of one update, against those that PyTorch computed for the same weights and batch (test/vectors/rl/record_losses.py). */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import type { LearnerSetup } from "../learners/learner.ts";
import type { ReplayLearner } from "../learners/replay-learner.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import type { ReplayBatch } from "../replay/episode-replay.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { DQNConfig, DQNLearner, type DQNTraining } from "./dqn.ts";
import { SACConfig, SACLearner, type SACTraining } from "./sac.ts";
import { DDPGConfig, DDPGLearner, type DDPGTraining } from "./td3.ts";

type Numbers = readonly number[];
interface Recorded {
  readonly module: Numbers;
  readonly batch: Readonly<Record<"obs" | "actions" | "rewards" | "nextObs" | "discounts" | "weights", Numbers>>;
}
interface ActorCritic extends Recorded {
  readonly losses: Readonly<Record<string, number>>;
  readonly gradients: Readonly<Record<string, Numbers>>;
  readonly critics: Numbers;
}
const recorded = JSON.parse(readFileSync(new URL("../../../test/vectors/rl/losses.json", import.meta.url), "utf8")) as {
  dqn: (Recorded & { atoms: number; target: Numbers; loss: number; gradient: Numbers })[];
  sac: ActorCritic & { target: Numbers };
  ddpg: ActorCritic & { targetCritics: Numbers; targetActor: Numbers };
};

const observationSpace = new Box({ low: -1, high: 1, shape: [3] });

/** A learner with a hidden layer of five, its module with the recorded weights. */
function setupOf<Training>(
  policyKind: PolicyKind,
  { module }: Recorded,
  { config, modelOptions = {} }: { config: Training; modelOptions?: object },
): LearnerSetup<Training> {
  const spec = {
    moduleClass: undefined,
    modelConfig: { fcnetHiddens: [5], ...modelOptions },
    normalizeActions: true,
    clipActions: false,
    policyKind,
  };
  const actionSpace = policyKind === "values" ? new Discrete(2) : new Box({ low: -1, high: 1, shape: [1] });
  const build = (): BuiltModule => buildModule(spec, { observationSpace, actionSpace });
  const built = build();
  built.module.parameters.data.set(module);
  return { moduleId: "default_policy", built, buildTwin: build, config, seed: 1 };
}

function batchOf({ batch }: Recorded, isDiscrete: boolean): ReplayBatch {
  const column = (name: keyof Recorded["batch"]): Float32Array => Float32Array.from(batch[name]);
  return {
    rows: batch.rewards.length,
    obs: column("obs"),
    actions: isDiscrete ? Int32Array.from(batch.actions) : column("actions"),
    rewards: column("rewards"),
    nextObs: column("nextObs"),
    discounts: column("discounts"),
    weights: column("weights"),
    indices: new Float64Array(batch.rewards.length),
  };
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

function expectClose(found: Numbers, wanted: Numbers): void {
  expect(found.length).toBe(wanted.length);
  for (const [at, value] of wanted.entries())
    expect(Math.abs((found[at] as number) - value)).toBeLessThan(1e-4 * Math.max(1, Math.abs(value)));
}

test.each(recorded.dqn)("DQN with $atoms atoms", (wanted) => {
  const { training } = new DQNConfig().training({ numAtoms: wanted.atoms, vMin: -2, vMax: 2, lr: 0 }).values;
  const { dueling, numAtoms, vMin, vMax, noisy, sigma0 } = training;
  const modelOptions = { dueling, numAtoms, vMin, vMax, noisy, sigma0 };
  const learner = new DQNLearner(setupOf<DQNTraining>("values", wanted, { config: training, modelOptions }));
  setNetworks(learner as never, { target: wanted.target });
  learner.update(batchOf(wanted, true), 0);
  expect(learner.result?.["qfLoss"]).toBeCloseTo(wanted.loss, 5);
  expectClose(gradientOf(learner as never, "optimizer"), wanted.gradient);
});

test("SAC", () => {
  const { training } = new SACConfig().training({ initialAlpha: 0.5, actorLr: 0, criticLr: 0, alphaLr: 0 }).values;
  const learner = new SACLearner(setupOf<SACTraining>("squashed", recorded.sac, { config: training }));
  setNetworks(learner as never, { critics: recorded.sac.critics, target: recorded.sac.target });
  learner.update(batchOf(recorded.sac, false), 0);
  expectActorCritic(learner as never, recorded.sac);
});

test("DDPG", () => {
  const { training } = new DDPGConfig().training({ actorLr: 0, criticLr: 0, l2Reg: 0 }).values;
  const learner = new DDPGLearner(setupOf<DDPGTraining>("deterministic", recorded.ddpg, { config: training }));
  const { critics, targetCritics, targetActor } = recorded.ddpg;
  setNetworks(learner as never, { critics, targetCritics, targetActor });
  learner.update(batchOf(recorded.ddpg, false), 0);
  expectActorCritic(learner as never, recorded.ddpg);
});

function expectActorCritic(learner: ReplayLearner<never>, { losses, gradients }: ActorCritic): void {
  for (const [name, loss] of Object.entries(losses)) expect(learner.result?.[name]).toBeCloseTo(loss, 4);
  for (const [name, gradient] of Object.entries(gradients)) expectClose(gradientOf(learner, name), gradient);
}
