/** Passes of learners over chunks, against the same steps one by one: with unchanged weights a learner has to see what the runner saw. */
import { expect, test } from "vitest";
import { noGrad, scope, type Tensor, tensor } from "../../tensor/index.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { Env, EnvContext } from "../environments/env.ts";
import { DEFAULT_MODULE_ID } from "../modules/policy-mapping.ts";
import { EnvRunner, type ModuleSample, type Sample } from "../runners/env-runner.ts";
import { Chunks } from "./chunks.ts";
import { type Fragment, joinFragments } from "./fragment.ts";

/** Episodes of 4 and 7 steps in turn, whose observations never repeat; odd ones are cut by a limit. */
class Uneven implements Env<Float32Array, number> {
  readonly observationSpace: Box = new Box({ low: -1, high: 1, shape: [2] });
  readonly actionSpace: Discrete = new Discrete(3);
  #at: number;
  #left = 0;
  #episode = 0;

  constructor(_config: object, { vectorIndex }: EnvContext) {
    this.#at = 100 * vectorIndex;
  }

  reset(): { observation: Float32Array } {
    this.#left = this.#episode % 2 === 0 ? 4 : 7;
    this.#episode += 1;
    return { observation: this.#look() };
  }

  step(): ReturnType<Env<Float32Array>["step"]> {
    this.#left -= 1;
    const isOver = this.#left === 0;
    return { observation: this.#look(), reward: 1, terminated: isOver && this.#episode % 2 === 0, truncated: isOver };
  }

  #look(): Float32Array {
    this.#at += 1;
    return Float32Array.of(Math.sin(this.#at), Math.cos(3 * this.#at));
  }
}

function recurrentRunner(vfShareLayers: boolean): EnvRunner {
  return new EnvRunner({
    env: { name: "Uneven", envClass: Uneven, maxEpisodeSteps: undefined },
    envConfig: {},
    numEnvs: 2,
    workerIndex: 0,
    firstEnv: 0,
    seed: 1,
    isChecked: true,
    module: {
      moduleClass: undefined,
      modelConfig: { fcnetHiddens: [8], useLstm: true, lstmCellSize: 6, maxSeqLen: 3, vfShareLayers },
      normalizeActions: true,
      clipActions: false,
    },
  });
}

/** The values of all observations, by steps of one row with the state of the step before. Every sequence begins with its first chunk's state. */
function valuesStepByStep({ built: { module, memory } }: EnvRunner, { obs, sequences, states }: Fragment): number[] {
  const values: number[] = [];
  let chunk = 0;
  for (let index = 0; index < sequences.length / 3; index += 1) {
    const [start = 0, length = 0] = sequences.subarray(3 * index);
    const state = states.slice(chunk * memory.size, (chunk + 1) * memory.size);
    chunk += Math.ceil(length / memory.maxSeqLen);
    for (let at = start + index; at <= start + index + length; at += 1)
      scope(() =>
        noGrad(() => {
          const row = tensor(obs.slice(2 * at, 2 * at + 2), { shape: [1, 2] });
          const output = module.forward({ obs: row, ...memory.toTensors(state, 1) });
          memory.take(output.stateOut, state);
          values.push(output.vfPreds?.item() ?? Number.NaN);
        }),
      );
  }
  return values;
}

function fragmentOf({ modules }: Sample): Fragment {
  return (modules[DEFAULT_MODULE_ID] as ModuleSample).fragment;
}

test.each([true, false])("a learner's pass over chunks is the runner's, step for step (shared layers: %s)", async (vfShareLayers) => {
  const runner = recurrentRunner(vfShareLayers);
  const first = await runner.sample({ steps: 26, explore: true });
  const second = await runner.sample({ steps: 26, explore: true });
  const fragment = joinFragments([fragmentOf(first), fragmentOf(second)]);
  const { module, memory, encoder } = runner.built;
  const chunks = new Chunks(fragment, { obsSize: encoder.size, memory });
  expect(chunks.count * memory.size).toBe(fragment.states.length);
  const values = new Float32Array(fragment.obs.length / encoder.size);
  chunks.evaluate(
    (input) => module.forwardTrain(input),
    ({ vfPreds }, at) => values.set((vfPreds as Tensor).toArray(), at),
  );
  for (const [at, value] of valuesStepByStep(runner, fragment).entries()) expect(values[at]).toBeCloseTo(value, 5);
  // Every second chunk, backwards: the order of a minibatch is its own.
  const chosen = Int32Array.from({ length: Math.floor(chunks.count / 2) }, (_, index) => chunks.count - 1 - 2 * index);
  const { rows, run } = chunks.minibatch(chosen);
  const inputs = scope(() => noGrad(() => run((input) => module.forwardTrain(input)).actionDistInputs?.toArray()));
  for (const [place, row] of rows.entries())
    for (let part = 0; part < 3; part += 1)
      expect(inputs?.[3 * place + part]).toBeCloseTo(fragment.actionDistInputs[3 * row + part] as number, 5);
});

test("the state is zero where an episode begins, and goes on where a fragment does", async () => {
  const runner = recurrentRunner(true);
  const fragment = fragmentOf(await runner.sample({ steps: 12, explore: true }));
  const { size } = runner.built.memory;
  // Two episodes begin in each environment; 4 steps are two chunks, and the 2 of the next episode are one.
  const isZero = Array.from({ length: 6 }, (_, chunk) =>
    fragment.states.subarray(chunk * size, (chunk + 1) * size).every((each) => each === 0),
  );
  expect(isZero).toEqual([true, false, true, true, false, true]);
  const next = fragmentOf(await runner.sample({ steps: 2, explore: true }));
  expect(next.states.length).toBe(2 * size);
  expect(next.states.every((each) => each === 0)).toBe(false);
});
