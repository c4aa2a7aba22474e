/** Where tasks and actors run, on real processes: strategies, labels, accelerators, and what is kept while a task waits. */
import { appendFileSync, readFileSync } from "node:fs";
import {
  ActorUnschedulableError,
  availableResources,
  clusterResources,
  getRuntimeContext,
  nodes,
  placementGroup,
  put,
  remote,
  TaskUnschedulableError,
} from "shoal";
import { describe, expect, test } from "vitest";
import { driverRuntime, failureOf, Log, until, useFolder, useSession } from "./session.ts";

useSession({ numCpus: 4, numGpus: 2, resources: { license: 1 }, labels: { region: "eu", "market-type": "spot" } });
const folder = useFolder();

const one = remote(() => 1);
/** Returns the GPUs that it was given, once so many run at the same time. */
const meeting = remote(
  async (file: string, size: number) => {
    appendFileSync(file, "here\n");
    while (readFileSync(file, "utf8").length < 5 * size) await new Promise((resolve) => setTimeout(resolve, 5));
    return [getRuntimeContext().acceleratorIds["GPU"] ?? [], process.env["CUDA_VISIBLE_DEVICES"]] as const;
  },
  { numGpus: 1 },
);
const gpus = remote(
  async (waitMs: number) => {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    return [getRuntimeContext().acceleratorIds["GPU"] ?? [], process.env["CUDA_VISIBLE_DEVICES"]] as [string[], string | undefined];
  },
  { numGpus: 1 },
);

describe("accelerators", () => {
  test("each task sees its own, those without see what the program was given", async () => {
    const log = new Log(folder);
    const [[first, shownToFirst], [second, shownToSecond]] = await Promise.all([meeting.remote(log.file, 2), meeting.remote(log.file, 2)]);
    expect([...first, ...second].toSorted()).toEqual(["0", "1"]);
    expect([shownToFirst, shownToSecond]).toEqual([first[0], second[0]]);
    const [none, shown] = await gpus.options({ numGpus: 0 }).remote(0);
    expect([none, shown]).toEqual([[], process.env["CUDA_VISIBLE_DEVICES"]]);
  });

  test("whole ones come together, halves share one", async () => {
    const [both, shown] = await gpus.options({ numGpus: 2 }).remote(0);
    expect([both, shown]).toEqual([["0", "1"], "0,1"]);
    const log = new Log(folder);
    const half = meeting.options({ numGpus: 0.5 });
    const shares = await Promise.all([half.remote(log.file, 3), half.remote(log.file, 3), meeting.remote(log.file, 3)]);
    const [[a], [b], [whole]] = shares;
    expect(a).toEqual(b);
    expect(whole).not.toEqual(a);
    expect(() => gpus.options({ numGpus: 1.5 })).toThrow("beyond 1 only whole GPUs");
  });

  test("an actor has the same ones for life, and a task keeps its own while it waits", async () => {
    class Model {
      ids(): unknown {
        return [getRuntimeContext().acceleratorIds, process.env["CUDA_VISIBLE_DEVICES"]];
      }
    }
    using model = remote(Model, { numGpus: 1 }).remote();
    const [ids, shown] = (await model.ids.remote()) as [{ GPU: string[] }, string];
    expect(ids.GPU).toEqual([shown]);
    const waits = remote(
      async () => {
        const before = process.env["CUDA_VISIBLE_DEVICES"];
        const child = await gpus.options({ numGpus: 0 }).remote(50);
        const free = (await availableResources())["GPU"];
        return [before, child[1], process.env["CUDA_VISIBLE_DEVICES"], free];
      },
      { numGpus: 1 },
    );
    const other = shown === "0" ? "1" : "0";
    expect(await waits.remote()).toEqual([other, process.env["CUDA_VISIBLE_DEVICES"], other, 0]);
  });
});

describe("custom resources", () => {
  test("stay with a task while it waits", async () => {
    const log = new Log(folder);
    const critical = remote(
      async (file: string) => {
        appendFileSync(file, "begin\n");
        await one.remote();
        await new Promise((resolve) => setTimeout(resolve, 20));
        await one.remote();
        appendFileSync(file, "end\n");
      },
      { resources: { license: 1 } },
    );
    await Promise.all([1, 2, 3].map(() => critical.remote(log.file)));
    expect(log.lines.join(" ")).toBe("begin end begin end begin end");
    await until(async () => (await availableResources())["license"] === 1, "the license to be free");
  });
});

describe("node affinity", () => {
  test("runs on the node, and nowhere else unless it is soft", async () => {
    const { nodeId } = getRuntimeContext();
    const where = remote(() => getRuntimeContext().nodeId);
    expect(await where.options({ schedulingStrategy: { nodeId } }).remote()).toBe(nodeId);
    expect(await where.options({ schedulingStrategy: { nodeId: "f".repeat(32), soft: true } }).remote()).toBe(nodeId);
    expect(await where.options({ schedulingStrategy: "spread" }).remote()).toBe(nodeId);
    const failure = await failureOf(where.options({ schedulingStrategy: { nodeId: "f".repeat(32) } }).remote());
    expect(failure).toBeInstanceOf(TaskUnschedulableError);
    expect(failure).toMatchObject({ code: "TASK_UNSCHEDULABLE", reason: expect.stringContaining("ffff") });
  });

  test("an actor on a node that is not there fails with the reason", async () => {
    class Empty {
      run(): number {
        return 1;
      }
    }
    using actor = remote(Empty, { schedulingStrategy: { nodeId: "e".repeat(32) } }).remote();
    const failure = await failureOf(actor.run.remote());
    expect(failure).toBeInstanceOf(ActorUnschedulableError);
    expect(failure.message).toContain("eeee");
  });
});

