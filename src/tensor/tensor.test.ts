import fc from "fast-check";
import { expect, test } from "vitest";
import { backward, keep, noGrad, scope, type Tensor, tensor, zeros } from "./index.ts";
import { memory } from "./memory.ts";

/** Gradients by differences, with the step at which float32 rounds as much as the difference is wrong. */
function expectGradients(f: (...inputs: Tensor[]) => Tensor, ...inputs: { numbers: readonly number[]; shape: readonly number[] }[]): void {
  scope(() => {
    const leaves = inputs.map(({ numbers, shape }) => tensor(numbers, { shape, requiresGrad: true }));
    const out = f(...leaves);
    // Different weights of the outputs keep errors from cancelling each other.
    const weights = tensor(
      Array.from({ length: out.size }, (_, i) => 0.5 + ((i * 7) % 5) / 4),
      { shape: out.shape },
    );
    backward(out.mul(weights).sum());
    const valueAt = (which: number, at: number, by: number): number =>
      scope(() => {
        const moved = inputs.map(({ numbers, shape }, index) =>
          tensor(index === which ? numbers.with(at, (numbers[at] as number) + by) : numbers, { shape }),
        );
        const values = f(...moved).toArray();
        return weights.toArray().reduce((sum, weight, i) => sum + weight * (values[i] as number), 0);
      });
    leaves.forEach((leaf, which) => {
      const gradient = leaf.grad as Float32Array;
      gradient.forEach((value, at) => {
        const step = 2 ** -8;
        const difference = (valueAt(which, at, step) - valueAt(which, at, -step)) / (2 * step);
        expect(Math.abs(value - difference), `input ${which}, number ${at}: ${value}, by differences ${difference}`).toBeLessThan(
          0.01 + 0.01 * Math.abs(difference),
        );
      });
    });
  });
}

/** Numbers that are no closer to each other, to 0 and to whole numbers than a difference's step. */
const spread = (count: number, seed: number, low = -2, high = 2): number[] =>
  Array.from({ length: count }, (_, i) => {
    const at = ((i * 0.618034 + seed * 0.137) % 1) * (high - low) + low;
    return Math.round(at * 32) / 32 + 1 / 64;
  });

const unaryCases: Record<string, [(x: Tensor) => Tensor, (x: number) => number, number?, number?]> = {
  neg: [(x) => x.neg(), (x) => -x],
  exp: [(x) => x.exp(), Math.exp],
  log: [(x) => x.log(), Math.log, 0.2, 3],
  sqrt: [(x) => x.sqrt(), Math.sqrt, 0.2, 3],
  square: [(x) => x.square(), (x) => x * x],
  abs: [(x) => x.abs(), Math.abs],
  tanh: [(x) => x.tanh(), Math.tanh],
  sigmoid: [(x) => x.sigmoid(), (x) => 1 / (1 + Math.exp(-x))],
  relu: [(x) => x.relu(), (x) => Math.max(0, x)],
  elu: [(x) => x.elu(), (x) => (x < 0 ? Math.expm1(x) : x)],
  silu: [(x) => x.silu(), (x) => x / (1 + Math.exp(-x))],
  softplus: [(x) => x.softplus(), (x) => Math.log1p(Math.exp(x))],
  clamp: [(x) => x.clamp(-1, 1.5), (x) => Math.min(1.5, Math.max(-1, x))],
  "add a number": [(x) => x.add(3), (x) => x + 3],
  "subtract a number": [(x) => x.sub(3), (x) => x - 3],
  "multiply by a number": [(x) => x.mul(-2), (x) => x * -2],
  "divide by a number": [(x) => x.div(3), (x) => x / 3],
};

test.each(Object.entries(unaryCases))("%s gives the values of mathematics and the gradients of differences", (_, [f, plain, low, high]) => {
  for (const count of [1, 3, 4, 7, 8, 9, 33]) {
    const numbers = spread(count, count, low, high);
    scope(() => {
      f(tensor(numbers))
        .toArray()
        .forEach((value, i) => expect(value).toBeCloseTo(plain(numbers[i] as number), 5));
    });
    expectGradients(f, { numbers, shape: [count] });
  }
});

