/**
 * The end of calls that nobody waits for any more: `cancel`, the options `signal` and `timeoutMs`, and what the work behind them sees.
 */
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cancel, getRuntimeContext, remote, TaskCancelledError } from "shoal";
import { describe, expect, test } from "vitest";
import { driverRuntime, failureOf, Log, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

let marks = 0;
function newMark(): string {
  marks += 1;
  return join(folder, `mark-${marks}`);
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Tells that it has begun, and ends when its signal aborts, telling why. */
const untilAborted = remote(async (begun: string, ended: string) => {
  writeFileSync(begun, "");
  const { signal } = getRuntimeContext();
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  writeFileSync(ended, String(signal.reason));
});
const add = remote((a: number, b: number) => a + b);

/** Every call is known to have ended in its worker, too. */
function untilQuiet(): Promise<void> {
  return until(() => driverRuntime().cancellation.pursuedCount === 0 && driverRuntime().pendingTaskCount === 0, "the workers to be quiet");
}

describe("a task", () => {
  test("that awaits something sees its signal abort; its ref is rejected at once", async () => {
    const begun = newMark();
    const ended = newMark();
    const ref = untilAborted.remote(begun, ended);
    await until(() => existsSync(begun), "the task to begin");
    cancel(ref);
    const failure = await failureOf(ref);
    expect(failure).toBeInstanceOf(TaskCancelledError);
    expect(failure).toMatchObject({ code: "TASK_CANCELLED", hint: expect.any(String) });
    await until(() => existsSync(ended), "the task to end");
    await untilQuiet();
    expect(await add.remote(1, 2)).toBe(3);
  });

  test("that waits for its arguments never begins", async () => {
    const slow = remote(async () => {
      await sleep(300);
      return 1;
    });
    const log = new Log(folder);
    const { file } = log;
    const note = remote((_n: number) => appendFileSync(file, "ran\n"));
    const argument = slow.remote();
    const ref = note.remote(argument);
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    expect(await argument).toBe(1);
    await add.remote(1, 2);
    expect(log.lines).toEqual([]);
  });
});
