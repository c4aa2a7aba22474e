/** ONNX models of layers and of policies, run by onnxruntime: outputs equal ours, for other numbers of rows than the trace had. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Algorithm,
  type AlgorithmConfig,
  Box,
  Dict,
  Discrete,
  DQNConfig,
  type Env,
  MultiBinary,
  Policy,
  PPOConfig,
  type ResetResult,
  type Space,
  SACConfig,
  type StepResult,
} from "shoal/rl";
import {
  Conv2d,
  Gru,
  Layer,
  LayerNorm,
  Lstm,
  Mlp,
  concat,
  noGrad,
  NoisyLinear,
  Random,
  scope,
  stack,
  type Tensor,
  tensor,
  toOnnx,
  withRandom,
} from "shoal/tensor";
import { afterAll, expect, test } from "vitest";
import { installed } from "./installed.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-onnx-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Arrays = Readonly<Record<string, { readonly shape: readonly number[]; readonly data: Float32Array }>>;
type Runtime = typeof import("onnxruntime-node");

function runtime(): Runtime {
  const packages = installed("onnxruntime-node-1.30.0", (place) => [
    ["npm", "install", "--prefix", place, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "onnxruntime-node@1.30.0"],
  ]);
  return createRequire(join(packages, "package.json"))("onnxruntime-node") as Runtime;
}

async function runModel(model: Uint8Array, inputs: Arrays): Promise<Record<string, Float32Array>> {
  const { InferenceSession, Tensor: Value } = runtime();
  const session = await InferenceSession.create(model, { intraOpNumThreads: 1 });
  try {
    const feeds = Object.entries(inputs).map(([name, { shape, data }]) => [name, new Value("float32", data, shape)] as const);
    const outputs = await session.run(Object.fromEntries(feeds));
    return Object.fromEntries(Object.entries(outputs).map(([name, { data }]) => [name, data]));
  } finally {
    await session.release();
  }
}

const random = new Random(3);

function drawn(shape: readonly number[]): { shape: readonly number[]; data: Float32Array } {
  const size = shape.reduce((product, length) => product * length, 1);
  return { shape, data: Float32Array.from({ length: size }, () => random.normal()) };
}

function expectClose(theirs: Readonly<Record<string, Float32Array>>, ours: Readonly<Record<string, Float32Array>>): void {
  expect(Object.keys(theirs).toSorted()).toEqual(Object.keys(ours).toSorted());
  for (const [name, numbers] of Object.entries(ours)) {
    const found = theirs[name] as Float32Array;
    expect(found).toHaveLength(numbers.length);
    const apart = numbers.map((number, at) => Math.abs(number - (found[at] as number)) / Math.max(1, Math.abs(number)));
    expect([name, Math.max(...apart) < 1e-5]).toEqual([name, true]);
  }
}

type Pass = (inputs: Readonly<Record<string, Tensor>>) => Readonly<Record<string, Tensor>>;

/** Compares a pass with five rows with its model. */
async function compare(layer: Layer, inputs: Readonly<Record<string, readonly number[]>>, forward: Pass): Promise<void> {
  const model = toOnnx(layer, { inputs, forward });
  const given = Object.fromEntries(
    Object.entries(inputs).map(([name, shape]) => [name, drawn(shape.map((length) => (length < 0 ? 5 : length)))]),
  );
  const ours = scope(() =>
    noGrad(() => {
      const tensors = Object.fromEntries(Object.entries(given).map(([name, { shape, data }]) => [name, tensor(data, { shape })]));
      return Object.fromEntries(Object.entries(forward(tensors)).map(([name, output]) => [name, output.toArray()]));
    }),
  );
  expectClose(await runModel(model, given), ours);
}

class Whole extends Layer {
  readonly #pass: Pass;
  constructor(pass: Pass) {
    super();
    this.#pass = pass;
  }
  forward(inputs: Readonly<Record<string, Tensor>>): Readonly<Record<string, Tensor>> {
    return this.#pass(inputs);
  }
}

