/** Compares with the values and gradients of PyTorch that test/vectors/tensor/record.py has recorded. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  Adam,
  AdamW,
  backward,
  Bernoulli,
  Categorical,
  concat,
  Conv2d,
  Gru,
  Layer,
  LayerNorm,
  loadSafetensors,
  Lstm,
  Mlp,
  MultiCategorical,
  Normal,
  type Optimizer,
  RMSProp,
  saveSafetensors,
  scope,
  SGD,
  SquashedNormal,
  stack,
  Tensor,
  tensor,
  where,
} from "./index.ts";
import { layoutOf } from "./parameters.ts";
import { toStored } from "./stored-tensor.ts";

interface Listed {
  readonly shape: number[];
  readonly data: number[];
}
interface OperationCase {
  readonly name: string;
  readonly inputs: Listed[];
  readonly output: Listed;
  readonly gradients: Listed[];
  readonly axis?: number;
  readonly index?: number[];
  readonly condition?: Listed;
  readonly options?: { stride: number; padding: number };
}
interface LayerCase extends OperationCase {
  readonly parameters: Record<string, Listed>;
  readonly parameterGradients: Record<string, Listed>;
}
interface DistributionCase {
  readonly name: string;
  readonly parameters: Listed[];
  readonly values: Listed;
  readonly logp: Listed;
  readonly gradients: Listed[];
  readonly entropy?: Listed;
  readonly other?: Listed[];
  readonly kl?: Listed;
}
interface OptimizerCase {
  readonly name: string;
  readonly options: Record<string, number>;
  readonly start: Listed;
  readonly gradients: Listed[];
  readonly after: Listed[];
}

const recorded = JSON.parse(readFileSync(new URL("../../test/vectors/tensor/torch.json", import.meta.url), "utf8")) as {
  operations: OperationCase[];
  layers: LayerCase[];
  distributions: DistributionCase[];
  optimizers: OptimizerCase[];
  safetensors: string;
};

const made = ({ shape, data }: Listed, requiresGrad = false): Tensor => tensor(Float32Array.from(data), { shape, requiresGrad });

function expectClose(found: ArrayLike<number> | null, wanted: Listed, what: string): void {
  expect(found).toHaveLength(wanted.data.length);
  wanted.data.forEach((value, at) =>
    expect(Math.abs((found?.[at] as number) - value), `${what} ${at}: ${found?.[at]}, PyTorch's ${value}`).toBeLessThan(
      2e-5 + 2e-5 * Math.abs(value),
    ),
  );
}

function weighted(output: Tensor): Tensor {
  const weights = Float32Array.from({ length: output.size }, (_, at) => 0.5 + ((at * 7) % 5) / 4);
  return output.mul(tensor(weights, { shape: output.shape })).sum();
}

function run({ name, axis, index, condition, options }: OperationCase, inputs: Tensor[]): Tensor {
  const [x, y, z] = inputs as [Tensor, Tensor, Tensor];
  switch (name) {
    case "clamp":
      return x.clamp(-1, 1.5);
    case "linear":
      return x.linear(y, z);
    case "sum":
    case "mean":
    case "max":
      return x[name]({ axis: axis as number });
    case "slice":
      return x.slice({ axis: 1, start: 1, end: 3 });
    case "rows":
    case "gather":
    case "crossEntropy":
      return x[name](index as number[]);
    case "mseLoss":
      return x.mseLoss(y);
    case "huberLoss":
      return x.huberLoss(y, { delta: 0.7, reduction: "none" });
    case "layerNorm":
      return x.layerNorm(y, z);
    case "concat":
      return concat([x, y], { axis: axis as number });
    case "stack":
      return stack([x, y], { axis: axis as number });
    case "where":
      return where(made(condition as Listed), x, y);
    case "conv2d":
      return x.conv2d(y, z, options);
    case "add":
    case "sub":
    case "mul":
    case "div":
    case "minimum":
    case "maximum":
    case "matmul":
      return x[name](y);
    default:
      return x[name as "exp" | "transpose"]();
  }
}

test.each(recorded.operations.map((entry) => [`${entry.name} ${JSON.stringify(entry.inputs.map(({ shape }) => shape))}`, entry] as const))(
  "the values and gradients are PyTorch's: %s",
  (_, entry) => {
    scope(() => {
      const inputs = entry.inputs.map((input) => made(input, true));
      const output = run(entry, inputs);
      expect(output.shape).toEqual(entry.output.shape);
      expectClose(output.toArray(), entry.output, "output");
      backward(weighted(output));
      entry.gradients.forEach((wanted, at) =>
        expectClose(inputs[at]?.grad ?? new Float32Array(wanted.data.length), wanted, `gradient ${at}`),
      );
    });
  },
);

const layers: Record<string, { layer: () => Layer; run: (layer: Layer, x: Tensor) => Tensor }> = {
  Mlp: { layer: () => new Mlp([3, 8, 2]), run: (layer, x) => (layer as Mlp).forward(x) },
  LayerNorm: { layer: () => new LayerNorm(5), run: (layer, x) => (layer as LayerNorm).forward(x) },
  Conv2d: { layer: () => new Conv2d(3, 4, 3, { stride: 2, padding: 1 }), run: (layer, x) => (layer as Conv2d).forward(x) },
  Lstm: { layer: () => new Lstm(3, 4), run: (layer, x) => (layer as Lstm).forward(x).output },
  Gru: { layer: () => new Gru(3, 4), run: (layer, x) => (layer as Gru).forward(x).output },
};

test.each(recorded.layers.map((entry) => [entry.name, entry] as const))(
  "a layer with PyTorch's weights computes as it does: %s",
  (name, entry) => {
    const { layer: make, run: forward } = layers[name] as (typeof layers)[string];
    const layer = make();
    layer.load(new Map(Object.entries(entry.parameters).map(([key, { shape, data }]) => [key, { shape, data: Float32Array.from(data) }])));
    scope(() => {
      const inputs = entry.inputs.map((input) => made(input, true));
      const output = forward(layer, inputs[0] as Tensor);
      expectClose(output.toArray(), entry.output, "output");
      backward(weighted(output));
      entry.gradients.forEach((wanted, at) => expectClose(inputs[at]?.grad ?? null, wanted, `gradient ${at}`));
      for (const [key, node] of layer.namedParameters())
        expectClose(toStored(node.grad as Float32Array, node.shape, layoutOf(node)), entry.parameterGradients[key] as Listed, key);
    });
    const saved = loadSafetensors(saveSafetensors(layer));
    for (const [key, { shape, data }] of Object.entries(entry.parameters))
      expect(saved.get(key)).toEqual({ shape, data: Float32Array.from(data) });
  },
);

type Distribution = { logp(values: Tensor | number[]): Tensor; entropy(): Tensor; kl(other: never): Tensor };
const distributions: Record<string, (first: Tensor, second: Tensor) => Distribution> = {
  Categorical: (logits) => new Categorical(logits) as Distribution,
  Bernoulli: (logits) => new Bernoulli(logits) as Distribution,
  Normal: (mean, logStd) => new Normal(mean, logStd),
  SquashedNormal: (mean, logStd) => new SquashedNormal(mean, logStd, { low: -1, high: 3 }),
};

test.each(recorded.distributions.map((entry) => [entry.name, entry] as const))(
  "log-probabilities, entropies and divergences are PyTorch's: %s",
  (name, entry) => {
    scope(() => {
      const make = distributions[name] as (typeof distributions)[string];
      const parameters = entry.parameters.map((parameter) => made(parameter, true));
      const distribution = make(...(parameters as [Tensor, Tensor]));
      const logp = distribution.logp(entry.values.data);
      expectClose(logp.toArray(), entry.logp, "logp");
      backward(weighted(logp));
      entry.gradients.forEach((wanted, at) => expectClose(parameters[at]?.grad ?? null, wanted, `gradient ${at}`));
      if (entry.entropy !== undefined) expectClose(distribution.entropy().toArray(), entry.entropy, "entropy");
      if (entry.other !== undefined && entry.kl !== undefined)
        expectClose(
          distribution.kl(make(...(entry.other.map((parameter) => made(parameter)) as [Tensor, Tensor])) as never).toArray(),
          entry.kl,
          "kl",
        );
    });
  },
);

class Bare extends Layer {
  readonly numbers: Tensor;
  constructor(start: number[]) {
    super();
    this.numbers = this.parameter("numbers", [start.length], (numbers) => numbers.set(start));
  }
}

const optimizers: Record<string, (layer: Layer, options: Record<string, number>) => Optimizer> = {
  Adam: (layer, { lr = 0 }) => new Adam(layer, { lr }),
  "Adam with decay": (layer, { lr = 0, weight_decay: weightDecay = 0, eps = 0 }) => new Adam(layer, { lr, weightDecay, eps }),
  AdamW: (layer, { lr = 0, weight_decay: weightDecay = 0 }) => new AdamW(layer, { lr, weightDecay }),
  RMSProp: (layer, { lr = 0, alpha = 0 }) => new RMSProp(layer, { lr, alpha }),
  SGD: (layer, { lr = 0 }) => new SGD(layer, { lr }),
  "SGD with momentum": (layer, { lr = 0, momentum = 0, weight_decay: weightDecay = 0 }) => new SGD(layer, { lr, momentum, weightDecay }),
  "clipped SGD": (layer, { lr = 0 }) => new SGD(layer, { lr, maxGradNorm: 0.5 }),
};

test.each(recorded.optimizers.map((entry) => [entry.name, entry] as const))(
  "each step is PyTorch's, also from a state: %s",
  (name, entry) => {
    const make = optimizers[name] as (typeof optimizers)[string];
    let layer = new Bare(entry.start.data);
    let optimizer = make(layer, entry.options);
    entry.gradients.forEach(({ data }, at) => {
      layer.parameters.gradients.set(data);
      optimizer.step();
      expectClose(layer.numbers.toArray(), entry.after[at] as Listed, `step ${at}`);
      const next = new Bare(Array.from(layer.numbers.toArray()));
      const state = optimizer.getState();
      optimizer = make(next, entry.options);
      optimizer.setState(state);
      layer = next;
    });
  },
);

test("a file of Python's safetensors is read, doubles too", () => {
  const stored = loadSafetensors(Buffer.from(recorded.safetensors, "base64"));
  expect(stored.get("bias")?.shape).toEqual([3]);
  expect(stored.get("weight")?.shape).toEqual([2, 3]);
  expect(stored.size).toBe(2);
  for (const { data } of stored.values()) for (const value of data) expect(Math.round(value * 256)).toBe(value * 256);
});

test("a MultiCategorical is its parts", () => {
  scope(() => {
    const logits = made(recorded.distributions[0]?.parameters[0] as Listed);
    const [left, right] = [new Categorical(logits.slice({ axis: 1, end: 2 })), new Categorical(logits.slice({ axis: 1, start: 2 }))];
    const both = new MultiCategorical(logits, [2, 3]);
    expect(both.logp([0, 2, 1, 1, 0, 0, 1, 2]).toArray()).toEqual(
      left
        .logp([0, 1, 0, 1])
        .add(right.logp([2, 1, 0, 2]))
        .toArray(),
    );
    expect(both.entropy().toArray()).toEqual(left.entropy().add(right.entropy()).toArray());
    expect(both.mode().filter((_, at) => at % 2 === 0)).toEqual(left.mode());
    expect(
      both
        .kl(new MultiCategorical(logits, [2, 3]))
        .sum()
        .item(),
    ).toBeCloseTo(0, 6);
  });
});
