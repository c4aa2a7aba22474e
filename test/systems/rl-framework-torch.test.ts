/** Algorithms whose networks are in PyTorch: the curves of our kernels, faults of the Python process, checkpoints, added policies. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { actors, init, shutdown } from "shoal";
import {
  Algorithm,
  APPOConfig,
  Box,
  Dict,
  Discrete,
  type Env,
  IMPALAConfig,
  MultiBinary,
  PPOConfig,
  type ResetResult,
  type Space,
  type StepResult,
} from "shoal/rl";
import { Random } from "shoal/tensor";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environment } from "../frameworks/environments.ts";
import { runProgram } from "../house/run-program.ts";
import { unless } from "../integration/python-places.ts";

const found = environment("torch");
const problem = "problem" in found ? found.problem : undefined;
const venv = "venv" in found ? found.venv : "";

/** Draws observations, and pays for the first action, or for small numbers. */
abstract class Drawn implements Env {
  abstract readonly observationSpace: Space;
  readonly actionSpace: Box | Discrete = new Discrete(3);
  readonly random: Random = new Random(5);
  #at = 0;
  abstract draw(): unknown;
  reset(): ResetResult {
    this.#at = 0;
    return { observation: this.draw() };
  }
  step(action: number | Float32Array): StepResult {
    this.#at += 1;
    const reward = typeof action === "number" ? Number(action === 0) : -Math.abs(action[0] as number);
    return { observation: this.draw(), reward, terminated: this.#at === 8, truncated: false };
  }
}

class Picture extends Drawn {
  readonly observationSpace = new Box<"uint8">({ low: 0, high: 255, shape: [12, 12, 2], dtype: "uint8" });
  draw(): Uint8Array {
    return Uint8Array.from({ length: 288 }, () => this.random.integer(256));
  }
}

class Masked extends Drawn {
  readonly observationSpace: Dict = new Dict({ observations: new Box({ low: -1, high: 1, shape: [2] }), actionMask: new MultiBinary(3) });
  draw(): object {
    return { observations: Float32Array.of(this.random.uniform(), 1), actionMask: Int8Array.of(1, this.random.integer(2), 1) };
  }
}

class Dial extends Drawn {
  readonly observationSpace: Box = new Box({ low: -1, high: 1, shape: [2] });
  override readonly actionSpace: Box = new Box({ low: -2, high: 2, shape: [2] });
  draw(): Float32Array {
    return Float32Array.of(this.random.uniform(), -this.random.uniform());
  }
}

function ppo(): PPOConfig {
  return new PPOConfig()
    .environment("CartPole-v1")
    .training({ lr: 1e-3, trainBatchSizePerLearner: 300, minibatchSize: 64, numEpochs: 3 })
    .rlModule({ modelConfig: { fcnetHiddens: [16, 16] } })
    .debugging({ seed: 1 });
}

const shared = { lr: 1e-3, trainBatchSizePerLearner: 200, gradClip: 0.5 };
const CONFIGS = {
  PPO: () => ppo(),
  "PPO with clipped gradients and separate values": () =>
    ppo()
      .training({ gradClip: 0.1 })
      .rlModule({ modelConfig: { fcnetHiddens: [16], vfShareLayers: false, fcnetActivation: "silu" } }),
  "PPO with numbers": () => ppo().environment(Dial),
  "PPO with a mask": () => ppo().environment(Masked),
  "PPO with pictures": () => ppo().environment(Picture).rlModule({ modelConfig: {} }),
  APPO: () => new APPOConfig().environment("CartPole-v1").training(shared).reporting({ minTimeMsPerIteration: 0 }).debugging({ seed: 1 }),
  IMPALA: () =>
    new IMPALAConfig().environment("CartPole-v1").training(shared).reporting({ minTimeMsPerIteration: 0 }).debugging({ seed: 1 }),
} as const;

describe.skipIf(problem !== undefined)(`networks in PyTorch${unless(problem)}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-rl-torch-"));
  const inTorch = { runtimeEnv: { python: venv } };
  beforeAll(() => init({ numCpus: 2, logToDriver: false }));
  afterAll(async () => {
    await shutdown();
    rmSync(folder, { recursive: true, force: true });
  });

  async function trained(config: { buildAlgo(): Promise<Algorithm> }, iterations: number): Promise<Record<string, Float32Array>> {
    await using algorithm = await config.buildAlgo();
    for (let iteration = 0; iteration < iterations; iteration += 1) await algorithm.train();
    return algorithm.getWeights();
  }

  function expectNear(other: Readonly<Record<string, Float32Array>>, wanted: Readonly<Record<string, Float32Array>>): void {
    expect(Object.keys(other)).toEqual(Object.keys(wanted));
    for (const [id, weights] of Object.entries(wanted))
      expect(Math.max(...weights.map((weight, at) => Math.abs(weight - ((other[id] as Float32Array)[at] as number))))).toBeLessThan(1e-4);
  }

  test.each(Object.keys(CONFIGS) as (keyof typeof CONFIGS)[])(
    "%s: the weights after two iterations are those of our kernels",
    async (kind) => {
      const ours = await trained(CONFIGS[kind](), 2);
      expectNear(await trained(CONFIGS[kind]().framework("torch", inTorch), 2), ours);
    },
  );

  test("a killed process is replaced, and makes the update again: the curve is the same", async () => {
    const ours = await trained(ppo(), 3);
    await using algorithm = await ppo().framework("torch", inTorch).buildAlgo();
    await algorithm.train();
    const [first] = (await actors()).filter(({ className, pid }) => className === "NetworkActor" && pid !== undefined);
    process.kill(first?.pid as number, "SIGKILL");
    await algorithm.train();
    await algorithm.train();
    expectNear(algorithm.getWeights(), ours);
  });

  test("checkpoints need no PyTorch, and either framework goes on from them", async () => {
    const path = join(folder, "checkpoint");
    await using algorithm = await ppo().framework("torch", inTorch).buildAlgo();
    await algorithm.train();
    await algorithm.save(path);
    await algorithm.train();
    await using restored = await Algorithm.fromCheckpoint(path);
    await restored.train();
    expectNear(restored.getWeights(), algorithm.getWeights());
    await using ours = await Algorithm.fromCheckpoint(path, { config: ppo() });
    await ours.train();
    expectNear(ours.getWeights(), algorithm.getWeights());
  });

  test("an added policy has a process of its own, which ends with the policy", async () => {
    const config = new PPOConfig()
      .environment("TicTacToe")
      .training({ trainBatchSizePerLearner: 100, minibatchSize: 50, numEpochs: 1 })
      .rlModule({ modelConfig: { fcnetHiddens: [8] } })
      .framework("torch", inTorch);
    const count = async (): Promise<number> =>
      (await actors()).filter(({ className, pid }) => className === "NetworkActor" && pid !== undefined).length;
    const before = await count();
    await using algorithm = await config.buildAlgo();
    await algorithm.addModule("second", { policyMappingFn: (agent) => (agent === "player1" ? "default_policy" : "second") });
    expect(Object.keys((await algorithm.train()).learners)).toEqual(["default_policy", "second"]);
    await algorithm.removeModule("second", { policyMappingFn: () => "default_policy" });
    await algorithm.train();
    await expect.poll(count, { timeout: 10_000 }).toBe(before + 1);
    await algorithm.stop();
    await expect.poll(count, { timeout: 10_000 }).toBe(before);
  });

  test("an LSTM is refused before anything is trained", async () => {
    const remembering = ppo()
      .rlModule({ modelConfig: { useLstm: true } })
      .framework("torch", inTorch);
    await expect(remembering.buildAlgo()).rejects.toThrow('framework("torch") goes with modules without a memory. Leave useLstm out');
  });

  test("the example learns", async () => {
    const run = await runProgram(["examples/rl-torch.ts", venv]);
    expect(run.stdout).toBe("the mean return is above 100: true\n");
  });
});
