/** Tasks: results, refs as arguments, nesting, several returns, options, and what is retried. */
import { join } from "node:path";
import { eventually, type Outcome, type Scenario, sleep, type System } from "../system.ts";

const section = "1.2 Tasks";

export const scenarios: readonly Scenario[] = [
  { section, name: "a task returns its value", run: async (s) => await s.get(await s.task("add", [1, 2])) },
  {
    section,
    name: "a ref as an argument is its value",
    run: async (s) => await s.get(await s.task("add", [await s.task("add", [1, 2]), 3])),
  },
  {
    section,
    name: "a ref inside a list stays a ref",
    run: async (s) => await s.get(await s.task("isRefInside", [[await s.put(1)]])),
  },
  { section, name: "a ref inside a list can be read", run: async (s) => await s.get(await s.task("readInside", [[await s.put("inner")]])) },
  {
    section,
    name: "a chain of fifty tasks",
    run: async (s) => {
      let ref = await s.put(0);
      for (let step = 0; step < 50; step += 1) ref = await s.task("add", [ref, 1]);
      return await s.get(ref);
    },
  },
  { section, name: "a task submits a task and awaits it", run: async (s) => await s.get(await s.task("nestedAdd", [3, 4])) },
  { section, name: "recursion by tasks ends on few CPUs", run: async (s) => await s.get(await s.task("fib", [7])) },
  {
    section,
    name: "numReturns splits the tuple",
    run: async (s) => await s.getAll(await s.tasks("tuple", [3], { numReturns: 3 })),
  },
  {
    section,
    name: "a tuple of another length fails every ref",
    run: async (s) => {
      const refs = await s.tasks("tuple", [2], { numReturns: 3 });
      return await Promise.all(refs.map(async (ref) => "error" in (await s.get(ref))));
    },
  },
  {
    section,
    name: "a returned list of refs holds refs",
    run: async (s) => {
      const outcome = await s.get(await s.task("putInside", [5]));
      const [inner] = ("value" in outcome ? outcome.value : []) as Parameters<typeof s.get>[0][];
      return inner === undefined ? outcome : await s.get(inner);
    },
  },
  {
    section,
    name: "arguments are taken when the call is made",
    run: async (s) => {
      const list = [1, 2];
      const ref = await s.task("sleepMs", [50, list]);
      list.push(3);
      return await s.get(ref);
    },
  },
  { section, name: "the name of a task", run: async (s) => await s.get(await s.task("taskName", [], { name: "chosen" })) },
  { section, name: "a task is in no actor", run: async (s) => await s.get(await s.task("inActor")) },
  { section, name: "assigned CPUs, a fraction", run: async (s) => await s.get(await s.task("assigned", ["CPU"], { numCpus: 0.5 })) },
  {
    section,
    name: "assigned custom resources",
    run: async (s) => await s.get(await s.task("assigned", ["widget"], { resources: { widget: 2 } })),
  },
  {
    section,
    name: "a dead worker is retried three times by default",
    run: async (s) => await s.get(await s.task("dieTimes", [join(s.folder, "three"), 3])),
  },
  {
    section,
    name: "a fourth death is final",
    run: async (s) => {
      const file = join(s.folder, "four");
      return [await s.get(await s.task("dieTimes", [file, 4])), await s.get(await s.task("countLines", [file]))];
    },
  },
  {
    section,
    name: "maxRetries 0 runs it once",
    run: async (s) => {
      const file = join(s.folder, "once");
      return [await s.get(await s.task("dieTimes", [file, 9], { maxRetries: 0 })), await s.get(await s.task("countLines", [file]))];
    },
  },
  {
    section,
    name: "maxRetries -1 has no end",
    run: async (s) => await s.get(await s.task("dieTimes", [join(s.folder, "endless"), 6], { maxRetries: -1 })),
  },
  {
    section,
    name: "what a task throws is not retried by default",
    run: async (s) => {
      const file = join(s.folder, "thrown");
      return [await s.get(await s.task("failTimes", [file, 9, "AppError"])), await s.get(await s.task("countLines", [file]))];
    },
  },
  {
    section,
    name: "retryOn true retries what is thrown",
    run: async (s) => await s.get(await s.task("failTimes", [join(s.folder, "all"), 2, "AppError"], { retryOn: true })),
  },
  {
    section,
    name: "retryOn a class retries that class",
    run: async (s) => await s.get(await s.task("failTimes", [join(s.folder, "class"), 2, "AppError"], { retryOn: ["AppError"] })),
  },
  {
    section,
    name: "retryOn a class leaves others",
    run: async (s) => {
      const file = join(s.folder, "other");
      return [
        await s.get(await s.task("failTimes", [file, 9, "OtherError"], { retryOn: ["AppError"] })),
        await s.get(await s.task("countLines", [file])),
      ];
    },
  },
  {
    section,
    name: "retries of what is thrown are bounded by maxRetries",
    run: async (s) => {
      const file = join(s.folder, "bounded");
      return [
        await s.get(await s.task("failTimes", [file, 9, "AppError"], { retryOn: true, maxRetries: 2 })),
        await s.get(await s.task("countLines", [file])),
      ];
    },
  },
  {
    section,
    name: "with maxCalls 1 each call has a process of its own, which ends",
    run: async (s) => {
      const pids = await pidsOf(s, "processOnce", { calls: 4, maxCalls: 1 });
      const areAlive = async (): Promise<boolean[]> => await Promise.all(pids.map((pid) => isAlive(s, pid)));
      return [new Set(pids).size, await eventually(areAlive, (alive) => !alive.includes(true))];
    },
  },
  {
    section,
    name: "no process runs more calls than maxCalls",
    run: async (s) => {
      const pids = await pidsOf(s, "processTwice", { calls: 7, maxCalls: 2 });
      const counts = pids.map((pid) => pids.filter((other) => other === pid).length);
      return [Math.max(...counts), new Set(pids).size >= 4];
    },
  },
  {
    section,
    name: "a task that nobody waits for runs",
    run: async (s) => {
      const file = join(s.folder, "unawaited");
      await s.task("append", [file, "line"]);
      for (let turn = 0; turn < 100; turn += 1) {
        const outcome = await s.get(await s.task("countLines", [file]));
        if ("value" in outcome && outcome.value === 1) return outcome;
        await sleep(20);
      }
      return "never";
    },
  },
];

/** Returns the processes that ran calls made one after the other. */
async function pidsOf(s: System, name: string, { calls, maxCalls }: { calls: number; maxCalls: number }): Promise<number[]> {
  const pids: number[] = [];
  for (let call = 0; call < calls; call += 1) pids.push(valueOf(await s.get(await s.task(name, [], { maxCalls }))) as number);
  return pids;
}

async function isAlive(s: System, pid: number): Promise<boolean> {
  return valueOf(await s.get(await s.task("isProcessAlive", [pid]))) as boolean;
}

function valueOf(outcome: Outcome): unknown {
  if ("value" in outcome) return outcome.value;
  throw new Error(JSON.stringify(outcome));
}