test.each(["linear", "tanh", "relu", "elu", "silu", "sigmoid", "softplus"] as const)("a network with %s", async (activation) => {
  const mlp = new Mlp([3, 8, 2], { activation });
  await compare(mlp, { x: [-1, 3] }, ({ x }) => ({ output: mlp.forward(x as Tensor) }));
});

test("a layer with one input needs no forward, and its bytes are stable", async () => {
  const mlp = withRandom(new Random(1), () => new Mlp([3, 2]));
  const input = drawn([4, 3]);
  const { output } = await runModel(toOnnx(mlp, { inputs: { x: [-1, 3] } }), { x: input });
  const ours = scope(() => mlp.forward(tensor(input.data, { shape: input.shape })).toArray());
  expectClose({ output: output as Float32Array }, { output: ours });
  expect(toOnnx(mlp, { inputs: { x: [-1, 3] } })).toEqual(toOnnx(mlp, { inputs: { x: [-1, 3] } }));
});

test.each([
  { kernel: 3, stride: 1, padding: "same" },
  { kernel: 4, stride: 2, padding: "same" },
  { kernel: 3, stride: 2, padding: 0 },
  { kernel: [2, 3], stride: 3, padding: 1 },
] as const)("a convolution with $kernel, stride $stride, padding $padding", async ({ kernel, stride, padding }) => {
  const layer = new Conv2d(2, 5, kernel, { stride, padding });
  await compare(layer, { x: [-1, 7, 9, 2] }, ({ x }) => ({ output: layer.forward(x as Tensor) }));
});

test("recurrent layers, with states as inputs and with states of zeros", async () => {
  const lstm = new Lstm(3, 4);
  await compare(lstm, { x: [-1, 6, 3], h: [-1, 4], c: [-1, 4] }, ({ x, h, c }) => {
    const { output, state } = lstm.forward(x as Tensor, { h: h as Tensor, c: c as Tensor });
    return { output, hOut: state.h, cOut: state.c };
  });
  await compare(lstm, { x: [-1, 2, 3] }, ({ x }) => ({ output: lstm.forward(x as Tensor).output }));
  const gru = new Gru(3, 4);
  await compare(gru, { x: [-1, 6, 3] }, ({ x }) => {
    const { output, state } = gru.forward(x as Tensor);
    return { output, state };
  });
});

test("normalization, reductions and the other operations", async () => {
  const norm = new LayerNorm(6, { eps: 1e-3 });
  await compare(norm, { x: [-1, 6] }, ({ x }) => ({ output: norm.forward(x as Tensor) }));
  const whole = new Whole(({ x: a, y: b }) => {
    const [x, y] = [a as Tensor, b as Tensor];
    return {
      smooth: x.square().add(1).log().sqrt().div(y.abs().add(0.5)).exp(),
      bounds: x.minimum(y).sub(x.maximum(0.2)).clamp(-1, 0.5).neg(),
      parts: concat([x.slice({ axis: 1, start: 1, end: 3 }), y.slice({ axis: -1, start: -1 })], { axis: 1 }),
      turned: x.reshape([-1, 2, 2]).transpose(),
      stacked: stack([x, y], { axis: 1 }),
      means: x.mean({ axis: 1 }),
      centred: x.sub(x.mean({ axis: -1, keepDims: true })),
      sums: x.reshape([-1, 2, 2]).sum({ axis: 1 }),
      largest: x.max({ axis: 1, keepDims: true }),
      all: x.sum(),
      chosen: x.mask(y.relu()),
      soft: x.softmax(),
      logSoft: x.logSoftmax(),
      product: x.matmul(tensor([[1], [2], [3], [4]])),
    };
  });
  await compare(whole, { x: [-1, 4], y: [-1, 4] }, (inputs) => whole.forward(inputs));
});

test("a noisy layer has its means", async () => {
  const layer = new NoisyLinear(3, 2);
  await compare(layer, { x: [-1, 3] }, ({ x }) => ({ output: layer.forward(x as Tensor, { noisy: false }) }));
});

