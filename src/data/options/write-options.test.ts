/** The options of writers: which of them are those of tasks, where the write then runs, and what is refused before anything does. */
import { describe, expect, test } from "vitest";
import * as data from "../index.ts";
import type { LogicalPlan } from "../plan/logical-plan.ts";
import type { PhysicalPlan } from "../plan/physical-plan.ts";
import { physicalPlan } from "../plan/rules.ts";
import { csvWrite, imagesWrite, numpyWrite, parquetWrite, type WritePlan } from "./write-options.ts";

const input: LogicalPlan = {
  kind: "map",
  name: "map",
  input: { kind: "input", name: "fromItems", blocks: [] },
  transform: { kind: "map", name: "map", fn: (row: unknown) => row },
  options: {},
};

/** Returns the operators behind the input, first the one that writes, with the chains of their tasks. */
function operatorsOf({
  tasks,
  mode: _mode,
  filenameProvider: _names,
  signal: _signal,
  checkpoint: _checkpoint,
  ...plan
}: WritePlan): PhysicalPlan[] {
  const transform = { kind: "write", name: "write", stagingFolder: "/staging", ...plan } as const;
  const operators: PhysicalPlan[] = [];
  let next: PhysicalPlan = physicalPlan({ kind: "map", name: "write", input, transform, ...tasks });
  for (; next.kind === "map"; next = next.input) operators.push(next);
  return operators;
}

describe("where files are written", () => {
  test("in the tasks that make the rows", () => {
    expect(operatorsOf(csvWrite({ header: false }))).toMatchObject([{ name: "map->write", options: {}, compute: undefined }]);
  });

  test.each([
    [{ concurrency: 2 }, { options: {}, compute: { kind: "tasks", concurrency: 2 } }],
    [
      { numCpus: 2, maxRetries: 1 },
      { options: { numCpus: 2, maxRetries: 1 }, compute: undefined },
    ],
    [
      { concurrency: 1, resources: { disk: 1 } },
      { options: { resources: { disk: 1 } }, compute: { kind: "tasks", concurrency: 1 } },
    ],
  ])("with %j in tasks of their own", (options, expected) => {
    for (const plan of [
      csvWrite(options),
      parquetWrite(options),
      numpyWrite({ column: "a", ...options }),
      imagesWrite({ column: "a", ...options }),
    ])
      expect(operatorsOf(plan)).toMatchObject([
        { name: "write", ...expected },
        { name: "map", options: {} },
      ]);
  });

  test.each([{ minRowsPerFile: 10 }, { minBytesPerFile: 1000 }])("with %j in tasks that wait for as much", (options) => {
    expect(operatorsOf(parquetWrite(options))).toMatchObject([{ name: "write", chain: [options] }, { name: "map" }]);
  });
});

describe("what is refused", () => {
  const rows = data.fromItems([{ id: 1 }]);

  test.each([
    ["no task", { concurrency: 0 }, "Cannot set concurrency of writeCsv"],
    ["another kind of concurrency", { concurrency: { min: 1, max: 2 } }, "Cannot set concurrency of writeCsv"],
    ["CPUs below zero", { numCpus: -1 }, "numCpus"],
    ["a misspelt option", { concurency: 2 }, "did you mean concurrency"],
    ["a pool", { compute: new data.ActorPoolStrategy({ size: 2 }) }, 'there is no option "compute"'],
    ["a file of no bytes", { minBytesPerFile: 0 }, "Cannot set minBytesPerFile of writeCsv"],
    ["Ray's spelling", { min_bytes_per_file: 5 }, "it is spelled minBytesPerFile"],
  ])("%s", (_, options, message) => {
    expect(() => rows.writeCsv("out", options as never)).toThrow(message);
  });

  test("of a sink before it begins", async () => {
    const sink = { write: () => 1, onWriteStart: expect.unreachable, onWriteFailed: expect.unreachable };
    await expect(rows.writeDatasink(sink, { concurrency: 0 })).rejects.toThrow("Cannot set concurrency of writeDatasink");
    await expect(rows.writeDatasink(sink, { constructorArgs: [] } as never)).rejects.toThrow(
      "Cannot call writeDatasink: it takes constructorArgs with a class",
    );
  });
});
