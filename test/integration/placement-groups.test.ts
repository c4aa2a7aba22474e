/** Placement groups on real processes: reserved as a whole, used by tasks and actors, removed together with their tasks and actors. */
import { appendFileSync } from "node:fs";
import {
  availableResources,
  clusterResources,
  getCurrentPlacementGroup,
  getPlacementGroup,
  getRuntimeContext,
  type PlacementGroup,
  PlacementGroupNotFoundError,
  PlacementGroupRemovedError,
  placementGroup,
  placementGroupTable,
  ready,
  remote,
  TaskUnschedulableError,
} from "shoal";
import { afterEach, describe, expect, test } from "vitest";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

useSession({ numCpus: 4, numGpus: 2, resources: { slot: 2 }, labels: { zone: "a" } });
const folder = useFolder();

afterEach(async () => {
  for (const { id, state } of await placementGroupTable()) if (state !== "removed") await (await groupOf(id)).remove();
  const total = await clusterResources();
  await until(async () => JSON.stringify(await availableResources()) === JSON.stringify(total), "all resources to be free again");
});

const made = new Map<string, PlacementGroup>();
function group(...args: Parameters<typeof placementGroup>): PlacementGroup {
  const handle = placementGroup(...args);
  made.set(handle.id, handle);
  return handle;
}
async function groupOf(id: string): Promise<PlacementGroup> {
  const known = made.get(id);
  if (known !== undefined) return known;
  const name = (await placementGroupTable()).find((row) => row.id === id)?.name;
  return await getPlacementGroup(name as string);
}

const whereAmI = remote(() => getRuntimeContext().placementGroupId);

