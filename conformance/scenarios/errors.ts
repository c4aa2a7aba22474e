/** Errors: what arrives when user code throws, processes die, and calls depend on each other. */
import type { Scenario } from "../system.ts";

const section = "1.6 Errors";

export const scenarios: readonly Scenario[] = [
  { section, name: "what a task throws arrives with its class", run: async (s) => await s.get(await s.task("fail", ["AppError", "boom"])) },
  { section, name: "another class", run: async (s) => await s.get(await s.task("fail", ["OtherError", "bang"])) },
  { section, name: "an error passes through a nested task", run: async (s) => await s.get(await s.task("nestedFail", ["inside"])) },
  {
    section,
    name: "a failed argument fails the call with its own error",
    run: async (s) => await s.get(await s.task("add", [await s.task("fail", ["AppError", "argument"]), 1])),
  },
  {
    section,
    name: "a failure travels along a chain",
    run: async (s) => {
      let ref = await s.task("fail", ["AppError", "first"]);
      for (let step = 0; step < 5; step += 1) ref = await s.task("identity", [ref]);
      return await s.get(ref);
    },
  },
  { section, name: "a task that exits its process", run: async (s) => await s.get(await s.task("exitWith", [3], { maxRetries: 0 })) },
  {
    section,
    name: "an actor's method that throws",
    run: async (s) => await s.get(await s.call(await s.actor("Counter"), "fail", ["method"])),
  },
  {
    section,
    name: "a failed argument of an actor's call",
    run: async (s) => {
      const counter = await s.actor("Counter");
      const failed = await s.get(await s.call(counter, "increment", [await s.task("fail", ["AppError", "by"])]));
      return [failed, await s.get(await s.call(counter, "value"))];
    },
  },
  {
    section,
    name: "a failed argument of a constructor",
    run: async (s) => {
      const outcome = await s.get(await s.call(await s.actor("Counter", [await s.task("fail", ["AppError", "start"])]), "value"));
      return "error" in outcome;
    },
  },
  {
    section,
    name: "the same failure can be read twice",
    run: async (s) => {
      const ref = await s.task("fail", ["AppError", "again"]);
      return [await s.get(ref), await s.get(ref)];
    },
  },
];
