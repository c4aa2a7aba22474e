/** Learners that share a batch, all in this process: they end with the weights of one learner on the whole. */
import { expect, test } from "vitest";
import { A2CConfig, A2CLearner } from "../algorithms/a2c.ts";
import { PPOConfig, PPOLearner } from "../algorithms/ppo.ts";
import { Random } from "../../tensor/index.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import { type Fragment, joinFragments, SEQUENCE_END } from "../sequences/fragment.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { LearnerClass, LearnerSetup } from "./learner.ts";
import type { OnPolicyLearner, Partners } from "./on-policy-learner.ts";

/** Partners that meet in this process: each call ends when all have made it. */
function meeting(count: number): Partners[] {
  let waiting: { numbers: Float32Array | Float64Array; resolve: (all: (Float32Array | Float64Array)[]) => void }[] = [];
  const meet = async <A extends Float32Array | Float64Array>(numbers: A): Promise<A[]> => {
    const { promise, resolve } = Promise.withResolvers<(Float32Array | Float64Array)[]>();
    waiting.push({ numbers, resolve });
    if (waiting.length === count) {
      const all = waiting.map((each) => each.numbers.slice());
      const met = waiting;
      waiting = [];
      for (const each of met) each.resolve(all);
    }
    return (await promise) as A[];
  };
  return Array.from({ length: count }, () => ({
    allreduce: async (numbers) => {
      const all = await meet(numbers);
      for (let at = 0; at < numbers.length; at += 1) numbers[at] = all.reduce((sum, each) => sum + (each[at] as number), 0);
    },
    allgather: async (numbers) => await meet(numbers),
  }));
}

/** A fragment of one environment, with a sequence that ended and one that goes on. */
function drawn(rows: number, random: Random): Fragment {
  const numbers = (count: number): Float32Array => Float32Array.from({ length: count }, () => 2 * random.uniform() - 1);
  const first = Math.ceil(rows / 2);
  return {
    rows,
    obs: numbers((rows + 2) * 3),
    actions: Int32Array.from({ length: rows }, () => random.integer(2)),
    rewards: numbers(rows),
    actionLogp: numbers(rows).map((each) => -0.7 + 0.1 * each),
    actionDistInputs: numbers(2 * rows),
    sequences: Int32Array.of(0, first, SEQUENCE_END.TERMINATED, first, rows - first, SEQUENCE_END.CUT),
    environments: Int32Array.of(0, 0),
    states: new Float32Array(),
  };
}

function make(learnerClass: LearnerClass, config: unknown): OnPolicyLearner {
  const spec = { moduleClass: undefined, modelConfig: { fcnetHiddens: [8] }, normalizeActions: true, clipActions: false };
  const spaces = { observationSpace: new Box({ low: -1, high: 1, shape: [3] }), actionSpace: new Discrete(2) };
  const buildTwin = (): BuiltModule => buildModule(spec, spaces, 1);
  const setup: LearnerSetup<unknown> = { moduleId: "default_policy", built: buildTwin(), buildTwin, config, seed: 1 };
  return new learnerClass(setup) as unknown as OnPolicyLearner;
}

const weightsOf = (learner: OnPolicyLearner): number[] => Array.from(learner.built.module.parameters.data);

const PPO = new PPOConfig().training({ minibatchSize: 100, numEpochs: 3, lr: 0.01, gradClip: 0.1, lambda: 0.9 }).values.training;
const A2C = new A2CConfig().training({ lr: 0.01, gradClip: 0.1 }).values.training;

test.each<[string, LearnerClass, unknown, readonly number[]]>([
  ["PPO", PPOLearner, PPO, [20, 20]],
  ["PPO, shards of different lengths", PPOLearner, PPO, [12, 28]],
  ["A2C, three learners", A2CLearner, A2C, [16, 16, 16]],
])("%s: learners on parts of a batch end with the weights of one on the whole", async (_, learnerClass, config, sizes) => {
  const random = new Random(3, "fragments");
  const single = make(learnerClass, config);
  const partners = meeting(sizes.length);
  const several = partners.map((each) => Object.assign(make(learnerClass, config), { partners: each }));
  for (let update = 0; update < 3; update += 1) {
    const shards = sizes.map((rows) => drawn(rows, random));
    for (const learner of [single, ...several]) learner.beginAt(0);
    await single.update(joinFragments(shards));
    await Promise.all(several.map(async (learner, rank) => await learner.update(shards[rank] as Fragment)));
    const [first, ...others] = several.map(weightsOf) as [number[], ...number[][]];
    for (const other of others) expect(other).toEqual(first);
    for (const [at, weight] of weightsOf(single).entries()) expect(Math.abs((first[at] as number) - weight)).toBeLessThan(1e-5);
  }
  expect(several[0]?.getState().data["adapted"]).toEqual(single.getState().data["adapted"]);
});

test("learners with minibatches make equally many steps, however long their shards are", async () => {
  const config = { ...PPO, minibatchSize: 8, numEpochs: 2 };
  const several = meeting(2).map((each) => Object.assign(make(PPOLearner, config), { partners: each }));
  const random = new Random(4, "fragments");
  await Promise.all(several.map(async (learner, rank) => await learner.update(drawn(rank === 0 ? 8 : 40, random))));
  expect(weightsOf(several[0] as OnPolicyLearner)).toEqual(weightsOf(several[1] as OnPolicyLearner));
  expect(several.map((learner) => learner.getState().data["step"])).toEqual([10, 10]);
});
