import { describe, expect, test } from "vitest";
import { Random } from "./random.ts";
import {
  choice,
  configOf,
  draw,
  forEachGridPoint,
  gridSearch,
  lograndint,
  loguniform,
  type Point,
  placesOf,
  qlograndint,
  qloguniform,
  qrandint,
  qrandn,
  quniform,
  randint,
  randn,
  readPoint,
  resolveSpace,
  sampleFrom,
  sampleSpace,
  type SearchedDomain,
  uniform,
} from "./space.ts";

const drawn = (domain: unknown, count = 4000): number[] => {
  const random = new Random(7);
  return Array.from({ length: count }, () => draw(domain as SearchedDomain, random));
};
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe("domains", () => {
  test("numbers stay within their bounds, and spread over them", () => {
    const values = drawn(uniform(-2, 4));
    expect(Math.min(...values)).toBeGreaterThanOrEqual(-2);
    expect(Math.max(...values)).toBeLessThan(4);
    expect(mean(values)).toBeCloseTo(1, 0);
    expect(mean(drawn(loguniform(1e-4, 1)).map(Math.log10))).toBeCloseTo(-2, 0);
    expect(mean(drawn(randn(10, 2)))).toBeCloseTo(10, 0);
  });

  test("integers exclude the upper bound, quantized ones include it", () => {
    expect(new Set(drawn(randint(1, 4)))).toEqual(new Set([1, 2, 3]));
    expect(new Set(drawn(qrandint(1, 10, 3)))).toEqual(new Set([3, 6, 9]));
    expect(new Set(drawn(qrandint(0, 2)))).toEqual(new Set([0, 1, 2]));
    expect(new Set(drawn(lograndint(1, 4)))).toEqual(new Set([1, 2, 3]));
    expect(new Set(drawn(qlograndint(2, 8, 2)))).toEqual(new Set([2, 4, 6, 8]));
    const counts = drawn(quniform(0, 1, 0.25));
    expect(new Set(counts)).toEqual(new Set([0, 0.25, 0.5, 0.75, 1]));
    expect(counts.filter((value) => value === 0).length).toBeGreaterThan(600);
  });

  test("multiples have no digits that floating point adds", () => {
    expect(new Set(drawn(quniform(0, 0.5, 0.1)))).toEqual(new Set([0, 0.1, 0.2, 0.3, 0.4, 0.5]));
    for (const value of drawn(qloguniform(0.1, 1, 0.1))) expect(String(value).length).toBeLessThan(4);
    for (const value of drawn(qrandn(0, 1, 0.5))) expect(Number.isInteger(value * 2)).toBe(true);
  });

  test("a domain without a value is refused, with what is wrong", () => {
    expect(() => uniform(1, 1)).toThrow("Cannot make uniform: the lower bound must be below the upper: received 1 and 1");
    expect(() => loguniform(0, 1)).toThrow("above 0");
    expect(() => randint(3, 3)).toThrow("no number is from 3 up to 2");
    expect(() => quniform(0.1, 0.2, 5)).toThrow("no multiple of 5 lies from 0.1 to 0.2");
    expect(() => choice([])).toThrow("the list is empty");
    expect(() => uniform(Number.NaN, 1)).toThrow("must be a finite number");
    expect(() => randint(0.5, 3)).toThrow("whole numbers");
  });
});

describe("spaces", () => {
  const space = {
    lr: loguniform(1e-4, 1e-1),
    layers: [randint(1, 3), randint(1, 3)],
    model: choice([
      { kind: "svm", c: uniform(0, 1) },
      { kind: "forest", trees: randint(10, 20) },
    ]),
    fixed: { depth: 3 },
    double: sampleFrom((config) => config.layers[0] * 2),
  };

  test("the places of a space are named, those of options with their condition", () => {
    expect(placesOf(space).map(({ name, condition }) => [name, condition?.index])).toEqual([
      ["lr", undefined],
      ["layers/0", undefined],
      ["layers/1", undefined],
      ["model", undefined],
      ["model#0/c", 0],
      ["model#1/trees", 1],
    ]);
  });

  test("a sample is whole, asks only for what counts, and computes functions last", () => {
    const asked: string[] = [];
    const random = new Random(3);
    const config = resolveSpace(space, ({ name, domain }) => {
      asked.push(name);
      return name === "model" ? 1 : draw(domain, random);
    });
    expect(asked).toEqual(["lr", "layers/0", "layers/1", "model", "model#1/trees"]);
    expect(config).toMatchObject({ model: { kind: "forest" }, fixed: { depth: 3 } });
    expect(config.double).toBe((config.layers as number[])[0]! * 2);
  });

  test("the same seed gives the same samples, also after a restored state", () => {
    const one = new Random(11);
    const other = new Random(11);
    expect(sampleSpace(space, one)).toEqual(sampleSpace(space, other));
    const state = JSON.parse(JSON.stringify(one.save()));
    const next = sampleSpace(space, one);
    const restored = new Random(0);
    restored.restore(state);
    expect(sampleSpace(space, restored)).toEqual(next);
  });

  test("a configuration reads as a point and back", () => {
    const config = { lr: 0.01, layers: [1, 2], model: { kind: "forest", trees: 12 } };
    const point = readPoint(space, config);
    expect([...point]).toEqual([
      ["lr", 0.01],
      ["layers/0", 1],
      ["layers/1", 2],
      ["model", 1],
      ["model#1/trees", 12],
    ]);
    expect(configOf(space, point)).toEqual({ ...config, fixed: { depth: 3 }, double: 2 });
    expect(() => readPoint(space, { lr: 7 })).toThrow('"lr" does not take 7');
    expect(() => readPoint(space, { model: "tree" })).toThrow('"model" has no option');
  });

  test("grids give every combination, nested ones where they apply", () => {
    const grid = { a: gridSearch([1, 2]), b: gridSearch(["x", { deep: gridSearch([7, 8, 9]) }]), c: uniform(0, 1) };
    const points: Point[] = [];
    forEachGridPoint({ c: uniform(0, 1) }, (point) => points.push(point));
    expect(points).toEqual([new Map()]);
    points.length = 0;
    forEachGridPoint(grid, (point) => points.push(point));
    const random = new Random(1);
    const configs = points.map((point) => resolveSpace(grid, ({ name, domain }) => point.get(name) ?? draw(domain, random)));
    expect(configs.map(({ a, b }) => JSON.stringify([a, b]))).toEqual([
      '[1,"x"]',
      '[1,{"deep":7}]',
      '[1,{"deep":8}]',
      '[1,{"deep":9}]',
      '[2,"x"]',
      '[2,{"deep":7}]',
      '[2,{"deep":8}]',
      '[2,{"deep":9}]',
    ]);
  });

  test("a key that names the prototype is a key", () => {
    const config = sampleSpace(JSON.parse('{ "__proto__": { "x": 1 } }') as Record<string, unknown>, new Random(1));
    expect(Object.keys(config)).toEqual(["__proto__"]);
  });
});
