/**
 * Algorithms with real processes: the same curve with any number of runners, replaced runners, checkpoints, and ends.
 */
import { mkdtempSync, rmSync, writeFileSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { actors, init, shutdown } from "shoal";
import {
  Algorithm,
  Box,
  Discrete,
  type Env,
  MeanStdFilter,
  Policy,
  PPOConfig,
  PPOLearner,
  PreviousActions,
  RLModule,
  type ModuleInput,
  type TrainResult,
} from "shoal/rl";
import { Mlp, type Tensor } from "shoal/tensor";
import { afterAll, beforeAll, expect, test } from "vitest";
import { learn, LEARNING_RUNS } from "../learning/runs.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-rl-"));
beforeAll(() => init({ numCpus: 4, logToDriver: false }));
afterAll(async () => {
  await shutdown();
  rmSync(folder, { recursive: true });
});

function cartPole(numEnvRunners: number, numEnvsPerEnvRunner: number): PPOConfig {
  return new PPOConfig()
    .environment("CartPole-v1")
    .envRunners({ numEnvRunners, numEnvsPerEnvRunner })
    .training({ lr: 3e-4, trainBatchSizePerLearner: 800, minibatchSize: 128, numEpochs: 2 })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .debugging({ seed: 1 });
}

/** Everything of a result that does not depend on the clock. */
function timeless({ envRunners, learners, trainingIteration }: TrainResult): unknown {
  return { envRunners, learners, trainingIteration };
}

async function curve(config: PPOConfig, iterations = 3): Promise<unknown[]> {
  await using algorithm = await config.buildAlgo();
  const results: unknown[] = [];
  for (let iteration = 0; iteration < iterations; iteration += 1) results.push(timeless(await algorithm.train()));
  return results;
}

/** No bar of speed: the longest run, of Rainbow, takes a minute beside another file of tests. */
const LEARNING_LIMIT_MS = 300_000;

test.each(LEARNING_RUNS.filter(({ quick }) => quick !== undefined))(
  "$title learns with seed 1",
  { timeout: LEARNING_LIMIT_MS },
  async (run) => {
    const { evaluated } = await learn(run, run.quick as NonNullable<typeof run.quick>, 1);
    expect(evaluated).toBeGreaterThanOrEqual(run.quick?.evaluation ?? 0);
  },
);

test("one seed gives one curve, bit by bit, with 0, 1 and 2 runners; another seed gives another", async () => {
  const here = await curve(cartPole(0, 8));
  expect(await curve(cartPole(1, 8))).toEqual(here);
  expect(await curve(cartPole(2, 4))).toEqual(here);
  expect(await curve(cartPole(0, 8).debugging({ seed: 2 }))).not.toEqual(here);
});

test.each([0, 1])("a restored run goes on as one without interruption, with %i runners", async (numEnvRunners) => {
  const path = join(folder, `restored-${numEnvRunners}`);
  await using algorithm = await cartPole(numEnvRunners, 4).buildAlgo();
  await algorithm.train();
  await algorithm.evaluate();
  await algorithm.save(path);
  const expected = [timeless(await algorithm.train()), timeless(await algorithm.train())];
  await using restored = await Algorithm.fromCheckpoint(path);
  expect([timeless(await restored.train()), timeless(await restored.train())]).toEqual(expected);
  const policy = await Policy.fromCheckpoint(path);
  await algorithm.restore(path);
  const observation = Float32Array.of(0.01, 0, 0.1, 0);
  expect(policy.computeAction(observation)).toBe(algorithm.computeAction(observation));
  expect(timeless(await algorithm.train())).toEqual(expected[0]);
});

test("a mean-std filter gives one curve with any number of runners, and comes back with a checkpoint", async () => {
  const filtered = (numEnvRunners: number, numEnvsPerEnvRunner: number): PPOConfig =>
    cartPole(numEnvRunners, numEnvsPerEnvRunner).envRunners({
      envToModuleConnector: () => [new MeanStdFilter(), new PreviousActions()],
    });
  const expected = await curve(filtered(0, 4), 4);
  expect(await curve(filtered(2, 2), 4)).toEqual(expected);
  expect(await curve(cartPole(0, 4), 4)).not.toEqual(expected);
  const path = join(folder, "filtered");
  await using algorithm = await filtered(0, 4).buildAlgo();
  await algorithm.train();
  await algorithm.train();
  await algorithm.save(path);
  await using restored = await Algorithm.fromCheckpoint(path);
  expect([timeless(await restored.train()), timeless(await restored.train())]).toEqual(expected.slice(2));
  const observation = Float32Array.of(0.01, 0, 0.1, 0);
  await algorithm.restore(path);
  expect((await Policy.fromCheckpoint(path)).computeAction(observation)).toBe(algorithm.computeAction(observation));
});

