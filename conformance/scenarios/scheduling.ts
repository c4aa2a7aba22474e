/** Resources, strategies and placement groups. */
import { eventually, type Scenario, sleep } from "../system.ts";

const section = "1.7 Resources, scheduling, placement groups";

export const scenarios: readonly Scenario[] = [
  {
    section,
    name: "what the cluster has",
    run: async (s) => {
      const { CPU, GPU, widget } = await s.resources("cluster");
      return { CPU, GPU, widget };
    },
  },
  { section, name: "one node", run: async (s) => await s.nodeCount() },
  {
    section,
    name: "a custom resource bounds how many run at once",
    run: async (s) => {
      const first = await s.task("sleepMs", [1200, "first"], { resources: { widget: 2 } });
      const second = await s.task("identity", ["second"], { resources: { widget: 1 } });
      return [await s.wait([first, second], { numReturns: 1, timeoutMs: 400 }), await s.getAll([first, second])];
    },
  },
  {
    section,
    name: "what asks for more than there is stays pending",
    run: async (s) => await s.get(await s.task("identity", [1], { resources: { widget: 3 } }), { timeoutMs: 500 }),
  },
  {
    section,
    name: "a resource that nobody has stays pending",
    run: async (s) => await s.get(await s.task("identity", [1], { resources: { gadget: 1 } }), { timeoutMs: 500 }),
  },
  {
    section,
    name: "a GPU is named to the task that has it",
    run: async (s) => {
      const outcome = await s.get(await s.task("envVar", ["CUDA_VISIBLE_DEVICES"], { numGpus: 1 }));
      return "value" in outcome && ["0", "1"].includes(String(outcome.value));
    },
  },
  {
    section,
    name: "two GPUs",
    run: async (s) => {
      const outcome = await s.get(await s.task("envVar", ["CUDA_VISIBLE_DEVICES"], { numGpus: 2 }));
      return "value" in outcome ? String(outcome.value).split(",").sort().join() : outcome;
    },
  },
  { section, name: "half a GPU is assigned as half", run: async (s) => await s.get(await s.task("assigned", ["GPU"], { numGpus: 0.5 })) },
  {
    section,
    name: "spread runs on one node too",
    run: async (s) => await s.get(await s.task("add", [1, 2], { schedulingStrategy: "spread" })),
  },
  {
    section,
    name: "affinity to a node that does not exist, hard",
    run: async (s) => {
      const outcome = await s.get(await s.task("add", [1, 2], { schedulingStrategy: { node: -1, soft: false } }), { timeoutMs: 5000 });
      return outcome;
    },
  },
  {
    section,
    name: "affinity to a node that does not exist, soft",
    run: async (s) => await s.get(await s.task("add", [1, 2], { schedulingStrategy: { node: -1, soft: true } }), { timeoutMs: 5000 }),
  },
  {
    section,
    name: "a label that no node has: what it falls back on is taken in its order",
    run: async (s) => {
      const fallbackStrategy = [{ labelSelector: { zone: "elsewhere" } }, { labelSelector: { zone: "!nowhere" } }];
      const counter = await s.actor("Counter", [5], { labelSelector: { zone: "nowhere" }, fallbackStrategy });
      return [
        await s.get(await s.task("add", [1, 2], { labelSelector: { zone: "nowhere" }, fallbackStrategy })),
        await s.get(await s.call(counter, "value")),
      ];
    },
  },
  {
    section,
    name: "a fallback without conditions is any node",
    run: async (s) =>
      await s.get(await s.task("add", [1, 2], { labelSelector: { zone: "nowhere" }, fallbackStrategy: [{ labelSelector: {} }] })),
  },
  {
    section,
    name: "labels that no node has, at first or to fall back on, stay pending",
    run: async (s) => {
      const fallbackStrategy = [{ labelSelector: { zone: "elsewhere" } }];
      return await s.get(await s.task("add", [1, 2], { labelSelector: { zone: "nowhere" }, fallbackStrategy }), { timeoutMs: 1000 });
    },
  },
  {
    section,
    name: "a placement group becomes ready",
    run: async (s) => {
      const group = await s.placementGroup([{ CPU: 1 }, { CPU: 1 }], "PACK");
      const ready = await s.groupReady(group, { timeoutMs: 10_000 });
      await s.removeGroup(group);
      return ready;
    },
  },
  {
    section,
    name: "a group that does not fit is not ready",
    run: async (s) => {
      const group = await s.placementGroup([{ CPU: 100 }], "PACK");
      const ready = await s.groupReady(group, { timeoutMs: 500 });
      await s.removeGroup(group);
      return ready;
    },
  },
  {
    section,
    name: "STRICT_SPREAD of two bundles does not fit one node",
    run: async (s) => {
      const group = await s.placementGroup([{ CPU: 1 }, { CPU: 1 }], "STRICT_SPREAD");
      const ready = await s.groupReady(group, { timeoutMs: 500 });
      await s.removeGroup(group);
      return ready;
    },
  },
  {
    section,
    name: "SPREAD and STRICT_PACK fit one node",
    run: async (s) => {
      const outcomes = [];
      for (const strategy of ["SPREAD", "STRICT_PACK"] as const) {
        const group = await s.placementGroup([{ CPU: 1 }, { CPU: 1 }], strategy);
        outcomes.push(await s.groupReady(group, { timeoutMs: 10_000 }));
        await s.removeGroup(group);
      }
      return outcomes;
    },
  },
  {
    section,
    name: "a group reserves what it has, and gives it back",
    run: async (s) => {
      const group = await s.placementGroup([{ widget: 2 }], "PACK");
      await s.groupReady(group, { timeoutMs: 10_000 });
      const during = await eventually(
        async () => (await s.resources("available")).widget ?? 0,
        (widget) => widget === 0,
      );
      await s.removeGroup(group);
      return [
        during,
        await eventually(
          async () => (await s.resources("available")).widget ?? 0,
          (widget) => widget === 2,
        ),
      ];
    },
  },
  {
    section,
    name: "a task in a group",
    run: async (s) => {
      const group = await s.placementGroup([{ CPU: 1, widget: 1 }], "PACK");
      await s.groupReady(group, { timeoutMs: 10_000 });
      const outcome = await s.get(await s.task("add", [1, 2], { placementGroup: group, bundleIndex: 0, resources: { widget: 1 } }));
      await s.removeGroup(group);
      return outcome;
    },
  },
  {
    section,
    name: "removal ends the group's actors",
    run: async (s) => {
      const group = await s.placementGroup([{ CPU: 1 }], "PACK");
      const counter = await s.actor("Counter", [], { placementGroup: group, numCpus: 1 });
      await s.get(await s.call(counter, "value"));
      await s.removeGroup(group);
      await sleep(500);
      const outcome = await s.get(await s.call(counter, "value"));
      return "error" in outcome;
    },
  },
  {
    section,
    name: "a call into a removed group fails",
    run: async (s) => {
      const group = await s.placementGroup([{ CPU: 1 }], "PACK");
      await s.groupReady(group, { timeoutMs: 10_000 });
      await s.removeGroup(group);
      await sleep(300);
      return (
        "error" in
        (await s.task("add", [1, 2], { placementGroup: group }).then(
          (ref) => s.get(ref, { timeoutMs: 8000 }),
          () => ({ error: "refused" }),
        ))
      );
    },
  },
];