/** An environment that is only looked at. */
abstract class Shown implements Env {
  abstract readonly observationSpace: Space;
  readonly actionSpace: Box | Discrete = new Discrete(3);
  reset(): ResetResult {
    return { observation: this.observationSpace.sample() };
  }
  step(): StepResult {
    return { observation: this.observationSpace.sample(), reward: 0, terminated: false, truncated: false };
  }
}

class Picture extends Shown {
  readonly observationSpace = new Box({ low: 0, high: 255, shape: [12, 12, 3], dtype: "uint8" });
}

class Parts extends Shown {
  readonly observationSpace = new Dict({ place: new Discrete(4), speed: new Box({ low: -1, high: 1, shape: [2] }) });
  override readonly actionSpace = new Box({ low: -2, high: 2, shape: [2] });
}

class Masked extends Shown {
  readonly observationSpace = new Dict({ observations: new Box({ low: -1, high: 1, shape: [4] }), actionMask: new MultiBinary(3) });
}

const small = { modelConfig: { fcnetHiddens: [8] } };
const CONFIGS: Readonly<Record<string, AlgorithmConfig>> = {
  "PPO with choices": new PPOConfig().environment("CartPole-v1").rlModule(small),
  "PPO with separate values": new PPOConfig()
    .environment("CartPole-v1")
    .rlModule({ modelConfig: { fcnetHiddens: [8, 8], vfShareLayers: false, fcnetActivation: "silu" } }),
  "PPO with numbers and parts": new PPOConfig().environment(Parts).rlModule(small),
  "PPO with pictures": new PPOConfig().environment(Picture),
  "PPO with a mask": new PPOConfig().environment(Masked).rlModule(small),
  "PPO with an LSTM": new PPOConfig()
    .environment("CartPole-v1")
    .rlModule({ modelConfig: { fcnetHiddens: [8], useLstm: true, lstmCellSize: 6, vfShareLayers: false } }),
  "DQN, duelling": new DQNConfig().environment("CartPole-v1").rlModule(small),
  Rainbow: new DQNConfig().environment("CartPole-v1").training({ numAtoms: 7, noisy: true }).rlModule(small),
  "SAC with numbers": new SACConfig().environment("Pendulum-v1").rlModule(small),
};

test.each(Object.keys(CONFIGS))("the action distribution of %s", async (kind) => {
  const config = (CONFIGS[kind] as AlgorithmConfig).copy().debugging({ seed: 1 });
  const path = join(folder, kind.replaceAll(/\W/g, "-"));
  await using algorithm = (await config.buildAlgo()) as Algorithm;
  await algorithm.save(path);
  const policy = await Policy.fromCheckpoint(path, { config });
  const { module, encoder, memory } = policy.built;
  const obs = drawn([5, encoder.size]);
  if (encoder.maskSize > 0) for (let row = 0; row < 5; row += 1) obs.data.set([1, row % 2, 0], (row + 1) * encoder.size - encoder.maskSize);
  const states = drawn([5, memory.size]).data;
  const parts = scope(() =>
    Object.entries(memory.toTensors(states, 5).stateIn ?? {}).map(
      ([name, state]) => [`stateIn.${name}`, { shape: state.shape, data: state.toArray() }] as const,
    ),
  );
  const ours = scope(() =>
    noGrad(() => {
      const { stateOut = {}, ...outputs } = module.forward({ obs: tensor(obs.data, { shape: obs.shape }), ...memory.toTensors(states, 5) });
      const named = [...Object.entries(outputs), ...Object.entries(stateOut).map(([name, state]) => [`stateOut.${name}`, state] as const)];
      return Object.fromEntries(named.map(([name, output]) => [name, output.toArray()]));
    }),
  );
  expect(policy.toOnnx()).toEqual(algorithm.toOnnx());
  expectClose(await runModel(policy.toOnnx(), { obs, ...Object.fromEntries(parts) }), ours);
});