test("functions keep to mathematics at the ends of float32", () => {
  scope(() => {
    const values = (f: (x: Tensor) => Tensor, ...numbers: number[]): number[] => Array.from(f(tensor(numbers)).toArray());
    expect(values((x) => x.exp(), 0, -Infinity, Infinity, 200, -200)).toEqual([1, 0, Infinity, Infinity, 0]);
    expect(values((x) => x.exp(), -100)[0]).toBeCloseTo(3.78e-44, 45);
    expect(values((x) => x.log(), 1, 0, Infinity, -1)).toEqual([0, -Infinity, Infinity, Number.NaN]);
    expect(values((x) => x.log(), 1e-40)[0]).toBeCloseTo(Math.log(1e-40), 3);
    expect(values((x) => x.tanh(), 0, Infinity, -Infinity, 1e-30)).toEqual([0, 1, -1, Math.fround(1e-30)]);
    expect(values((x) => x.sigmoid(), Infinity, -Infinity, 0)).toEqual([1, 0, 0.5]);
    expect(values((x) => x.softplus(), 1e10, -1e10)).toEqual([1e10, 0]);
    for (const f of [
      (x: Tensor) => x.relu(),
      (x: Tensor) => x.clamp(0, 1),
      (x: Tensor) => x.tanh(),
      (x: Tensor) => x.exp(),
      (x: Tensor) => x.maximum(0),
    ])
      expect(values(f, Number.NaN)).toEqual([Number.NaN]);
  });
});

const binaryCases: Record<string, [(a: Tensor, b: Tensor) => Tensor, (a: number, b: number) => number]> = {
  add: [(a, b) => a.add(b), (a, b) => a + b],
  sub: [(a, b) => a.sub(b), (a, b) => a - b],
  mul: [(a, b) => a.mul(b), (a, b) => a * b],
  div: [(a, b) => a.div(b), (a, b) => a / b],
  minimum: [(a, b) => a.minimum(b), Math.min],
  maximum: [(a, b) => a.maximum(b), Math.max],
};

/** Two shapes that can be laid over each other. */
const overlaid = fc
  .array(fc.record({ length: fc.integer({ min: 1, max: 5 }), kind: fc.constantFrom("both", "left", "right") }), { maxLength: 4 })
  .chain((axes) =>
    fc.record({
      a: fc.constant(axes.map(({ length, kind }) => (kind === "right" ? 1 : length))),
      b: fc.constant(axes.map(({ length, kind }) => (kind === "left" ? 1 : length))),
      drop: fc.integer({ min: 0, max: axes.length }),
    }),
  )
  .map(({ a, b, drop }) => ({ a, b: b.slice(0, drop).every((length) => length === 1) ? b.slice(drop) : b }));

test.each(Object.entries(binaryCases))("%s broadcasts as NumPy does, and sums the gradients of what was repeated", (_, [f, plain]) => {
  fc.assert(
    fc.property(overlaid, ({ a, b }) => {
      const size = (shape: readonly number[]): number => shape.reduce((product, length) => product * length, 1);
      const left = { numbers: spread(size(a), 1), shape: a };
      const right = { numbers: spread(size(b), 2, 0.6, 2.6).map((value) => value + 1 / 128), shape: b };
      scope(() => {
        const out = f(tensor(left.numbers, { shape: a }), tensor(right.numbers, { shape: b }));
        expect(out.shape).toEqual(a.map((length, axis) => Math.max(length, b[axis - a.length + b.length] ?? 1)));
        out.toArray().forEach((value, index) => {
          const at = (shape: readonly number[]): number => {
            let [rest, offset, stride] = [index, 0, 1];
            for (let axis = out.shape.length - 1; axis >= 0; axis--) {
              const length = out.shape[axis] as number;
              const own = shape[axis - out.shape.length + shape.length] ?? 1;
              offset += (own === 1 ? 0 : rest % length) * stride;
              rest = Math.floor(rest / length);
              stride *= own;
            }
            return offset;
          };
          expect(value).toBeCloseTo(plain(left.numbers[at(a)] as number, right.numbers[at(b)] as number), 4);
        });
      });
      expectGradients(f, left, right);
    }),
    { numRuns: 25, seed: 1 },
  );
});

