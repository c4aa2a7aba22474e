/** The conditions on nodes of a whole pipeline: every task and actor has them, and what a step says itself goes before. */
import { describe, expect, test } from "vitest";
import { ActorPoolStrategy, configure, range } from "../index.ts";
import { readTasks, type TransformOptions, type ActorTransformOptions, readCompute } from "../options/transform-options.ts";
import { labelledPlan } from "./labelled-plan.ts";
import type { LogicalPlan } from "./logical-plan.ts";
import type { PhysicalPlan } from "./physical-plan.ts";
import { physicalPlan } from "./rules.ts";

class Model {
  call(row: object) {
    return row;
  }
}

const pool = { pool: "data" };
const read: LogicalPlan = { kind: "read", name: "read", source: { name: "read", reader: async function* () {}, parts: [] }, options: {} };

function mapped(input: LogicalPlan, options: TransformOptions | ActorTransformOptions, fn: unknown = (row: object) => row): LogicalPlan {
  const transform = { kind: "map", name: "map", fn: fn as never } as const;
  return { kind: "map", name: "map", input, transform, ...readCompute(transform, options) };
}

const labelled = (plan: LogicalPlan): PhysicalPlan => labelledPlan(physicalPlan(plan), pool);

describe("all of a plan", () => {
  test("reads, maps, exchanges and pools have the conditions", () => {
    const grouped: LogicalPlan = {
      kind: "exchange",
      name: "repartition",
      input: mapped(read, { numCpus: 2 }),
      partitioning: { kind: "even" },
      after: { kind: "oneBlock", name: "repartition" },
    };
    const plan = labelled({
      kind: "union",
      name: "union",
      inputs: [{ kind: "limit", name: "limit", count: 1, input: mapped(grouped, {}, Model) }, read],
    });
    expect(plan).toMatchObject({
      inputs: [
        {
          input: {
            compute: { actorOptions: { labelSelector: pool } },
            input: {
              options: { labelSelector: pool },
              inputs: [{ plan: { options: { numCpus: 2, labelSelector: pool }, input: { options: { labelSelector: pool } } } }],
            },
          },
        },
        { options: { labelSelector: pool } },
      ],
    });
  });

  test("without conditions it stays as it is", () => {
    const plan = physicalPlan(mapped(read, {}));
    expect(labelledPlan(plan, undefined)).toBe(plan);
  });
});

describe("a step", () => {
  test.each([
    [{ labelSelector: { zone: "a" } }, { labelSelector: { pool: "data", zone: "a" } }],
    [{ labelSelector: { pool: "spare" } }, { labelSelector: { pool: "spare" } }],
    [
      { fallbackStrategy: [{ labelSelector: { zone: "b" } }] },
      { labelSelector: pool, fallbackStrategy: [{ labelSelector: { pool: "data", zone: "b" } }] },
    ],
    [{ schedulingStrategy: "spread" }, { schedulingStrategy: "spread", labelSelector: pool }],
    [{ schedulingStrategy: { nodeId: "n" } }, { schedulingStrategy: { nodeId: "n" } }],
  ] as const)("of %j has %j", (options, expected) => {
    const transform = { kind: "map", name: "map", fn: (row: object) => row } as const;
    expect(labelled({ kind: "map", name: "map", input: read, transform, options })).toMatchObject({ options: expected });
    const actors = labelled(mapped(read, { ...options, compute: new ActorPoolStrategy({ size: 1 }) }, Model));
    expect(actors).toMatchObject({ compute: { actorOptions: expected } });
  });

  test("of Python keeps what its definition says", () => {
    const code = { kind: "function", place: "m.py", name: "f", options: { labelSelector: { zone: "a" } } };
    const transform = { kind: "pythonBatches", name: "f", code, batchFormat: "numpy", batchSize: undefined, fnArgs: [], fnKwargs: {} };
    const plan = { kind: "map", name: "f", input: read, transform, ...readTasks("mapBatches", {}) } as unknown as LogicalPlan;
    expect(labelled(plan)).toMatchObject({ options: { labelSelector: { pool: "data", zone: "a" } } });
  });
});

test("conditions that are none are refused, and Ray's names have hints", () => {
  expect(() => range(1).withSettings({ labelSelector: { pool: "in(" } })).toThrow("Cannot set labelSelector of data");
  expect(() => configure({ labelSelector: "data" as never })).toThrow("Cannot set labelSelector of data");
  expect(() => range(1).withSettings({ resource_limits: {} } as never)).toThrow("it is resourceLimits");
});
