/** The losses and gradients of one update of CQL and IQL, against PyTorch's (test/vectors/rl/record_offline_losses.py). */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { scope } from "../../tensor/index.ts";
import type { LearnerState } from "../learners/learner.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import { SEQUENCE_END } from "../sequences/fragment.ts";
import { Box } from "../spaces/box.ts";
import { CQLConfig, CQLLearner } from "./cql.ts";
import { IQLConfig, IQLLearner } from "./iql.ts";
import { RecordedSteps } from "./recorded-steps.ts";

type Numbers = readonly number[];
type Named = Readonly<Record<string, Numbers>>;
interface Recorded {
  readonly module: Numbers;
  readonly networks: Named;
  readonly batch: Named;
  readonly losses: Readonly<Record<string, number>>;
  readonly gradients: Named;
}
const recorded = JSON.parse(readFileSync(new URL("../../../test/vectors/rl/offline-losses.json", import.meta.url), "utf8")) as Readonly<
  Record<"iql" | "cql", Recorded>
>;

function builtWith(weights: Numbers): BuiltModule {
  const spec = {
    moduleClass: undefined,
    modelConfig: { fcnetHiddens: [5] },
    normalizeActions: true,
    clipActions: false,
    policyKind: "squashed" as const,
  };
  const box = (size: number): Box => new Box({ low: -1, high: 1, shape: [size] });
  const built = buildModule(spec, { observationSpace: box(3), actionSpace: box(1) });
  expect(built.module.parameters.size).toBe(weights.length);
  built.module.parameters.data.set(weights);
  return built;
}

/** Three steps until the world ends, and one that is truncated. */
function stepsOf({ batch }: Recorded, built: BuiltModule): RecordedSteps {
  const column = (name: string): Float32Array => Float32Array.from(batch[name] ?? []);
  const fragment = {
    rows: 4,
    obs: column("obs"),
    actions: column("actions"),
    rewards: column("rewards"),
    actionLogp: new Float32Array(4),
    actionDistInputs: new Float32Array(0),
    sequences: Int32Array.of(0, 3, SEQUENCE_END.TERMINATED, 3, 1, SEQUENCE_END.TRUNCATED),
    environments: Int32Array.of(0, 1),
    states: new Float32Array(0),
  };
  return new RecordedSteps(fragment, { built, gamma: 0.9 });
}

const ROWS = Int32Array.of(0, 1, 2, 3);

function withNetworks({ data, arrays }: LearnerState, networks: Named): LearnerState {
  const given = Object.entries(networks).map(([name, numbers]) => [name, Float32Array.from(numbers)] as const);
  return { data, arrays: { ...arrays, ...Object.fromEntries(given) } };
}

function expectAsRecorded(learner: CQLLearner | IQLLearner, { losses, gradients }: Recorded): void {
  for (const [name, loss] of Object.entries(losses)) expect(learner.result?.[name]).toBeCloseTo(loss, 4);
  for (const [name, gradient] of Object.entries(gradients)) {
    // Adam's first moment has a tenth of the first gradient.
    const found = Array.from(learner.getState().arrays[`${name}.expAvg`] as Float32Array, (moment) => 10 * moment);
    expect(found).toHaveLength(gradient.length);
    for (const [at, value] of gradient.entries())
      expect(Math.abs((found[at] as number) - value)).toBeLessThan(1e-4 * Math.max(1, Math.abs(value)));
  }
}

test("IQL", () => {
  const built = builtWith(recorded.iql.module);
  const rates = { actorLr: 0, criticLr: 0, valueLr: 0 };
  const config = new IQLConfig().training({ ...rates, gamma: 0.9, expectile: 0.8, beta: 2 }).values.training;
  const learner = new IQLLearner({ moduleId: "default_policy", built, buildTwin: () => built, config, seed: 1 });
  learner.setState(withNetworks(learner.getState(), recorded.iql.networks));
  scope(() => learner.learnFrom(stepsOf(recorded.iql, built), ROWS, 0));
  expectAsRecorded(learner, recorded.iql);
});

const cqlLearner = (bcIters = 0): { learner: CQLLearner; steps: RecordedSteps } => {
  const built = builtWith(recorded.cql.module);
  const rates = { actorLr: 0, criticLr: 0, alphaLr: 0 };
  const penalty = { numActions: 2, temperature: 0.5, minQWeight: 3 };
  const config = new CQLConfig().training({ ...rates, ...penalty, gamma: 0.9, bcIters }).values.training;
  const learner = new CQLLearner({ moduleId: "default_policy", built, buildTwin: () => built, config, seed: 1 });
  learner.setState(withNetworks(learner.getState(), recorded.cql.networks));
  return { learner, steps: stepsOf(recorded.cql, built) };
};

test("CQL", () => {
  const { learner, steps } = cqlLearner();
  scope(() => learner.learnFrom(steps, ROWS, 0));
  expectAsRecorded(learner, recorded.cql);
});

test("the actor of CQL repeats recorded actions for bcIters updates, and seeks values then, also behind a checkpoint", () => {
  const lossesOf = (bcIters: number): number[] => {
    const { learner, steps } = cqlLearner(bcIters);
    return [0, 1].map(() => {
      learner.clear();
      scope(() => learner.learnFrom(steps, ROWS, 0));
      return learner.result?.["policyLoss"] as number;
    });
  };
  const [cloning, seeking, first] = [lossesOf(2), lossesOf(0), lossesOf(1)];
  expect(first[0]).toBe(cloning[0]);
  expect(first[1]).toBe(seeking[1]);
  expect(cloning[1]).not.toBe(seeking[1]);
  const { learner, steps } = cqlLearner(1);
  scope(() => learner.learnFrom(steps, ROWS, 0));
  const { learner: restored } = cqlLearner(1);
  restored.setState(structuredClone(learner.getState()));
  scope(() => restored.learnFrom(steps, ROWS, 4));
  expect(restored.result?.["policyLoss"]).toBe(seeking[1]);
});

test.each([() => new CQLConfig(), () => new IQLConfig()])("%o refuses choices before anything is read", async (make) => {
  const config = make();
  await expect(config.environment("CartPole-v1").offlineData({ input: "episodes" }).buildAlgo()).rejects.toThrow(
    `Cannot build ${config.name}: its actions are a Box of floats with finite bounds: received`,
  );
});

test.each<[object, string]>([
  [{ expectile: 1 }, "expectile"],
  [{ beta: -1 }, "beta"],
  [{ lr: 1e-3 }, "there are actorLr, criticLr and valueLr"],
])("IQL refuses %j", (options, text) => {
  expect(() => new IQLConfig().training(options)).toThrow(text);
});

test.each<[object, string]>([
  [{ temperature: 0 }, "temperature"],
  [{ numActions: 0 }, "numActions"],
  [{ bcIters: -1 }, "bcIters"],
  [{ replayBufferConfig: {} }, "the recorded steps are the buffer"],
])("CQL refuses %j", (options, text) => {
  expect(() => new CQLConfig().training(options)).toThrow(text);
});
