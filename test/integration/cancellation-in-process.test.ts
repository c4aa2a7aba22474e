/**
 * Cancellation where all runs in one process: by the signal alone, as there is nothing that could interrupt code.
 */
import { cancel, get, getRuntimeContext, type ObjectRef, remote, TaskCancelledError, TaskTimeoutError } from "shoal";
import { describe, expect, test } from "vitest";
import { driverRuntime, failureOf, until, useSession } from "./session.ts";

useSession({ numCpus: 2, mode: "inProcess" });

const seen: string[] = [];
const untilAborted = remote(async (name: string) => {
  seen.push(`${name} begins`);
  const { signal } = getRuntimeContext();
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  seen.push(`${name} ends`);
});

function untilQuiet(): Promise<void> {
  return until(() => driverRuntime().cancellation.pursuedCount === 0, "the tasks to end");
}

describe("in one process", () => {
  test("a task sees its signal abort, and its ref is rejected", async () => {
    const ref = untilAborted.remote("first");
    await until(() => seen.includes("first begins"), "the task to begin");
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await until(() => seen.includes("first ends"), "the task to end");
    await untilQuiet();
  });

  test("what it has called is cancelled with it; the calls of others are not", async () => {
    const parent = remote(async () => {
      await untilAborted.remote("child");
    });
    const other = untilAborted.remote("other");
    const ref = parent.remote();
    await until(() => seen.includes("child begins") && seen.includes("other begins"), "the tasks to begin");
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await until(() => seen.includes("child ends"), "the child to end");
    expect(seen).not.toContain("other ends");
    cancel(other);
    expect(await failureOf(other)).toBeInstanceOf(TaskCancelledError);
    await untilQuiet();
  });

  test("timeoutMs and signal end calls of tasks and actors", async () => {
    expect(await failureOf(untilAborted.options({ timeoutMs: 20 }).remote("late"))).toBeInstanceOf(TaskTimeoutError);
    class Pausing {
      async pause(): Promise<void> {
        const { signal } = getRuntimeContext();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }
      sum(a: number, b: number): number {
        return a + b;
      }
    }
    using actor = remote(Pausing).remote();
    const controller = new AbortController();
    const paused: ObjectRef<void> = actor.pause.options({ signal: controller.signal }).remote();
    const sum = actor.sum.remote(1, 2);
    setTimeout(() => controller.abort(), 20);
    expect(await failureOf(paused)).toBeInstanceOf(TaskCancelledError);
    expect(await get(sum)).toBe(3);
    await untilQuiet();
  });
});
