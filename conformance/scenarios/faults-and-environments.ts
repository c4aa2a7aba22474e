/** Fault tolerance and runtime environments. */
import { join } from "node:path";
import type { Scenario, System } from "../system.ts";

const fault = "1.8 Fault tolerance";
const environment = "1.9 Runtime environments";

export const scenarios: readonly Scenario[] = [
  {
    section: fault,
    name: "a worker that dies does not disturb its neighbours",
    run: async (s) => {
      const dying = await s.task("dieTimes", [join(s.folder, "neighbour"), 1]);
      const refs = [];
      for (let index = 0; index < 8; index += 1) refs.push(await s.task("sleepMs", [30, index]));
      return [await s.get(dying), await s.getAll(refs)];
    },
  },
  ...["exit", "SIGKILL", "abort"].map((how) => ({
    section: fault,
    name: `a task catches that the process of its child ended by ${how}`,
    run: async (s: System) => await s.get(await s.task("survivesChild", [how], { maxRetries: 0 })),
  })),
  {
    section: fault,
    name: "a task goes on while its child computes",
    run: async (s) => await s.get(await s.task("ticksMeanwhile", [1000])),
  },
  {
    section: fault,
    name: "a task waits for a child that computes no longer than it says",
    run: async (s) => await s.get(await s.task("limitsChild", [], { maxRetries: 0 })),
  },
  {
    section: fault,
    name: "a task keeps its working directory and its globals whatever its child does",
    run: async (s) => await s.get(await s.task("keepsPlace", [s.folder])),
  },
  {
    section: fault,
    name: "a task keeps its environment variables whatever its child does",
    run: async (s) => await s.get(await s.task("keepsVariable", ["CONFORMANCE_CHILD"])),
  },
  {
    section: fault,
    name: "a generator that ends its process has delivered what it yielded",
    run: async (s) => {
      const stream = await s.stream("exitAfter", [100]);
      const values: unknown[] = [];
      for (let outcome = await s.next(stream); "value" in outcome && values.length < 100; outcome = await s.next(stream))
        values.push(outcome.value);
      return values;
    },
  },
  {
    section: fault,
    name: "a retried task gives its dependents their argument",
    run: async (s) => await s.get(await s.task("add", [await s.task("dieTimes", [join(s.folder, "dependent"), 1]), 10])),
  },
  {
    section: fault,
    name: "a retried task makes its own calls anew, under new names",
    run: async (s) => await s.get(await s.task("callAndDieTimes", [join(s.folder, "parent"), 2])),
  },
  {
    section: fault,
    name: "an object outlives the task that made it",
    run: async (s) => {
      const outcome = await s.get(await s.task("putInside", ["made in a task"]));
      const [inner] = ("value" in outcome ? outcome.value : []) as Parameters<typeof s.get>[0][];
      await s.get(await s.task("exitWith", [0], { maxRetries: 0 }));
      return inner === undefined ? outcome : await s.get(inner);
    },
  },
  {
    section: environment,
    name: "environment variables of a task",
    run: async (s) => await s.get(await s.task("envVar", ["CONFORMANCE_COLOUR"], { envVars: { CONFORMANCE_COLOUR: "blue" } })),
  },
  {
    section: environment,
    name: "they are of that task alone",
    run: async (s) => {
      await s.get(await s.task("envVar", ["CONFORMANCE_SHAPE"], { envVars: { CONFORMANCE_SHAPE: "round" } }));
      return await s.get(await s.task("envVar", ["CONFORMANCE_SHAPE"]));
    },
  },
];
