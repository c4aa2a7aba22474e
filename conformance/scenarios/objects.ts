/** Objects: put, get, wait, and who sees what. */
import { type Ref, type Scenario } from "../system.ts";

const section = "1.3 Objects";

export const scenarios: readonly Scenario[] = [
  { section, name: "put and get", run: async (s) => await s.get(await s.put({ deep: [1, "two", null, true] })) },
  {
    section,
    name: "put of a ref is refused",
    run: async (s) =>
      await s.put(await s.put(1)).then(
        () => "accepted",
        () => "refused",
      ),
  },
  {
    section,
    name: "get keeps the order of the refs",
    run: async (s) => await s.getAll([await s.task("sleepMs", [150, "slow"]), await s.task("identity", ["fast"])]),
  },
  {
    section,
    name: "get of several fails with the first failure",
    run: async (s) => await s.getAll([await s.put(1), await s.task("fail", ["AppError", "first"]), await s.task("sleepMs", [50, 1])]),
  },
  {
    section,
    name: "locations of what was put, of a result and of what is still being made",
    run: async (s) => {
      const made = await s.task("identity", ["y".repeat(200_000)]);
      await s.wait([made], { numReturns: 1 });
      return await s.locations([await s.put("x".repeat(200_000)), await s.put(1), made, await s.task("sleepMs", [1200, 1])]);
    },
  },
  { section, name: "get of nothing", run: async (s) => await s.getAll([]) },
  { section, name: "get times out", run: async (s) => await s.get(await s.task("sleepMs", [1500, 1]), { timeoutMs: 50 }) },
  {
    section,
    name: "get with timeout 0 asks whether it is there",
    run: async (s) => {
      const ref = await s.put(7);
      return await s.get(ref, { timeoutMs: 0 });
    },
  },
  {
    section,
    name: "after a timeout the value can still be had",
    run: async (s) => {
      const ref = await s.task("sleepMs", [400, "late"]);
      return [await s.get(ref, { timeoutMs: 20 }), await s.get(ref)];
    },
  },
  {
    section,
    name: "wait splits by readiness and keeps order",
    run: async (s) => {
      const refs = [await s.task("sleepMs", [1200, 0]), await s.put(1), await s.task("sleepMs", [1200, 2]), await s.put(3)];
      return await s.wait(refs, { numReturns: 2 });
    },
  },
  {
    section,
    name: "wait gives no more than numReturns",
    run: async (s) => {
      const refs = [await s.put(0), await s.put(1), await s.put(2)];
      const outcome = await s.wait(refs, { numReturns: 2 });
      // Which of the ready refs is returned is open.
      return "value" in outcome ? (outcome.value as unknown[][]).map((part) => part.length) : outcome;
    },
  },
  {
    section,
    name: "wait with a timeout gives what is there",
    run: async (s) => await s.wait([await s.put(0), await s.task("sleepMs", [1200, 1])], { numReturns: 2, timeoutMs: 100 }),
  },
  {
    section,
    name: "a failed task is ready",
    run: async (s) => await s.wait([await s.task("fail", ["AppError", "ready"])], { numReturns: 1 }),
  },
  {
    section,
    name: "wait refuses a ref that is given twice",
    run: async (s) => {
      const ref = await s.put(1);
      return await s.wait([ref, ref], { numReturns: 1 });
    },
  },
  {
    section,
    name: "wait refuses to wait for more than there are",
    run: async (s) => await s.wait([await s.put(1)], { numReturns: 2 }),
  },
  { section, name: "wait refuses to wait for none", run: async (s) => await s.wait([await s.put(1)], { numReturns: 0 }) },
  {
    section,
    name: "a megabyte through put and a task",
    run: async (s) => await s.get(await s.task("length", [await s.put(new Uint8Array(1_000_000))])),
  },
  {
    section,
    name: "one object read by ten tasks",
    run: async (s) => {
      const big = await s.put(new Uint8Array(200_000));
      const refs: Ref[] = [];
      for (let reader = 0; reader < 10; reader += 1) refs.push(await s.task("length", [big]));
      return await s.getAll(refs);
    },
  },
];