test("equal operands of minimum and maximum share the gradient, as in PyTorch", () => {
  const [a, b] = [tensor([1, 2], { requiresGrad: true }), tensor([1, 3], { requiresGrad: true })];
  backward(a.minimum(b).sum());
  expect([a.grad, b.grad]).toEqual([Float32Array.of(0.5, 1), Float32Array.of(0.5, 0)]);
});

test("products of matrices of random sizes equal the sums by hand, and their gradients those of differences", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 14 }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 35 }),
      (rows, terms, columns) => {
        const a = { numbers: spread(rows * terms, 1), shape: [rows, terms] };
        const b = { numbers: spread(terms * columns, 2), shape: [terms, columns] };
        const bias = { numbers: spread(columns, 3), shape: [columns] };
        scope(() => {
          const out = tensor(a.numbers, { shape: a.shape })
            .linear(tensor(b.numbers, { shape: b.shape }), tensor(bias.numbers))
            .toArray();
          out.forEach((value, at) => {
            const [row, column] = [Math.floor(at / columns), at % columns];
            let sum = bias.numbers[column] as number;
            for (let p = 0; p < terms; p++) sum += (a.numbers[row * terms + p] as number) * (b.numbers[p * columns + column] as number);
            expect(value).toBeCloseTo(sum, 4);
          });
        });
        if (rows * columns < 60) expectGradients((x, y, z) => x.linear(y, z), a, b, bias);
      },
    ),
    { numRuns: 40, seed: 1 },
  );
});

test("a product of more terms than a block of the kernel has is whole", () => {
  scope(() => {
    const [rows, terms, columns] = [13, 700, 37];
    const [a, b] = [spread(rows * terms, 1), spread(terms * columns, 2)];
    const out = tensor(a, { shape: [rows, terms] })
      .matmul(tensor(b, { shape: [terms, columns] }))
      .toArray();
    for (const at of [0, 36, 37 * 12, 37 * 13 - 1, 100, 333]) {
      let sum = 0;
      for (let p = 0; p < terms; p++)
        sum += (a[Math.floor(at / columns) * terms + p] as number) * (b[p * columns + (at % columns)] as number);
      expect(out[at]).toBeCloseTo(sum, 2);
    }
  });
});

test("sums, means and maxima go over any axis", () => {
  const x = { numbers: spread(24, 1), shape: [2, 3, 4] };
  scope(() => {
    const whole = tensor(x.numbers, { shape: x.shape });
    expect(whole.sum().item()).toBeCloseTo(
      x.numbers.reduce((a, b) => a + b),
      4,
    );
    expect(whole.mean().item()).toBeCloseTo(x.numbers.reduce((a, b) => a + b) / 24, 4);
    expect(whole.max().item()).toBe(Math.max(...x.numbers));
    expect(whole.sum({ axis: 1 }).shape).toEqual([2, 4]);
    expect(whole.sum({ axis: -1, keepDims: true }).shape).toEqual([2, 3, 1]);
    expect(whole.mean({ keepDims: true }).shape).toEqual([1, 1, 1]);
    expect(whole.sum({ axis: 1 }).toArray()[5]).toBeCloseTo(
      (x.numbers[13] as number) + (x.numbers[17] as number) + (x.numbers[21] as number),
      5,
    );
  });
  for (const axis of [0, 1, 2, -1]) {
    expectGradients((t) => t.sum({ axis }), x);
    expectGradients((t) => t.mean({ axis, keepDims: true }), x);
    expectGradients((t) => t.max({ axis }), x);
  }
  expectGradients((t) => t.max(), x);
  expectGradients((t) => t.mean(), x);
});

test("a mean of a million equal numbers is that number", () => {
  scope(() => expect(tensor(new Float32Array(1_000_000).fill(0.1)).mean().item()).toBe(Math.fround(0.1)));
});

