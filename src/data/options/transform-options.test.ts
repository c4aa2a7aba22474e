/** The options of transforms and their effect on the plan: functions in tasks, classes in pools of actors. */
import { describe, expect, test } from "vitest";
import * as data from "../index.ts";

class Embed {
  call(row: { id: number }) {
    return row;
  }
}

const rows = data.fromItems([{ id: 1 }]);
const physical = (dataset: data.Dataset): string[] => {
  const lines = dataset
    .explain()
    .split("\n")
    .map((line) => line.trim());
  return lines.slice(lines.indexOf("Physical plan") + 1, -1);
};

test.each([
  ["mapBatches", { batchsize: 5 }, "batchSize"],
  ["mapBatches", { batch_size: 5 }, "batchSize"],
  ["map", { concurency: 2 }, "concurrency"],
])("%s tells which option was meant by %j", (method, options, meant) => {
  const call = (fn: unknown): unknown =>
    (rows as unknown as Record<string, (fn: unknown, options: object) => unknown>)[method]?.(fn, options);
  for (const fn of [(row: unknown) => row, Embed])
    expect(() => call(fn)).toThrow(
      `Cannot set options of ${method}: there is no option "${Object.keys(options)[0]}": did you mean ${meant}`,
    );
});

describe("explain", () => {
  test.each([
    [{ concurrency: 3 }, "x 3"],
    [{ concurrency: { min: 1, max: 4 } }, "x 1..4"],
    [{ concurrency: { min: 2, max: Number.POSITIVE_INFINITY } }, "x 2..CPUs"],
    [{ compute: new data.ActorPoolStrategy({ size: 2 }) }, "x 2"],
    [{ compute: new data.ActorPoolStrategy({ minSize: 2, maxSize: 8, initialSize: 4 }) }, "x 2..8"],
    [{}, "x 1..CPUs"],
  ])("%j is %s", (options, size) => {
    expect(physical(rows.map(Embed, options))).toEqual([`+- ActorPool map(Embed) ${size}`]);
  });

  test("functions behind a pool run in tasks of their own, and columns are chosen in the pool", () => {
    const plan = rows
      .map(({ id }) => ({ id }))
      .filter(Embed, { concurrency: 1 })
      .selectColumns(["id"])
      .map(({ id }) => ({ id }));
    expect(physical(plan)).toEqual(["+- MapTasks map", "+- ActorPool filter(Embed)->selectColumns(id) x 1", "+- MapTasks map"]);
  });

  test("functions of limited number stay apart", () => {
    const plan = rows.map(({ id }) => ({ id }), { concurrency: 2 }).map(({ id }) => ({ id }));
    expect(physical(plan)).toEqual(["+- MapTasks map", "+- MapTasks map x 2"]);
  });
});

test.each([
  ["readCsv", data.readCsv],
  ["readJson", data.readJson],
  ["readText", data.readText],
  ["readBinaryFiles", data.readBinaryFiles],
  ["readNumpy", data.readNumpy],
  ["readImages", data.readImages],
  ["readVideos", data.readVideos],
  ["readAudio", data.readAudio],
  ["readParquet", data.readParquet],
  ["own", (_: string, options?: data.TransformOptions) => data.readDatasource({ name: "own", getReadTasks: () => [] }, options)],
] as const)("%s reads with so many tasks at a time, and functions behind it are not held back", (name, reader) => {
  const read = reader as (paths: string, options?: data.TransformOptions) => data.Dataset;
  const linesOf = (dataset: data.Dataset): string[] =>
    (dataset.explain().split("Physical plan\n")[1] as string).split("\n").map((line) => line.trim());
  const limited = read("files/", { concurrency: 2, numCpus: 1 });
  expect(linesOf(limited)).toEqual([`+- ReadTasks ${name} x 2`]);
  expect(linesOf(limited.map((row) => row))).toEqual(["+- MapTasks map", `+- ReadTasks ${name} x 2`]);
  expect(linesOf(read("files/").map((row) => row))).toEqual([`+- ReadTasks ${name}->map`]);
  expect(() => read("files/", { concurrency: 0 })).toThrow("Cannot set concurrency of read");
  expect(() => read("files/", { concurrency: { min: 1 } as never })).toThrow("Cannot set concurrency of read");
  expect(() => read("files/", { concurency: 2 } as never)).toThrow("did you mean concurrency");
});

describe("what is refused", () => {
  const make = (fn: unknown, options: unknown) => () => rows.map(fn as never, options as never);

  test.each([
    ["options of actors for functions", make((row: object) => row, { maxRestarts: 1 }), "maxRestarts"],
    [
      "a pool for a function",
      make((row: object) => row, { compute: new data.ActorPoolStrategy({ size: 1 }) }),
      "takes compute with a class",
    ],
    ["arguments for a function", make((row: object) => row, { constructorArgs: [1] }), "takes constructorArgs with a class"],
    ["options of tasks for classes", make(Embed, { maxRetries: 1 }), "maxRetries"],
    ["names for actors", make(Embed, { name: "one", lifetime: "detached" }), "name"],
    ["both forms of a size", make(Embed, { concurrency: 1, compute: new data.ActorPoolStrategy({ size: 1 }) }), "and not both"],
    ["no actor", make(Embed, { concurrency: 0 }), "concurrency"],
    ["another size", make(Embed, { concurrency: "all" }), "concurrency"],
    ["an unknown entry of a size", make(Embed, { concurrency: { min: 1, most: 2 } }), "most"],
    ["a size upside down", make(Embed, { concurrency: { min: 3, max: 2 } }), "from the smallest to the largest"],
    ["arguments that are none", make(Embed, { constructorArgs: "small" }), "constructorArgs"],
  ])("%s", (_, call, message) => {
    expect(call).toThrow(message);
  });

  test("a strategy of two sizes", () => {
    expect(() => new data.ActorPoolStrategy({ size: 1, maxSize: 2 })).toThrow("not both");
    expect(() => new data.ActorPoolStrategy({ minSize: 2, initialSize: 1 })).toThrow(RangeError);
  });
});

test("a function that new takes is called and not constructed", () => {
  function Old(this: unknown, row: { id: number }) {
    return row;
  }
  expect(physical(rows.map(Old))).toEqual(["+- MapTasks map(Old)"]);
  expect(physical(rows.filter(Boolean))).toEqual(["+- MapTasks filter(Boolean)"]);
});
