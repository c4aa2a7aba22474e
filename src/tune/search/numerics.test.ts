/** The numerics below the searchers, against plain computations and known values. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Random } from "../spaces/random.ts";
import { choice, loguniform, quniform, randint, uniform } from "../spaces/space.ts";
import { axesOf, cellOf, fromUnit, toUnit } from "./numbers/axes.ts";
import { CmaEs } from "./evolution/cma-es.ts";
import { worthAt, worthWithSlopes } from "./gaussian/acquisition.ts";
import { defaultHyperparameters, fitHyperparameters, GaussianProcess } from "./gaussian/gaussian-process.ts";
import { eigen, factorize, inverseOf, solveLower, solveUpper } from "./numbers/matrix.ts";
import { minimize } from "./numbers/minimize.ts";
import { logNormalCdf, normalCdf, normalMass, normalQuantile, truncatedNormalQuantile } from "./numbers/normal-distribution.ts";
import { bestOf, FrontCover, frontOf, volumeOf } from "./numbers/pareto.ts";
import { ParzenEstimator, weightsByAge } from "./density/parzen-estimator.ts";

const units = (count: number) => fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: count, maxLength: count });

describe("the normal distribution", () => {
  test("has the probabilities of the tables, far into the tail", () => {
    const known = [
      [0, 0.5],
      [1, 0.8413447460685429],
      [-1.96, 0.024997895148220435],
      [-5, 2.866515718791939e-7],
      [-10, 7.61985302416047e-24],
      [-30, 4.906713927148187e-198],
    ] as const;
    for (const [x, p] of known) expect(normalCdf(x) / p).toBeCloseTo(1, 11);
    expect(logNormalCdf(-100)).toBeCloseTo(-5005.524208694205, 6);
    expect(normalMass(8, 9) / 6.219831985791613e-16).toBeCloseTo(1, 9);
  });

  test("has quantiles that its probabilities take back", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-12, max: 1 - 1e-12, noNaN: true }), (p) => {
        expect(Math.abs(normalCdf(normalQuantile(p)) / p - 1)).toBeLessThan(1e-9);
      }),
    );
  });

  test("cut to an interval stays within it, and is in the middle where the middle of its probability is", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: -3, max: 4, noNaN: true }),
        fc.double({ min: 0.01, max: 2, noNaN: true }),
        (p, mean, deviation) => {
          const value = truncatedNormalQuantile(p, { mean, deviation, low: 0, high: 1 });
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(1);
        },
      ),
    );
    expect(truncatedNormalQuantile(0.5, { mean: 0.5, deviation: 0.3, low: 0, high: 1 })).toBeCloseTo(0.5, 12);
  });
});

test("Cholesky factors solve and invert, and eigenvectors take a matrix apart", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.nat(1_000), (size, seed) => {
      const random = new Random(seed);
      const root = Float64Array.from({ length: size * size }, () => random.normal());
      const matrix = new Float64Array(size * size);
      for (let row = 0; row < size; row += 1)
        for (let column = 0; column < size; column += 1) {
          let sum = row === column ? 0.1 : 0;
          for (let k = 0; k < size; k += 1) sum += (root[row * size + k] as number) * (root[column * size + k] as number);
          matrix[row * size + column] = sum;
        }
      const wanted = Float64Array.from({ length: size }, () => random.normal());
      const times = (m: Float64Array, v: Float64Array) =>
        Float64Array.from({ length: size }, (_, row) => v.reduce((sum, each, k) => sum + (m[row * size + k] as number) * each, 0));
      const solved = times(matrix, wanted);
      const right = solved.slice();
      const factor = matrix.slice();
      expect(factorize(factor, size)).toBe(true);
      solveLower(factor, solved);
      solveUpper(factor, solved);
      const inverted = times(inverseOf(factor, size), right);
      for (let row = 0; row < size; row += 1) {
        expect(solved[row]).toBeCloseTo(wanted[row] as number, 5);
        expect(inverted[row]).toBeCloseTo(wanted[row] as number, 5);
      }
      const { values, vectors } = eigen(matrix, size);
      for (let column = 0; column < size; column += 1) {
        const vector = Float64Array.from({ length: size }, (_, row) => vectors[row * size + column] as number);
        for (const [row, each] of times(matrix, vector).entries())
          expect(each).toBeCloseTo((values[column] as number) * (vector[row] as number), 6);
      }
    }),
    { numRuns: 40 },
  );
  expect(factorize(Float64Array.from([1, 2, 2, 1]), 2)).toBe(false);
});

test("the minimum of a smooth function is found, within bounds and at them", () => {
  const rosenbrock = (at: Float64Array, gradient: Float64Array) => {
    const [x, y] = [at[0] as number, at[1] as number];
    gradient[0] = -400 * x * (y - x * x) - 2 * (1 - x);
    gradient[1] = 200 * (y - x * x);
    return 100 * (y - x * x) ** 2 + (1 - x) ** 2;
  };
  const free = minimize(rosenbrock, [-1.2, 1], { box: { low: [-2, -2], high: [2, 2] }, evaluations: 400, tolerance: 1e-14 });
  expect(free.point[0]).toBeCloseTo(1, 4);
  const bounded = minimize(rosenbrock, [0, 0], { box: { low: [-2, -2], high: [0.5, 2] }, evaluations: 400, tolerance: 1e-14 });
  expect(bounded.point[0]).toBe(0.5);
  expect(bounded.point[1]).toBeCloseTo(0.25, 4);
});

describe("fronts", () => {
  const points = fc.array(fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 2, maxLength: 2 }), { minLength: 1, maxLength: 12 });

  test("are the points that no other beats", () => {
    fc.assert(
      fc.property(points, (losses) => {
        const beats = (a: number[], b: number[]) =>
          a.every((each, index) => each <= (b[index] as number)) && a.some((each, index) => each < (b[index] as number));
        const expected = losses.flatMap((point, index) => (losses.some((other) => beats(other, point)) ? [] : [index]));
        expect(frontOf(losses).sort((a, b) => a - b)).toEqual(expected);
      }),
    );
  });

  test("dominate the volume that counting cells gives", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 6 }),
        (losses) => {
          let cells = 0;
          for (let x = 0; x < 5; x += 1)
            for (let y = 0; y < 5; y += 1)
              for (let z = 0; z < 5; z += 1)
                if (losses.some((point) => (point[0] as number) <= x && (point[1] as number) <= y && (point[2] as number) <= z)) cells += 1;
          expect(volumeOf(losses, [5, 5, 5])).toBe(cells);
        },
      ),
    );
  });

  test("give as many best points as are asked for, whole fronts first", () => {
    fc.assert(
      fc.property(points, fc.nat(12), (losses, count) => {
        const best = bestOf(losses, count);
        expect(new Set(best).size).toBe(Math.min(count, losses.length));
        const front = frontOf(losses);
        if (count >= front.length) for (const index of front) expect(best).toContain(index);
        else for (const index of best) expect(front).toContain(index);
      }),
    );
  });

  test("are chosen of a growing set as of one that is seen at once", () => {
    const growing = fc.integer({ min: 2, max: 4 }).chain((losses) => {
      // Few whole numbers are often equal, fractions hardly ever.
      const loss = fc.oneof(fc.integer({ min: -4, max: 4 }), fc.double({ min: -4, max: 4, noNaN: true }));
      return fc.array(fc.array(loss, { minLength: losses, maxLength: losses }), { minLength: 1, maxLength: 60 });
    });
    fc.assert(
      fc.property(growing, fc.double({ min: 0, max: 1, noNaN: true }), (losses, part) => {
        const cover = new FrontCover();
        for (let seen = 1; seen <= losses.length; seen += 1) {
          const some = losses.slice(0, seen);
          const count = Math.ceil(part * seen);
          expect(bestOf(some, count, { cover })).toEqual(bestOf(some, count));
        }
      }),
    );
  });

  test("choose of a front, one by one, the points that add the largest volume", () => {
    const loss = fc.integer({ min: 1, max: 9 });
    const many = fc.integer({ min: 2, max: 4 }).chain((losses) => {
      const point = fc.array(loss, { minLength: losses, maxLength: losses });
      return fc.array(point, { minLength: 2, maxLength: 12 });
    });
    fc.assert(
      fc.property(many, (losses) => {
        const front = frontOf(losses);
        const worst = (axis: number) => Math.max(...front.map((index) => losses[index]?.[axis] as number));
        const reference = (losses[0] as number[]).map((_, axis) => 1.1 * worst(axis));
        const volume = (indexes: readonly number[]) =>
          volumeOf(
            indexes.map((index) => losses[index] as number[]),
            reference,
          );
        const chosen = bestOf(losses, front.length - 1);
        for (const [count, index] of chosen.entries()) {
          const before = chosen.slice(0, count);
          const most = Math.max(...front.filter((other) => !before.includes(other)).map((other) => volume([...before, other])));
          expect(volume([...before, index])).toBeCloseTo(most, 6);
        }
      }),
    );
  });
});

describe("axes", () => {
  const axes = axesOf(
    { a: uniform(-2, 3), b: loguniform(1e-4, 10), c: randint(2, 11), d: quniform(0, 1, 0.2), e: choice(["x", "y"]) },
    "a test",
  );

  test("take values to the unit interval and back", () => {
    fc.assert(
      fc.property(fc.constantFrom(...axes.slice(0, 4)), fc.double({ min: 0, max: 1, noNaN: true }), (axis, unit) => {
        const value = fromUnit(axis, unit);
        expect(fromUnit(axis, toUnit(axis, value))).toBeCloseTo(value, 9);
      }),
    );
  });

  test("give each whole number a cell, and all cells together the interval", () => {
    const axis = axes[2] as (typeof axes)[number];
    const cells = Array.from({ length: 9 }, (_, index) => cellOf(axis, toUnit(axis, 2 + index)));
    expect(cells[0]?.low).toBeCloseTo(0, 12);
    expect(cells.at(-1)?.high).toBeCloseTo(1, 12);
    for (const [index, { high }] of cells.slice(0, -1).entries()) expect(high).toBeCloseTo(cells[index + 1]?.low as number, 12);
  });
});

describe("densities", () => {
  const axes = axesOf({ a: uniform(0, 1), c: randint(0, 5), e: choice(["x", "y", "z"]) }, "a test");

  test("have a total probability of 1", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(units(1), fc.nat(4), fc.nat(2)), { maxLength: 30 }), (observed) => {
        const whole = axes[1] as (typeof axes)[number];
        const rows = observed.map(([[a], c, e]) => [a as number, toUnit(whole, c), e]);
        const density = new ParzenEstimator(
          axes,
          axes.map((_, index) => Float64Array.from(rows, (row) => row[index] as number)),
        );
        const cells = Array.from({ length: 200 }, (_, index) => (index + 0.5) / 200);
        const points = cells.flatMap((a) => [0, 1, 2, 3, 4].flatMap((c) => [0, 1, 2].map((e) => [a, toUnit(whole, c), e])));
        const total = density.logDensities(points).reduce((sum, log) => sum + Math.exp(log), 0) / cells.length;
        expect(total).toBeCloseTo(1, 2);
      }),
      { numRuns: 15 },
    );
  });

  test("on a single axis are what they are beside a place that never changes", () => {
    const beside = axesOf({ a: uniform(0, 1), e: choice(["x"]) }, "a test");
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 60 }), units(5), (observed, at) => {
        const column = Float64Array.from(observed);
        const single = new ParzenEstimator(beside.slice(0, 1), [column]);
        const double = new ParzenEstimator(beside, [column, new Float64Array(column.length)]);
        const logs = double.logDensities(at.map((a) => [a, 0]));
        for (const [index, log] of single.logDensities(at.map((a) => [a])).entries()) expect(log).toBeCloseTo(logs[index] as number, 8);
      }),
      { numRuns: 50 },
    );
  });

  test("weigh the newest points fully, and older ones less and less", () => {
    expect([...weightsByAge(3)]).toEqual([1, 1, 1]);
    const weights = [...weightsByAge(40)];
    expect(weights[0]).toBeCloseTo(1 / 40, 12);
    expect(weights.slice(15).every((weight) => weight === 1)).toBe(true);
    expect(weights.every((weight, index) => index === 0 || weight >= (weights[index - 1] as number))).toBe(true);
  });
});

describe("a Gaussian process", () => {
  const random = new Random(3);
  const points = Array.from({ length: 25 }, () => Float64Array.from([random.next(), random.next(), random.integer(3)]));
  const values = points.map(([x, y, c]) => Math.sin(5 * (x as number)) + (y as number) ** 2 + (c as number) / 2 - 1);
  const isChoice = [false, false, true];
  const { at } = fitHyperparameters(points, values, { isChoice, start: defaultHyperparameters(3), evaluations: 60 });
  const process = GaussianProcess.at(points, values, { isChoice, at });

  test("passes near the points that it knows, and predicts between them", () => {
    for (const [index, point] of points.entries()) expect(process.see(point).mean).toBeCloseTo(values[index] as number, 1);
    expect(process.see(Float64Array.from([0.5, 0.5, 1])).mean).toBeCloseTo(Math.sin(2.5) + 0.25 + 0.5 - 1, 0);
  });

  test("has the slopes that differences have", () => {
    for (const worth of [{ kind: "ei", best: -1 } as const, { kind: "ucb", kappa: 2 } as const]) {
      for (let repeat = 0; repeat < 10; repeat += 1) {
        const point = Float64Array.from([random.next(), random.next(), random.integer(3)]);
        const slopes = new Float64Array(3);
        expect(worthWithSlopes(process, { worth, point }, slopes)).toBeCloseTo(worthAt(process, worth, point), 9);
        for (const axis of [0, 1]) {
          const [above, below] = [point.slice(), point.slice()];
          above[axis] = (above[axis] as number) + 1e-6;
          below[axis] = (below[axis] as number) - 1e-6;
          const difference = (worthAt(process, worth, above) - worthAt(process, worth, below)) / 2e-6;
          expect(slopes[axis]).toBeCloseTo(difference, Math.abs(difference) > 100 ? 0 : 3);
        }
      }
    }
  });

  test("is more certain near points that it believes, and expects the same everywhere", () => {
    const believed = Float64Array.from([0.9, 0.9, 2]);
    const more = process.withBelieved([believed]);
    expect(more.see(believed).deviation).toBeLessThan(process.see(believed).deviation);
    const elsewhere = Float64Array.from([0.3, 0.6, 0]);
    expect(more.see(elsewhere).mean).toBeCloseTo(process.see(elsewhere).mean, 9);
  });
});

test("CMA-ES finds the bottom of a slanted valley", () => {
  const random = new Random(1);
  const strategy = new CmaEs({ mean: [0.8, 0.2, 0.5, 0.5], sigma: 0.3 });
  const loss = (x: readonly number[]) =>
    x.reduce((sum, each, axis) => sum + 100 ** (axis / 3) * (each - 0.4 + 0.1 * (x[0] as number)) ** 2, 0);
  for (let generation = 0; generation < 150; generation += 1) {
    const population = Array.from({ length: strategy.populationSize }, () => {
      const vector = strategy.sample(random);
      return { vector, loss: loss(vector), isOwn: true };
    });
    strategy.update(population);
  }
  expect(loss(strategy.save().mean)).toBeLessThan(1e-12);
});
