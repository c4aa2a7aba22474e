import { expect, test } from "vitest";
import {
  Adam,
  AdamW,
  backward,
  Bernoulli,
  Categorical,
  concat,
  Conv2d,
  Embedding,
  Gru,
  keep,
  Lstm,
  Mlp,
  MultiCategorical,
  NoisyLinear,
  Normal,
  Random,
  RMSProp,
  scope,
  SGD,
  SquashedNormal,
  stack,
  tensor,
  TwoHot,
  where,
  withRandom,
  zeros,
} from "./index.ts";
import { memory } from "./memory.ts";

const seeded = <Result>(f: () => Result): Result => withRandom(new Random(1), f);

test("100,000 steps take no more memory than the first, also where each tenth throws", () => {
  const network = seeded(() => new Mlp([2, 4, 1]));
  const optimizer = new Adam(network);
  const step = (fails: boolean): void => {
    try {
      scope(() => {
        const x = tensor([[1, 2]]);
        optimizer.zeroGrad();
        backward(keep(network.forward(x)).square().mean());
        if (fails) throw new RangeError("on purpose");
        optimizer.step();
      });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  };
  for (let i = 0; i < 20; i++) step(i % 10 === 9);
  const before = memory.usedBytes;
  // Kept tensors outside of all scopes are freed by the collector, so this loop is in one.
  scope(() => {
    for (let i = 0; i < 100_000; i++) scope(() => step(i % 10 === 9));
  });
  expect(memory.usedBytes - before).toBeLessThan(2 * 1024 * 1024);
});

test("a convolution of `same` padding keeps the size, and slides by its stride", () => {
  scope(() => {
    const images = zeros([2, 7, 5, 3]);
    expect(new Conv2d(3, 4, 3, { padding: "same" }).forward(images).shape).toEqual([2, 7, 5, 4]);
    expect(new Conv2d(3, 4, [4, 3], { padding: "same", stride: 2 }).forward(images).shape).toEqual([2, 4, 3, 4]);
    const ones = tensor(new Float32Array(9).fill(1), { shape: [1, 3, 3, 1] });
    const sums = ones.conv2d(tensor(new Float32Array(9).fill(1), { shape: [3, 3, 1, 1] }), null, { padding: "same" });
    expect(Array.from(sums.toArray())).toEqual([4, 6, 4, 6, 9, 6, 4, 6, 4]);
  });
});

test("recurrent layers go on from a state as in one piece", () => {
  scope(() => {
    const x = tensor(
      Float32Array.from({ length: 2 * 6 * 3 }, (_, at) => Math.sin(at)),
      { shape: [2, 6, 3] },
    );
    const [head, tail] = [x.slice({ axis: 1, end: 4 }), x.slice({ axis: 1, start: 4 })];
    const lstm = seeded(() => new Lstm(3, 4));
    const first = lstm.forward(head);
    expect(concat([first.output, lstm.forward(tail, first.state).output], { axis: 1 }).toArray()).toEqual(lstm.forward(x).output.toArray());
    const gru = seeded(() => new Gru(3, 4));
    const before = gru.forward(head);
    expect(concat([before.output, gru.forward(tail, before.state).output], { axis: 1 }).toArray()).toEqual(gru.forward(x).output.toArray());
  });
});

test("a noisy layer has new noise at each call, none for greedy choices, and gradients for its deviations", () => {
  const layer = seeded(() => new NoisyLinear(4, 3));
  scope(() => {
    const x = tensor([[1, 2, 3, 4]]);
    expect(layer.forward(x).toArray()).not.toEqual(layer.forward(x).toArray());
    expect(layer.forward(x, { noisy: false }).toArray()).toEqual(x.linear(layer.weightMu, layer.biasMu).toArray());
    const state = layer.noise.getState();
    const again = layer.forward(x).toArray();
    layer.noise.setState(state);
    expect(layer.forward(x).toArray()).toEqual(again);
    backward(layer.forward(x).sum());
    expect(layer.weightSigma.grad?.some((value) => value !== 0)).toBe(true);
  });
});

test("an embedding gives rows, and adds gradients of rows that come twice", () => {
  const embedding = seeded(() => new Embedding(4, 2));
  scope(() => {
    const out = embedding.forward([1, 3, 1]);
    expect(out.shape).toEqual([3, 2]);
    backward(out.sum());
    expect(Array.from(embedding.weight.grad ?? [])).toEqual([0, 0, 2, 2, 0, 0, 1, 1]);
  });
});

test("`where` gives no gradient to numbers that were not chosen, and hides their NaN", () => {
  scope(() => {
    const [yes, no] = [tensor([1, Number.NaN, 3], { requiresGrad: true }), tensor([4, 5, Infinity], { requiresGrad: true })];
    const out = where(tensor([1, 0, 1]), yes, no);
    expect(Array.from(out.toArray())).toEqual([1, 5, 3]);
    backward(out.sum());
    expect([Array.from(yes.grad ?? []), Array.from(no.grad ?? [])]).toEqual([
      [1, 0, 1],
      [0, 1, 0],
    ]);
  });
});

test("draws have the moments of their distributions", () => {
  const random = new Random(3);
  const rows = 4000;
  scope(() => {
    const normal = new Normal(zeros([rows, 1]).add(2), tensor([Math.log(0.5)]));
    const drawn = normal.sample(random);
    const mean = drawn.reduce((sum, value) => sum + value) / rows;
    expect(mean).toBeCloseTo(2, 1);
    expect(drawn.reduce((sum, value) => sum + (value - mean) ** 2, 0) / rows).toBeCloseTo(0.25, 1);
    const coins = new Bernoulli(zeros([rows, 1]).add(Math.log(3)));
    expect(coins.sample(random).reduce((sum, value) => sum + value, 0) / rows).toBeCloseTo(0.75, 1);
    expect(coins.mode()[0]).toBe(1);
    const pairs = new MultiCategorical(tensor([[0, 50, 50, 0, 0]]), [2, 3]);
    expect(Array.from(pairs.sample(random))).toEqual([1, 0]);
    expect(Array.from(new MultiCategorical(tensor([[0, 5, 5, 0, 0]]), [2, 3], { mask: [1, 0, 0, 1, 1] }).mode())).toEqual([0, 1]);
  });
});

test("a squashed draw stays within its limits, and its log-probability agrees with that of the value", () => {
  scope(() => {
    const policy = new SquashedNormal(tensor([[0.3, -1]], { requiresGrad: true }), tensor([-0.5, 0.2]), { low: -2, high: 4 });
    const { value, logp } = policy.rsample(new Random(4));
    expect(policy.logp(value).item()).toBeCloseTo(logp.item(), 3);
    for (const number of value.toArray()) expect(Math.abs(number - 1)).toBeLessThanOrEqual(3);
    backward(logp.sum());
    expect(policy.base.mean.grad?.some((number) => number !== 0)).toBe(true);
    expect(policy.mode()[0]).toBeCloseTo(Math.tanh(0.3) * 3 + 1, 4);
    expect(policy.logp([[4, -2]]).item()).not.toBeNaN();
    expect(policy.kl(policy).item()).toBeCloseTo(0, 6);
    expect(Number.isFinite(policy.entropy().item())).toBe(true);
  });
});

test("a number between two points is the weighted mean of both", () => {
  scope(() => {
    const logits = tensor([[0, 1, 2]]);
    const scale = new TwoHot(logits, [-1, 0, 2]);
    const logp = logits.logSoftmax().toArray();
    expect(scale.logp([0.5]).item()).toBeCloseTo(0.75 * (logp[1] as number) + 0.25 * (logp[2] as number), 5);
    expect(scale.logp([0]).item()).toBeCloseTo(logp[1] as number, 5);
    expect(scale.logp([9]).item()).toBeCloseTo(logp[2] as number, 5);
    expect(scale.mode()[0]).toBeCloseTo(-Math.exp(logp[0] as number) + 2 * Math.exp(logp[2] as number), 5);
    expect([-1, 0, 2]).toContain(scale.sample(new Random(1))[0]);
  });
});

test.each<[string, () => unknown, string]>([
  ["a kernel that is too large", () => zeros([1, 2, 2, 1]).conv2d(zeros([3, 3, 1, 1])), "received a kernel of 3 x 3 and an image of 2 x 2"],
  ["channels", () => zeros([1, 4, 4, 2]).conv2d(zeros([3, 3, 1, 1])), "received [1, 4, 4, 2] and [3, 3, 1, 1]"],
  ["a stride", () => new Conv2d(1, 1, 1, { stride: 0 }).forward(zeros([1, 1, 1, 1])), "received stride 0"],
  ["concat", () => concat([zeros([2, 3]), zeros([3, 2])]), "received [2, 3] and [3, 2]"],
  ["concat of none", () => concat([]), "received an empty list"],
  ["stack", () => stack([zeros([2]), zeros([3])]), "received [2] and [3]"],
  ["mseLoss", () => zeros([2]).mseLoss(zeros([1])), "received [2] and [1]"],
  ["delta", () => zeros([2]).huberLoss(zeros([2]), { delta: 0 }), "received 0"],
  ["a reduction", () => zeros([2]).mseLoss(zeros([2]), { reduction: "sum" as "mean" }), 'received "sum"'],
  ["layerNorm", () => zeros([2, 3]).layerNorm(zeros([2])), "received [2, 3] and [2]"],
  ["a sequence", () => new Lstm(2, 2).forward(zeros([2, 2])), "received shape [2, 2]"],
  [
    "a cell's state",
    () =>
      zeros([1, 2])
        .gruCell(zeros([1, 3]), new Gru(2, 3))
        .add(zeros([1, 3]).gruCell(zeros([1, 3]), new Gru(2, 3))),
    "received [1, 3]",
  ],
  ["Normal", () => new Normal(zeros([2, 3]), zeros([2])), "received [2, 3] and [2]"],
  ["limits", () => new SquashedNormal(zeros([1, 1]), zeros([1]), { low: 1, high: 1 }), "received 1 and 1"],
  ["Bernoulli", () => new Bernoulli(zeros([2])), "received shape [2]"],
  ["counts", () => new MultiCategorical(zeros([1, 4]), [2, 3]), "received shape [1, 4] and counts [2, 3]"],
  ["a mask", () => new MultiCategorical(zeros([1, 5]), [2, 3], { mask: [1] }), "received 1 numbers"],
  ["choices", () => new MultiCategorical(zeros([1, 5]), [2, 3]).logp([0]), "received 1 choices"],
  ["points", () => new TwoHot(zeros([1, 2]), [1, 1]), "received 2 points"],
  ["values of TwoHot", () => new TwoHot(zeros([1, 2]), [0, 1]).logp([0, 1]), "received 2"],
  ["momentum", () => new SGD(new Embedding(1, 1), { momentum: 1 }), "momentum is a number from 0 to below 1: received 1"],
  ["alpha", () => new RMSProp(new Embedding(1, 1), { alpha: 2 }), "received 2"],
  ["decay", () => new AdamW(new Embedding(1, 1), { weightDecay: Number.NaN }), "received NaN"],
  ["a norm", () => new Adam(new Embedding(1, 1), { maxGradNorm: 0 }), "received 0"],
  ["a Categorical's index", () => new Categorical(zeros([1, 2])).logp([2]), "received 2 at 0"],
])("bad input is a RangeError that shows it: %s", (_, f, text) => {
  expect(f).toThrow(RangeError);
  expect(f).toThrow(text);
});
