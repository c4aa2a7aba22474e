/** Generators, cancellation, and what of the runtime context both sides have. */
import { join } from "node:path";
import { eventually, type Outcome, type Scenario, sleep, type System } from "../system.ts";

const section = "1.5 Generators, cancellation, runtime context";

async function drained(s: System, stream: Parameters<System["next"]>[0], most = 20): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let item = 0; item < most; item += 1) {
    const outcome = await s.next(stream);
    outcomes.push(outcome);
    if ("error" in outcome) break;
  }
  return outcomes;
}

export const scenarios: readonly Scenario[] = [
  { section, name: "a generator task streams its items", run: async (s) => await drained(s, await s.stream("countTo", [4])) },
  { section, name: "a stream of nothing ends", run: async (s) => await drained(s, await s.stream("countTo", [0])) },
  { section, name: "an error in mid-stream comes at its place", run: async (s) => await drained(s, await s.stream("failAt", [2])) },
  {
    section,
    name: "a generator method streams",
    run: async (s) => await drained(s, await s.stream({ actor: await s.actor("Counter", [5]), method: "items" }, [3])),
  },
  {
    section,
    name: "a thousand items in order",
    run: async (s) => {
      const outcomes = await drained(s, await s.stream("countTo", [1000]), 1001);
      return [outcomes.length, outcomes.every((outcome, index) => index === 1000 || ("value" in outcome && outcome.value === index))];
    },
  },
  {
    section,
    name: "cancel of a running task",
    run: async (s) => {
      const file = join(s.folder, "cancel-running");
      const ref = await s.task("appendThenSleep", [file, 3000]);
      await eventually(
        async () => await s.get(await s.task("countLines", [file])),
        (outcome) => "value" in outcome && outcome.value === 1,
      );
      await s.cancel(ref);
      return await s.get(ref);
    },
  },
  {
    section,
    name: "cancel of a task that computes",
    run: async (s) => {
      const ref = await s.task("spinMs", [20_000, 1], { maxRetries: 0 });
      await sleep(800);
      await s.cancel(ref);
      return await s.get(ref, { timeoutMs: 10_000 });
    },
  },
  {
    section,
    name: "cancel of a task that prints fails no task behind it",
    run: async (s) => {
      const outcomes: unknown[] = [];
      for (let round = 0; round < 6; round += 1) {
        const ref = await s.task("printMs", [20_000, 1], { maxRetries: 0 });
        await sleep(800);
        await s.cancel(ref);
        const behind = [await s.task("identity", [1], { maxRetries: 0 }), await s.task("identity", [2], { maxRetries: 0 })];
        outcomes.push(await s.get(ref, { timeoutMs: 10_000 }));
        for (const each of behind) outcomes.push(await s.get(each, { timeoutMs: 10_000 }));
      }
      return outcomes;
    },
  },
  {
    section,
    name: "cancel of a task that waits for its argument",
    withoutRay: {
      why: "Ray's driver aborts when the argument arrives after the cancellation (a check of submitted_task_ref_count in reference_counter.cc fails)",
      expected: [{ error: "TaskCancelledError" }, { value: 0 }],
    },
    run: async (s) => {
      const file = join(s.folder, "cancel-pending");
      const ref = await s.task("append", [file, await s.task("sleepMs", [1500, "argument"])]);
      await s.cancel(ref);
      const outcome = await s.get(ref);
      await sleep(1800);
      return [outcome, await s.get(await s.task("countLines", [file]))];
    },
  },
  {
    section,
    name: "a cancelled task is not run again",
    run: async (s) => {
      const file = join(s.folder, "cancel-retry");
      const ref = await s.task("appendThenSleep", [file, 3000], { maxRetries: 3, retryOn: true });
      await eventually(
        async () => await s.get(await s.task("countLines", [file])),
        (outcome) => "value" in outcome && outcome.value === 1,
      );
      await s.cancel(ref);
      await s.get(ref);
      await sleep(500);
      return await s.get(await s.task("countLines", [file]));
    },
  },
  {
    section,
    name: "cancel of what has ended changes nothing",
    run: async (s) => {
      const ref = await s.task("add", [1, 1]);
      await s.get(ref);
      const cancelled = await s.cancel(ref);
      return ["value" in cancelled, await s.get(ref)];
    },
  },
  {
    section,
    name: "cancel reaches the children",
    run: async (s) => {
      const file = join(s.folder, "cancel-children");
      const ref = await s.task("waitForChild", [file]);
      await eventually(
        async () => await s.get(await s.task("countLines", [file])),
        (outcome) => "value" in outcome && outcome.value === 1,
      );
      await s.cancel(ref, { recursive: true });
      const outcome = await s.get(ref);
      await sleep(6000);
      // The child wrote "begun" and was ended before "ended".
      return ["error" in outcome, await s.get(await s.task("countLines", [file]))];
    },
  },
  {
    section,
    name: "forced cancel",
    run: async (s) => {
      const ref = await s.task("spinMs", [20_000, 1]);
      await sleep(800);
      await s.cancel(ref, { force: true });
      const outcome = await s.get(ref, { timeoutMs: 10_000 });
      // Ray reports a forced one as the crash that it is or as cancelled, by which comes first.
      return "error" in outcome && ["TaskCancelledError", "WorkerCrashedError"].includes(outcome.error);
    },
  },
  {
    section,
    name: "forced cancel of an actor's call is refused",
    run: async (s) => {
      const counter = await s.actor("Counter");
      const ref = await s.call(counter, "incrementSlowly", [1500]);
      return "error" in (await s.cancel(ref, { force: true }));
    },
  },
  {
    section,
    name: "cancel of a queued actor call",
    differs: "Ray tells the caller that the call was cancelled and runs it all the same; ours does not run",
    run: async (s) => {
      const counter = await s.actor("Counter");
      await s.get(await s.call(counter, "value"));
      const slow = await s.call(counter, "incrementSlowly", [1200]);
      const queued = await s.call(counter, "increment", [100]);
      await s.cancel(queued);
      return [await s.get(queued), await s.get(slow), await s.get(await s.call(counter, "value"))];
    },
  },
];