test("killed runners are replaced, also all at once, and training goes on", async () => {
  const recreated: number[] = [];
  await using algorithm = await cartPole(2, 4)
    .faultTolerance({ delayBetweenEnvRunnerRestartsMs: 50 })
    .callbacks({ onEnvRunnersRecreated: ({ count }) => void recreated.push(count) })
    .buildAlgo();
  await algorithm.train();
  await killRunners(1);
  expect(await algorithm.train()).toMatchObject({ trainingIteration: 2, faults: { numEnvRunnerRestarts: 1 } });
  await untilRunners(2);
  expect((await algorithm.train()).envRunners.numEnvStepsSampled).toBe(800);
  await killRunners(2);
  expect(await algorithm.train()).toMatchObject({ trainingIteration: 4, faults: { numEnvRunnerRestarts: 2 } });
  expect(recreated).toEqual([1, 2]);
});

test("a runner that stands still is replaced after sampleTimeoutMs", async () => {
  await using algorithm = await cartPole(2, 4)
    .envRunners({ sampleTimeoutMs: 1500 })
    .faultTolerance({ delayBetweenEnvRunnerRestartsMs: 50 })
    .buildAlgo();
  await algorithm.train();
  const [stopped] = await runnerProcesses();
  process.kill(stopped as number, "SIGSTOP");
  expect(await algorithm.train()).toMatchObject({ faults: { numEnvRunnerRestarts: 1 } });
  await untilRunners(2);
});

test("without restarts the death of a runner ends training with its cause; or the others go on", async () => {
  await using algorithm = await cartPole(1, 4).faultTolerance({ restartFailedEnvRunners: false }).buildAlgo();
  await killRunners(1);
  await expect(algorithm.train()).rejects.toThrow("Cannot sample: runner 1 ended: ");
  await algorithm.stop();
  await using others = await cartPole(2, 4).faultTolerance({ restartFailedEnvRunners: false, ignoreEnvRunnerFailures: true }).buildAlgo();
  await killRunners(1);
  expect((await others.train()).envRunners.numEnvStepsSampled).toBe(400);
});

/** The processes of all runners. */
async function runnerProcesses(): Promise<number[]> {
  const alive = (await actors()).filter(({ className, pid }) => className === "RunnerActor" && pid !== undefined);
  return alive.map(({ pid }) => pid as number);
}

async function killRunners(count: number): Promise<void> {
  for (const pid of (await runnerProcesses()).slice(0, count)) process.kill(pid, "SIGKILL");
}

async function untilRunners(count: number): Promise<void> {
  await expect.poll(async () => (await runnerProcesses()).length, { timeout: 20_000 }).toBe(count);
}

class Corridor implements Env<Float32Array, number> {
  readonly observationSpace: Box = new Box({ low: 0, high: 10, shape: [1] });
  readonly actionSpace: Discrete = new Discrete(2);
  readonly #length: number;
  #at = 0;

  constructor({ length = 5 }: { length?: number }) {
    this.#length = length;
  }

  reset(): { observation: Float32Array } {
    this.#at = 0;
    return { observation: Float32Array.of(0) };
  }

