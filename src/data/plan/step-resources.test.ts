/** The resources of steps, and which limits are refused before anything starts. */
import { describe, expect, test } from "vitest";
import { configure, range } from "../index.ts";
import { type ActorTransformOptions, readCompute, readTasks, type TransformOptions } from "../options/transform-options.ts";
import type { LogicalPlan } from "./logical-plan.ts";
import { physicalPlan } from "./rules.ts";
import { allResources, largestTask, refuseBeyond, scarceLimits } from "./step-resources.ts";

class Model {
  call(row: object) {
    return row;
  }
}

const read: LogicalPlan = {
  kind: "read",
  name: "read",
  source: { name: "read", reader: async function* () {}, parts: [] },
  options: { memoryBytes: 100 },
};

function mapped(input: LogicalPlan, options: TransformOptions | ActorTransformOptions, fn: unknown = (row: object) => row): LogicalPlan {
  const name = fn === Model ? "map(Model)" : "map(fn)";
  const transform = { kind: "map", name, fn: fn as never } as const;
  return { kind: "map", name, input, transform, ...readCompute(transform, options) };
}

const pipeline = mapped(mapped(read, { concurrency: 2, numCpus: 0.5, numGpus: 0.5, resources: { tpu: 1 } }, Model), { numCpus: 2 });
const steps = allResources(physicalPlan(pipeline));

describe("steps", () => {
  test("ask for what their options say, producers first", () => {
    expect(steps).toEqual([
      { name: "read", kind: "task", min: 0, amounts: { CPU: 1, GPU: 0, memory: 100 } },
      { name: "map(Model)", kind: "actor", min: 2, amounts: { CPU: 0.5, GPU: 0.5, memory: 0, tpu: 1 } },
      { name: "map(fn)", kind: "task", min: 0, amounts: { CPU: 2, GPU: 0, memory: 0 } },
    ]);
    expect(largestTask(steps)).toEqual({ CPU: 2, GPU: 0, memory: 100 });
  });

  test("of Python ask for what its definition says, where their own options say nothing", () => {
    const code = { kind: "function", place: "m.py", name: "f", options: { numGpus: 1, numCpus: 3 } };
    const transform = { kind: "pythonBatches", name: "f", code, batchFormat: "numpy", batchSize: undefined, fnArgs: [], fnKwargs: {} };
    const plan = { kind: "map", name: "f", input: read, transform, ...readTasks("mapBatches", { numCpus: 2 }) } as unknown as LogicalPlan;
    expect(allResources(physicalPlan(plan)).at(-1)).toMatchObject({ amounts: { CPU: 2, GPU: 1 } });
  });
});

describe("what several steps ask for", () => {
  const has =
    (amounts: Record<string, number>) =>
    (name: string): number =>
      amounts[name] ?? 0;

  test("is limited to what the cluster has, and CPUs and what one step asks for are not", () => {
    const both = [...steps, { name: "infer", kind: "task", min: 0, amounts: { CPU: 1, GPU: 1, memory: 100 } } as const];
    expect(scarceLimits(both, has({ CPU: 8, GPU: 4, tpu: 2, memory: 1000 }))).toEqual({ GPU: 4, memory: 1000 });
    expect(scarceLimits(steps, has({ CPU: 8, GPU: 4 }))).toEqual({});
  });

  test("is never limited to less than the pipeline needs, since the cluster may grow", () => {
    const both = [...steps, { name: "infer", kind: "task", min: 0, amounts: { CPU: 1, GPU: 1 } } as const];
    // Two actors of a half, and a task of one.
    expect(scarceLimits(both, has({ GPU: 1 }))).toEqual({ GPU: 2 });
  });
});

describe("limits", () => {
  const refusal = (limits: Record<string, number>): string | undefined => {
    try {
      refuseBeyond(limits, steps, (name) => `resourceLimits allow ${limits[name]}`);
      return undefined;
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
      return (error as Error).message;
    }
  };

  test("that are just enough pass", () => {
    expect(refusal({ CPU: 3, GPU: 1, tpu: 2, memory: 100, other: 0 })).toBeUndefined();
  });

  test("below what a task or an actor needs are refused", () => {
    expect(refusal({ CPU: 1 })).toBe(
      "Cannot run map(fn): each of its tasks needs 2 of CPU, and resourceLimits allow 1: raise the limit, or let the step ask for less",
    );
    expect(refusal({ GPU: 0 })).toContain("Cannot run map(Model): each of its actors needs 0.5 of GPU, and resourceLimits allow 0");
    expect(refusal({ memory: 99 })).toContain("Cannot run read: each of its tasks needs 100 of memory");
  });

  test("that leave no task room beside the fewest actors are refused", () => {
    expect(refusal({ CPU: 2.5 })).toBe(
      "Cannot run map(Model): the fewest actors of the pipeline hold 1 of CPU as long as it runs (map(Model): 2 of 0.5), and a task of map(fn) needs 2 beside them, " +
        "and resourceLimits allow 2.5: raise the limit to 3, or let a step ask for less",
    );
    expect(refusal({ tpu: 1 })).toContain(
      "hold 2 of tpu as long as it runs (map(Model): 2 of 1), and resourceLimits allow 1: raise the limit to 2",
    );
  });
});

test("settings that are no amounts are refused, and other names of resources are told", () => {
  const refused = (settings: object, message: string): void => expect(() => range(1).withSettings(settings)).toThrow(message);
  refused({ resourceLimits: 3 }, "Cannot set resourceLimits of data: an object of names and amounts");
  refused({ resourceLimits: { CPU: -1 } }, 'for "CPU" a number from 0');
  refused({ resourceLimits: { cpu: 1 } }, '"cpu" is not a custom resource: use CPU');
  refused({ excludeResources: { GPU: "1" } }, "Cannot set excludeResources of data");
  refused({ resourceLimits: { object_store_memory: 1 } }, "use memoryBytes of data");
  expect(() => configure({ exclude_resources: {} } as never)).toThrow("it is excludeResources");
});
