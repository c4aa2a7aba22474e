import { expect, test } from "vitest";
import { Adam, backward, Categorical, Layer, Linear, Mlp, noGrad, Random, scope, Tensor, tensor, withRandom } from "./index.ts";

const seeded = <Result>(f: () => Result): Result => withRandom(new Random(1), f);

test("the parameters of a network lie side by side, and those of a part are a part of them", () => {
  class Network extends Layer {
    readonly body = this.add("body", new Mlp([3, 4, 5]));
    readonly head = this.add("head", new Linear(5, 2));
  }
  const network = seeded(() => new Network());
  const own = network.head.parameters;
  const before = own.data.slice();
  expect(Array.from(network.parameters.tensors.keys())).toEqual([
    "body.0.weight",
    "body.0.bias",
    "body.2.weight",
    "body.2.bias",
    "head.weight",
    "head.bias",
  ]);
  expect(network.parameters.size).toBe(3 * 4 + 4 + 4 * 5 + 5 + 5 * 2 + 2);
  expect(own.data).toEqual(before);
  network.parameters.data.fill(7);
  expect(own.data).toEqual(new Float32Array(12).fill(7));
  backward(network.head.forward(network.body.forward(tensor([[1, 2, 3]]))).sum());
  expect(Array.from(network.parameters.gradients.slice(-2))).toEqual([1, 1]);
  expect(network.head.bias?.grad).toEqual(Float32Array.of(1, 1));
  network.parameters.zeroGrad();
  expect(network.parameters.gradients.every((value) => value === 0)).toBe(true);
});

test("a layer belongs to one module, and parts have names of their own", () => {
  const shared = new Linear(2, 2);
  class Pair extends Layer {
    readonly shared = this.add("shared", shared);
    readonly own = this.add("own", new Linear(2, 2));
  }
  expect(new Pair().parameters.size).toBe(12);
  expect(() => new Pair().parameters).toThrow(/a layer is a part of two modules/);
  class Twice extends Layer {
    readonly one = this.add("a", new Linear(1, 1));
    readonly two = this.add("a", new Linear(1, 1));
  }
  expect(() => new Twice()).toThrow('received "a". The names are a.');
});

test("parameters outlive the scope in which their layer was made", () => {
  const layer = scope(() => new Linear(2, 1, { initializer: "zeros" }));
  expect(layer.forward(tensor([[1, 2]])).item()).toBe(0);
});

test("first weights come from the seed, within PyTorch's limits, or at right angles", () => {
  const weights = (options: object): Float32Array => seeded(() => new Linear(16, 4, options)).weight.toArray();
  expect(weights({})).toEqual(weights({}));
  expect(Math.max(...weights({}).map(Math.abs))).toBeLessThanOrEqual(0.25);
  expect(Math.max(...weights({ gain: 0.01 }).map(Math.abs))).toBeLessThanOrEqual(0.0025);
  expect(weights({ initializer: "zeros" }).every((value) => value === 0)).toBe(true);
  for (const [inputs, outputs] of [
    [16, 4],
    [4, 16],
  ] as const) {
    const layer = seeded(() => new Linear(inputs, outputs, { initializer: "orthogonal", gain: 2 }));
    const w = layer.weight.detach();
    const product = inputs > outputs ? w.transpose().matmul(w) : w.matmul(w.transpose());
    product.toArray().forEach((value, at) => expect(value).toBeCloseTo(at % 5 === 0 ? 4 : 0, 5));
    expect(layer.bias?.toArray().every((value) => value === 0)).toBe(true);
  }
});

test("Adam takes the steps of its paper, and clips by the norm over all parameters", () => {
  const layer = new Linear(1, 1, { initializer: "zeros" });
  const optimizer = new Adam(layer, { lr: 0.1, maxGradNorm: 1 });
  let [m, v, w] = [0, 0, 0];
  for (let step = 1; step <= 5; step++) {
    optimizer.zeroGrad();
    backward(
      layer
        .forward(tensor([[3]]))
        .sub(6)
        .square()
        .mean(),
    );
    const gradients = layer.parameters.gradients.slice();
    const norm = Math.hypot(...gradients);
    expect(optimizer.step()).toBeCloseTo(norm, 4);
    const gradient = (gradients[0] as number) * Math.min(1, 1 / (norm + 1e-6));
    m = 0.9 * m + 0.1 * gradient;
    v = 0.999 * v + 0.001 * gradient ** 2;
    w -= (0.1 * (m / (1 - 0.9 ** step))) / (Math.sqrt(v / (1 - 0.999 ** step)) + 1e-8);
    expect(layer.weight.item()).toBeCloseTo(w, 5);
  }
});

test("a gradient that is not a number changes nothing", () => {
  const layer = seeded(() => new Linear(2, 2));
  const optimizer = new Adam(layer);
  const before = layer.parameters.data.slice();
  backward(layer.forward(tensor([[Number.NaN, 1]])).sum());
  expect(optimizer.step()).toBeNaN();
  expect(layer.parameters.data).toEqual(before);
  expect(optimizer.getState().step).toBe(0);
});