test("softmax and its logarithm sum to one, stay finite, and have the gradients of differences", () => {
  for (const count of [1, 2, 5, 8, 19]) {
    const x = { numbers: spread(3 * count, count), shape: [3, count] };
    scope(() => {
      const p = tensor(x.numbers, { shape: x.shape }).softmax();
      for (const sum of p.sum({ axis: 1 }).toArray()) expect(sum).toBeCloseTo(1, 6);
      const logs = tensor(x.numbers, { shape: x.shape }).logSoftmax().toArray();
      p.toArray().forEach((value, at) => expect(Math.log(value)).toBeCloseTo(logs[at] as number, 5));
    });
    expectGradients((t) => t.softmax(), x);
    expectGradients((t) => t.logSoftmax(), x);
  }
  scope(() =>
    expect(
      tensor([[1000, 0]])
        .logSoftmax()
        .toArray(),
    ).toEqual(Float32Array.of(0, -1000)),
  );
});

test("rows, gather, slice, reshape and transpose choose numbers, and bring gradients back to them", () => {
  const x = { numbers: spread(12, 1), shape: [4, 3] };
  scope(() => {
    const t = tensor([
      [1, 2, 3],
      [4, 5, 6],
      [7, 8, 9],
      [10, 11, 12],
    ]);
    expect(Array.from(t.rows([3, 0, 3]).toArray())).toEqual([10, 11, 12, 1, 2, 3, 10, 11, 12]);
    expect(Array.from(t.gather(Int32Array.of(2, 0, 1, 1)).toArray())).toEqual([3, 4, 8, 11]);
    expect(Array.from(t.slice({ axis: 1, start: 1, end: -1 }).toArray())).toEqual([2, 5, 8, 11]);
    expect(Array.from(t.transpose().toArray())).toEqual([1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12]);
    expect(t.reshape([2, -1]).shape).toEqual([2, 6]);
  });
  expectGradients((t) => t.rows([3, 0, 3]), x);
  expectGradients((t) => t.gather([2, 0, 1, 1]), x);
  expectGradients((t) => t.slice({ axis: 1, start: 1 }), x);
  expectGradients((t) => t.transpose(), x);
  expectGradients(
    (t) =>
      t
        .transpose()
        .reshape([2, 6])
        .mul(t.reshape([2, 6])),
    x,
  );
});

test("a tensor that is used several times gets the sum of its gradients", () => {
  expectGradients((x) => x.mul(x).add(x.tanh()).mul(x.sum()), { numbers: spread(5, 1), shape: [5] });
});

test("gradients of leaves add up over calls of backward, and constants have none", () => {
  const [x, y] = [tensor([2], { requiresGrad: true }), tensor([3])];
  backward(x.mul(y).sum());
  backward(x.mul(y).sum());
  expect(x.grad).toEqual(Float32Array.of(6));
  expect(y.grad).toBeNull();
});

test("gradients end at detach, and noGrad makes constants", () => {
  const x = tensor([2], { requiresGrad: true });
  backward(x.detach().mul(x).sum());
  expect(x.grad).toEqual(Float32Array.of(2));
  expect(noGrad(() => x.mul(2)).requiresGrad).toBe(false);
  expect(() => backward(noGrad(() => x.sum()))).toThrow(/nothing below the loss wants one/);
});

test("a tensor ends with its scope, and keep lets it out", () => {
  const [kept, lost] = scope(() => {
    const x = tensor([1, 2], { requiresGrad: true });
    return [keep(x.mul(2)), x];
  });
  expect(kept.toArray()).toEqual(Float32Array.of(2, 4));
  expect(kept.requiresGrad).toBe(false);
  scope(() => tensor(new Float32Array(1000).fill(9)));
  expect(kept.toArray()).toEqual(Float32Array.of(2, 4));
  expect(() => lost.toArray()).toThrow(/its scope has ended: received a tensor of shape \[2\]/);
  expect(() => lost.add(1)).toThrow(/keep\(\)/);
});