describe("a placement group", () => {
  test("takes its resources out of the node, runs tasks in them, and gives them back", async () => {
    const pair = group([{ CPU: 1 }, { CPU: 2, slot: 1 }], { name: "pair" });
    expect(await pair.ready()).toBe(pair);
    expect(await availableResources()).toMatchObject({ CPU: 1, slot: 1 });
    expect(await whereAmI.options({ placementGroup: pair }).remote()).toBe(pair.id);
    expect(await whereAmI.remote()).toBeUndefined();
    expect(await placementGroupTable()).toContainEqual(
      expect.objectContaining({
        id: pair.id,
        name: "pair",
        state: "created",
        strategy: "PACK",
        bundles: [{ CPU: 1 }, { CPU: 2, slot: 1 }],
      }),
    );
    await pair.remove();
    await until(async () => (await availableResources())["CPU"] === 4, "its CPUs to be free");
  });

  test("waits until all bundles fit at once, and is told about within a time", async () => {
    const first = await group([{ CPU: 3 }]).ready();
    const second = group([{ CPU: 1 }, { CPU: 1 }]);
    const late = await failureOf(second.ready({ timeoutMs: 50 }));
    expect(late).toMatchObject({ name: "GetTimeoutError", message: expect.stringContaining(second.id) });
    // Not even the bundle that would fit is taken.
    expect(await availableResources()).toMatchObject({ CPU: 1 });
    const task = whereAmI.options({ placementGroup: second }).remote();
    await first.remove();
    expect(await task).toBe(second.id);
    await second.ready({ timeoutMs: 5000 });
  });

  test("is not starved by tasks without end", async () => {
    const busy = remote(async () => await new Promise((resolve) => setTimeout(resolve, 20)));
    const load = { isOver: false, ended: 0 };
    // For each task that ends another one comes, for as long as the group is not there.
    const all = Array.from({ length: 40 }, async () => {
      for (; !load.isOver; load.ended += 1) await busy.remote();
    });
    await until(() => load.ended > 0, "the first tasks to end");
    const whole = group([{ CPU: 4 }]);
    await whole.ready({ timeoutMs: 20_000 });
    load.isOver = true;
    await whole.remove();
    await Promise.all(all);
  });

  test("bounds what runs in it, bundle by bundle", async () => {
    const small = await group([{ CPU: 1 }, { CPU: 1 }]).ready();
    const log = new Log(folder);
    const mark = remote(async (file: string) => {
      appendFileSync(file, "begin\n");
      await new Promise((resolve) => setTimeout(resolve, 60));
      appendFileSync(file, "end\n");
    });
    const inFirst = mark.options({ schedulingStrategy: { placementGroup: small, bundleIndex: 0 } });
    await Promise.all([inFirst.remote(log.file), inFirst.remote(log.file)]);
    expect(log.lines).toEqual(["begin", "end", "begin", "end"]);
  });

  test("removal ends its tasks and its actors, fails what waits, and names the group", async () => {
    class Sleeper {
      pid(): number {
        return process.pid;
      }
    }
    const doomed = await group([{ CPU: 1 }, { CPU: 1 }]).ready();
    const options = { placementGroup: doomed };
    const actor = remote(Sleeper, { ...options, numCpus: 1 }).remote();
    await ready(actor);
    const log = new Log(folder);
    const forever = remote(async (file: string) => {
      appendFileSync(file, "begun\n");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    }).options(options);
    const running = forever.remote(log.file);
    await until(() => log.lines.length === 1, "the task to run");
    const queued = forever.remote(log.file);
    const failures = [failureOf(running), failureOf(queued)];
    await doomed.remove();
    for (const failure of await Promise.all(failures)) {
      expect(failure).toBeInstanceOf(PlacementGroupRemovedError);
      expect(failure.message).toContain(doomed.id);
    }
    expect(await failureOf(actor.pid.remote())).toBeInstanceOf(PlacementGroupRemovedError);
    expect(await failureOf(whereAmI.options(options).remote())).toBeInstanceOf(PlacementGroupRemovedError);
    expect(await failureOf(doomed.ready())).toBeInstanceOf(PlacementGroupRemovedError);
    expect(log.lines).toEqual(["begun"]);
  });

  test("captures what its tasks submit where it is asked to, and not otherwise", async () => {
    const home = await group([{ CPU: 2 }]).ready();
    const parent = remote(async () => [await whereAmI.remote(), await whereAmI.options({ schedulingStrategy: "default" }).remote()]);
    const strategy = { placementGroup: home };
    expect(await parent.options({ schedulingStrategy: strategy }).remote()).toEqual([undefined, undefined]);
    expect(await parent.options({ schedulingStrategy: { ...strategy, captureChildTasks: true } }).remote()).toEqual([home.id, undefined]);
  });

  test("an actor in it takes its bundle's resources, and captures too", async () => {
    const home = await group([{ CPU: 1 }, { CPU: 1 }]).ready();
    class Maker {
      async where(): Promise<(string | undefined)[]> {
        return [getCurrentPlacementGroup()?.id, await whereAmI.remote()];
      }
    }
    using maker = remote(Maker, {
      numCpus: 1,
      schedulingStrategy: { placementGroup: home, bundleIndex: 0, captureChildTasks: true },
    }).remote();
    expect(await maker.where.remote()).toEqual([home.id, home.id]);
  });

  test("travels to tasks, which use it and remove it", async () => {
    const shared = await group([{ CPU: 1 }]).ready();
    const use = remote(async (given: PlacementGroup) => {
      await given.ready();
      return await whereAmI.options({ placementGroup: given }).remote();
    });
    expect(await use.remote(shared)).toBe(shared.id);
    await remote(async (given: { group: PlacementGroup }) => await given.group.remove()).remote({ group: shared });
    await until(async () => (await availableResources())["CPU"] === 4, "its resources to be free");
  });

  test("has a name of its own while it lives", async () => {
    const named = await group([{ CPU: 1 }], { name: "the one" }).ready();
    expect((await getPlacementGroup("the one")).id).toBe(named.id);
    expect(await failureOf(group([{ CPU: 1 }], { name: "the one" }).ready())).toMatchObject({
      name: "PlacementGroupRemovedError",
      message: expect.stringContaining("exists already"),
    });
    await group([{ CPU: 1 }], { name: "the other" }).ready();
    expect(await failureOf(getPlacementGroup("nope"))).toMatchObject({
      code: "PLACEMENT_GROUP_NOT_FOUND",
      message: expect.stringMatching(/"nope".*none has that name.*there are "the one", "the other"/),
      details: { known: ["the one", "the other"] },
    });
    expect((await failureOf(getPlacementGroup("the on"))).message).toMatch(/there are "the one", and 1 others$/);
    await named.remove();
    expect(await failureOf(getPlacementGroup("the one"))).toBeInstanceOf(PlacementGroupNotFoundError);
    await (await group([{ CPU: 1 }], { name: "the one" }).ready()).remove();
  });

  test("ends with the actor that made it, and one that is detached does not", async () => {
    class Maker {
      async make(name: string, lifetime: "detached" | undefined): Promise<void> {
        await placementGroup([{ CPU: 1 }], { name, lifetime }).ready();
      }
    }
    {
      using maker = remote(Maker).remote();
      await maker.make.remote("mortal", undefined);
      await maker.make.remote("kept", "detached");
      await until(async () => (await availableResources())["CPU"] === 2, "two CPUs to be taken, and the actor's start to be over");
    }
    await until(async () => (await availableResources())["CPU"] === 3, "the group of the actor to be removed");
    await (await getPlacementGroup("kept")).remove();
  });

  test("holds whole and shared GPUs by id", async () => {
    const gpus = await group([
      { CPU: 1, GPU: 0.5 },
      { CPU: 1, GPU: 1 },
    ]).ready();
    const ids = remote(() => [getRuntimeContext().acceleratorIds["GPU"], process.env["CUDA_VISIBLE_DEVICES"]], { numGpus: 0.5 });
    const inBundle = (bundleIndex: number) => ids.options({ schedulingStrategy: { placementGroup: gpus, bundleIndex } }).remote();
    const [half] = (await inBundle(0)) as [string[]];
    const [whole] = (await inBundle(1)) as [string[]];
    expect(new Set([...half, ...whole]).size).toBe(2);
    // The other half of the shared one is free to others.
    expect((await ids.remote())[0]).toEqual(half);
  });

  test("bad bundles and bad uses are refused before anything is sent", async () => {
    expect(() => placementGroup([])).toThrow(RangeError);
    expect(() => placementGroup([{}])).toThrow("bundle 0");
    expect(() => placementGroup([{ CPU: -1 }])).toThrow(RangeError);
    expect(() => placementGroup([{ CPU: 1 }], { strategy: "LOOSE" as never })).toThrow('"STRICT_SPREAD" is needed');
    expect(() => placementGroup([{ CPU: 1 }], { bundleLabelSelector: [] })).toThrow("one for each of the 1 bundles");
    const one = await group([{ CPU: 1 }]).ready();
    const task = remote(() => 1);
    expect(() => task.options({ placementGroup: one, numCpus: 2 })).toThrow("no bundle of the group has what it asks for: received 2 CPU");
    expect(() => task.options({ schedulingStrategy: { placementGroup: one, bundleIndex: 1 } })).toThrow(RangeError);
    expect(() => task.options({ placementGroup: {} as never })).toThrow(TypeError);
    expect(() => task.options({ placementGroup: one, schedulingStrategy: "spread" })).toThrow(TypeError);
    // The handle of the current group knows its id alone: the node finds out.
    const late = remote(async () => {
      const current = getCurrentPlacementGroup() as PlacementGroup;
      return await task.options({ schedulingStrategy: { placementGroup: current, bundleIndex: 7 } }).remote();
    }).options({ placementGroup: one });
    expect(await failureOf(late.remote())).toBeInstanceOf(TaskUnschedulableError);
  });
});