  step(action: number): ReturnType<Env<Float32Array>["step"]> {
    this.#at = Math.max(0, this.#at + (action === 1 ? 1 : -1));
    const terminated = this.#at >= this.#length;
    return { observation: Float32Array.of(this.#at), reward: terminated ? 1 : -0.01, terminated, truncated: false };
  }
}

class Wide extends RLModule {
  readonly body: Mlp = this.add("body", new Mlp([1, 32], { outputActivation: "relu" }));
  readonly policy: Mlp = this.add("policy", new Mlp([32, 2], { gain: 0.01 }));
  readonly value: Mlp = this.add("value", new Mlp([32, 1]));

  forward({ obs }: ModuleInput): { actionDistInputs: Tensor; vfPreds: Tensor } {
    const features = this.body.forward(obs);
    return { actionDistInputs: this.policy.forward(features), vfPreds: this.value.forward(features) };
  }
}

class Cautious extends PPOLearner {
  override computeLoss(context: Parameters<PPOLearner["computeLoss"]>[0]): Tensor {
    return super.computeLoss(context).add((context.output.actionDistInputs as Tensor).square().mean().mul(1e-3));
  }
}

test("an environment, a network and a loss of one's own travel to runners, and learn", async () => {
  const config = new PPOConfig()
    .environment(Corridor, { envConfig: { length: 4 } })
    .envRunners({ numEnvRunners: 1, numEnvsPerEnvRunner: 4 })
    .training({ lr: 3e-3, trainBatchSizePerLearner: 800, numEpochs: 5 })
    .rlModule({ moduleClass: Wide })
    .learners({ learnerClass: Cautious })
    .debugging({ seed: 1 });
  await using algorithm = await config.buildAlgo();
  let mean = 0;
  for (let iteration = 0; mean < 0.95 && iteration < 20; iteration += 1) mean = (await algorithm.train()).envRunners.episodeReturnMean ?? 0;
  expect(mean).toBeGreaterThanOrEqual(0.95);
  expect(algorithm.computeAction(Float32Array.of(2))).toBe(1);
  const path = join(folder, "corridor");
  await algorithm.save(path);
  await expect(Algorithm.fromCheckpoint(path)).rejects.toThrow("environment, rlModule.moduleClass, learners.learnerClass are missing");
  await expect(Policy.fromCheckpoint(path)).rejects.toThrow("Give the configuration: { config }");
  await using restored = await Algorithm.fromCheckpoint(path, { config });
  expect(restored.computeAction(Float32Array.of(2))).toBe(1);
  expect((await Policy.fromCheckpoint(path, { config })).computeAction([2])).toBe(1);
});

class Exploding extends Corridor {
  override step(): never {
    throw new Error("the floor is gone");
  }
}

test("an environment that throws in a runner ends training with the user's error", async () => {
  await using algorithm = await new PPOConfig().environment(Exploding).envRunners({ numEnvRunners: 1 }).buildAlgo();
  await expect(algorithm.train()).rejects.toThrow("Cannot step Exploding: it threw the floor is gone");
});

test("a signal ends a call within seconds, and stop leaves no process", async () => {
  await using algorithm = await cartPole(1, 4).training({ trainBatchSizePerLearner: 5_000_000 }).buildAlgo();
  await expect(algorithm.train({ signal: AbortSignal.timeout(300) })).rejects.toThrow("timeout");
  await algorithm.stop();
  await expect.poll(runnerProcesses, { timeout: 10_000 }).toEqual([]);
  await expect(algorithm.train()).rejects.toThrow("Cannot train: the algorithm was stopped. Build another one");
});

test("a checkpoint that is cut, mixed or of a later version is refused", async () => {
  const path = join(folder, "damaged");
  await using algorithm = await cartPole(0, 4).buildAlgo();
  await algorithm.save(path);
  const weights = join(path, "modules", "default_policy", "weights.safetensors");
  const whole = readFileSync(weights);
  writeFileSync(weights, whole.subarray(0, whole.length - 4));
  await expect(algorithm.restore(path)).rejects.toThrow("it is no whole safetensors file");
  writeFileSync(weights, whole);
  const other = join(folder, "other");
  await algorithm.save(other);
  writeFileSync(weights, readFileSync(join(other, "modules", "default_policy", "weights.safetensors")));
  await expect(algorithm.restore(path)).rejects.toThrow("belongs to another save than algorithm.json");
  const file = join(other, "algorithm.json");
  const json = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...json, formatVersion: 99 }));
  await expect(algorithm.restore(other)).rejects.toThrow(
    "has format version 99, and this version of Shoal reads up to 2. Install a newer one",
  );
  await expect(algorithm.restore(folder)).rejects.toThrow("has no algorithm.json");
});