test("keep lets a tensor out of the innermost scope alone", () => {
  let inner: Tensor | undefined;
  scope(() => {
    inner = scope(() => keep(tensor([5]).add(1)));
    expect(inner.item()).toBe(6);
  });
  expect(() => inner?.item()).toThrow(/scope has ended/);
});

test("a scope whose function is asynchronous is an error", () => {
  expect(() => scope(async () => 1)).toThrow(
    new TypeError("Cannot run a scope: its function is asynchronous: received a promise. Await outside of scope()."),
  );
});

test("steps use the same memory again, also where a scope throws", () => {
  const step = (fails: boolean): void => {
    try {
      scope(() => {
        const x = tensor(new Float32Array(64).fill(0.1), { shape: [8, 8], requiresGrad: true });
        keep(x.mul(2));
        backward(x.matmul(x).tanh().mean());
        if (fails) throw new RangeError("on purpose");
        scope(() => keep(x.add(1)));
      });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  };
  const hold: Tensor[] = [];
  for (let i = 0; i < 10; i++) step(i % 2 === 0);
  hold.push(zeros([4]));
  const before = memory.usedBytes;
  for (let i = 0; i < 2000; i++) step(true);
  expect(memory.usedBytes).toBe(before);
});

test("the arena grows beyond its first size, and tensors keep their numbers", () => {
  const before = tensor([1, 2, 3]);
  scope(() => {
    const large = tensor(new Float32Array(2_000_000).fill(1));
    const larger = tensor(new Float32Array(5_000_000).fill(2));
    expect(large.sum().item()).toBe(2_000_000);
    expect(larger.sum().item()).toBe(10_000_000);
  });
  expect(before.toArray()).toEqual(Float32Array.of(1, 2, 3));
});

test.each<[string, () => unknown, string]>([
  ["add", () => zeros([2, 3]).add(zeros([2])), "Cannot add: the shapes do not fit: received [2, 3] and [2]"],
  ["matmul", () => zeros([2, 3]).matmul(zeros([2, 3])), "Cannot multiply matrices: the shapes do not fit: received [2, 3] and [2, 3]"],
  ["linear's bias", () => zeros([2, 3]).linear(zeros([3, 4]), zeros([3])), "the shapes do not fit: received [3, 4] and [3]"],
  ["reshape", () => zeros([2, 3]).reshape([4, -1]), "Cannot reshape: the shapes do not fit: received [2, 3] and [4, -1]"],
  ["transpose", () => zeros([2]).transpose(), "received shape [2]"],
  ["slice", () => zeros([2, 3]).slice({ axis: 1, end: 4 }), "received 0 to 4"],
  ["an axis", () => zeros([2, 3]).sum({ axis: 2 }), "received axis 2"],
  ["rows", () => zeros([2, 3]).rows([2]), "indices are whole numbers from 0 to 1: received 2 at 0"],
  ["rows of a number", () => zeros([]).rows([0]), "received shape []"],
  ["gather", () => zeros([2, 3]).gather([0]), "received [2, 3] and [1]"],
  ["gather's index", () => zeros([2, 3]).gather([0, 1.5]), "received 1.5 at 1"],
  ["a maximum of nothing", () => zeros([0]).max(), "received shape [0]"],
  ["clamp", () => zeros([1]).clamp(2, 1), "received 2 and 1"],
  ["item", () => zeros([2]).item(), "received shape [2]"],
  ["a loss of two", () => backward(tensor([1, 2], { requiresGrad: true })), "received a tensor of shape [2]"],
  ["tensor of another shape", () => tensor([1, 2], { shape: [3] }), "has 3 numbers: received shape [2]"],
  ["tensor of a typed array", () => tensor(Float32Array.of(1, 2), { shape: [3] }), "has 3 numbers: received shape [2]"],
  ["ragged lists", () => tensor([[1, 2], [3]]), "received lists of 2 and of 1"],
  ["a shape", () => zeros([-1]), "received [-1]"],
])("bad input is an error that shows it: %s", (_, f, text) => {
  const error = ((): unknown => {
    try {
      return f();
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toBeInstanceOf(RangeError);
  expect((error as RangeError).message).toContain(text);
});