test("an optimizer goes on from its state bit by bit", () => {
  const make = (): { layer: Linear; optimizer: Adam } => {
    const layer = seeded(() => new Linear(3, 2));
    return { layer, optimizer: new Adam(layer) };
  };
  const step = ({ layer, optimizer }: { layer: Linear; optimizer: Adam }): void => {
    optimizer.zeroGrad();
    backward(
      layer
        .forward(tensor([[1, 2, 3]]))
        .square()
        .mean(),
    );
    optimizer.step();
  };
  const [first, second] = [make(), make()];
  for (let i = 0; i < 3; i++) step(first);
  second.layer.parameters.data.set(first.layer.parameters.data);
  second.optimizer.setState(first.optimizer.getState());
  step(first);
  step(second);
  expect(second.layer.parameters.data).toEqual(first.layer.parameters.data);
  expect(() => second.optimizer.setState({ ...first.optimizer.getState(), expAvg: new Float32Array(1) })).toThrow(
    "expAvg has a number for each of 8 parameters: received 1",
  );
});

test("a small network learns which of two numbers is larger", () => {
  const random = new Random(3);
  const network = withRandom(random, () => new Mlp([2, 16, 2]));
  const optimizer = new Adam(network, { lr: 0.01 });
  const draw = (): { x: Tensor; y: number[] } => {
    const numbers = Array.from({ length: 64 }, () => [random.normal(), random.normal()] as const);
    return { x: tensor(numbers), y: numbers.map(([a, b]) => (a > b ? 1 : 0)) };
  };
  for (let step = 0; step < 200; step++) {
    scope(() => {
      const { x, y } = draw();
      optimizer.zeroGrad();
      backward(new Categorical(network.forward(x)).logp(y).mean().neg());
      optimizer.step();
    });
  }
  scope(() => {
    const { x, y } = draw();
    const right = new Categorical(noGrad(() => network.forward(x))).mode().filter((choice, at) => choice === y[at]).length;
    expect(right).toBeGreaterThan(58);
  });
});

test("a Categorical draws as often as its probabilities say, and never what its mask forbids", () => {
  const random = new Random(5);
  const logits = tensor([[0, Math.log(3), 50]]);
  const masked = new Categorical(logits, { mask: [1, 1, 0] });
  const counts = [0, 0, 0];
  for (let i = 0; i < 4000; i++) {
    const choice = masked.sample(random)[0] as number;
    counts[choice] = (counts[choice] as number) + 1;
  }
  expect(counts[2]).toBe(0);
  expect((counts[1] as number) / 4000).toBeCloseTo(0.75, 1);
  expect(masked.mode()).toEqual(Int32Array.of(1));
  expect(masked.logp([1]).item()).toBeCloseTo(Math.log(0.75), 5);
  expect(masked.entropy().item()).toBeCloseTo(-(0.75 * Math.log(0.75) + 0.25 * Math.log(0.25)), 5);
  expect(new Categorical(tensor([[0, 0]])).kl(new Categorical(tensor([[0, Math.log(3)]]))).item()).toBeCloseTo(
    0.5 * Math.log(0.5 / 0.25) + 0.5 * Math.log(0.5 / 0.75),
    5,
  );
  expect(() => new Categorical(logits, { mask: [0, 0, 0] })).toThrow("received a mask of zeros in row 0");
  expect(() => new Categorical(logits, { mask: [1] })).toThrow("received 1 numbers for shape [1, 3]");
  expect(() => new Categorical(tensor([1, 2]))).toThrow("received shape [2]");
});

test("random streams repeat, differ by path, and go on from their state", () => {
  const draw = (random: Random): number[] => Array.from({ length: 5 }, () => random.uniform());
  expect(draw(new Random(1, "a"))).toEqual(draw(new Random(1, "a")));
  expect(draw(new Random(1, "a"))).not.toEqual(draw(new Random(1, "b")));
  expect(draw(new Random(1, "a"))).not.toEqual(draw(new Random(2, "a")));
  expect(draw(new Random())).not.toEqual(draw(new Random()));
  const random = new Random(7);
  random.normal();
  const copy = new Random(1);
  copy.setState(JSON.parse(JSON.stringify(random.getState())) as number[]);
  expect([copy.normal(), ...draw(copy)]).toEqual([random.normal(), ...draw(random)]);
  expect(() => copy.setState([1])).toThrow("received [1]");
});

test("random numbers have the moments of their distributions", () => {
  const random = new Random(11);
  const mean = (f: () => number): number => Array.from({ length: 20_000 }, f).reduce((sum, value) => sum + value) / 20_000;
  expect(mean(() => random.uniform())).toBeCloseTo(0.5, 1);
  expect(mean(() => random.uniform() ** 2)).toBeCloseTo(1 / 3, 1);
  expect(mean(() => random.normal())).toBeCloseTo(0, 1);
  expect(mean(() => random.normal() ** 2)).toBeCloseTo(1, 1);
  expect(mean(() => random.integer(3))).toBeCloseTo(1, 1);
  expect(random.shuffle([1, 2, 3, 4]).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
});

test.each<[string, () => unknown, string]>([
  ["sizes", () => new Mlp([3]), "received [3]"],
  ["an activation", () => new Mlp([3, 1], { activation: "gelu" as "relu" }), 'received "gelu"'],
  ["an initializer", () => new Linear(3, 1, { initializer: "he" as "zeros" }), 'received "he"'],
  ["a learning rate", () => new Adam(new Linear(1, 1), { lr: -1 }), "lr is numbers from 0 on: received -1"],
  ["a seed", () => new Random(0.5), "received 0.5"],
  ["a limit", () => new Random(1).integer(0), "received 0"],
])("bad options are errors that show them: %s", (_, f, text) => {
  expect(f).toThrow(RangeError);
  expect(f).toThrow(text);
});