describe("labels", () => {
  test("of the node are known to all", async () => {
    const [node] = await nodes();
    expect(node?.labels).toMatchObject({ region: "eu", "market-type": "spot", "shoal.io/node-id": node?.nodeId });
    expect(await remote(() => getRuntimeContext().nodeLabels["region"]).remote()).toBe("eu");
  });

  test("that match let a task run, and others leave it pending, with one warning", async () => {
    const matching = { region: "in(us,eu)", "market-type": "!on-demand", absent: "!x", "shoal.io/node-id": getRuntimeContext().nodeId };
    expect(await one.options({ labelSelector: matching }).remote()).toBe(1);
    const warnings: string[] = [];
    const { options } = driverRuntime();
    const print = options.onWarning;
    options.onWarning = (text) => warnings.push(text);
    const pending = [one.options({ labelSelector: { region: "!in(eu,us)" } }), one.options({ labelSelector: { region: "!in(eu,us)" } })];
    const refs = pending.map((task) => task.remote());
    await until(() => warnings.length > 0, "a warning");
    expect(await failureOf(Promise.race(refs.map(async (ref) => await Promise.race([ref, fail(100)]))))).toMatchObject({
      message: "still pending",
    });
    options.onWarning = print;
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("region is !in(eu,us), but the node has the labels");
  });

  test("that match only what it falls back on let a task and an actor run, too", async () => {
    const otherwise = {
      labelSelector: { region: "mars" },
      fallbackStrategy: [{ labelSelector: { region: "venus" } }, { labelSelector: { region: "eu" } }],
    };
    expect(await one.options(otherwise).remote()).toBe(1);
    expect(await one.options({ labelSelector: { region: "mars" }, fallbackStrategy: [{ labelSelector: {} }] }).remote()).toBe(1);
    class Place {
      region(): string | undefined {
        return getRuntimeContext().nodeLabels["region"];
      }
    }
    expect(await remote(Place).options(otherwise).remote().region.remote()).toBe("eu");
    const sent = one.options(otherwise);
    expect(await remote(async (given: typeof sent) => await given.remote()).remote(sent)).toBe(1);
  });

  test("to fall back on that are malformed are refused", () => {
    const refusal = (given: unknown): string => {
      try {
        one.options({ fallbackStrategy: given as never });
      } catch (error) {
        return String(error);
      }
      return "accepted";
    };
    expect(refusal({ labelSelector: {} })).toContain(
      'TypeError: Cannot set fallbackStrategy of a task: an array such as [{ labelSelector: { region: "us" } }] is needed',
    );
    expect(refusal([{ labelSelector: {} }, {}])).toContain(
      "TypeError: Cannot set fallbackStrategy of a task: item 1: an object with a labelSelector",
    );
    expect(refusal([{ labelSelector: { a: "b" }, numCpus: 1 }])).toContain('item 0: there is labelSelector, and no "numCpus"');
    expect(refusal([{ labelSelector: { a: "in(" } }])).toContain(
      'RangeError: Cannot set fallbackStrategy of a task: item 0: the condition on a is not "v"',
    );
    const group = placementGroup([{ CPU: 1 }]);
    expect(() => one.options({ placementGroup: group, fallbackStrategy: [{ labelSelector: {} }] })).toThrow(
      "Cannot set fallbackStrategy of a task: it runs in a placement group",
    );
    return group.remove();
  });

  test("that are malformed are refused", () => {
    expect(() => one.options({ labelSelector: { region: "in(" } })).toThrow('"v", "!v", "in(a,b)" or "!in(a,b)"');
    expect(() => one.options({ labelSelector: { region: 1 as never } })).toThrow(TypeError);
    expect(() => one.options({ schedulingStrategy: { nodeId: "" } })).toThrow(TypeError);
    expect(() => one.options({ schedulingStrategy: "random" as never })).toThrow(RangeError);
  });
});

test("strategies travel with a remote function that is sent", async () => {
  const { nodeId } = getRuntimeContext();
  const placed = one.options({ schedulingStrategy: { nodeId }, labelSelector: { region: "eu" } });
  expect(await remote(async (given: typeof placed) => await given.remote()).remote(placed)).toBe(1);
  expect((await clusterResources())["GPU"]).toBe(2);
  expect(await remote((bytes: Uint8Array) => bytes.length, { resources: { license: 0.5 } }).remote(put(new Uint8Array(100_000)))).toBe(
    100_000,
  );
});

function fail(afterMs: number): Promise<never> {
  return new Promise((_resolve, reject) => setTimeout(() => reject(new Error("still pending")), afterMs));
}
