/**
 * An interruption harms nobody but its call: neighbours keep their worker, and no later task meets what the stopped code left half done.
 *
 * On one CPU the tasks behind an interrupted one were sent to the same worker, and a waiting parent shares it.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cancel, get, type ObjectRef, put, remote, TaskCancelledError, TaskTimeoutError } from "shoal";
import { describe, expect, test } from "vitest";
import { CANCEL_GRACE_MS } from "../../src/runtime/worker/limits.ts";
import { driverRuntime, failureOf, isAlive, until, useFolder, useSession } from "./session.ts";

const TRIES = 64;

const folder = useFolder();
useSession({ numCpus: 1 });

let marks = 0;
function newMark(): string {
  marks += 1;
  return join(folder, `mark-${marks}`);
}

function written(mark: string): Promise<void> {
  return until(() => existsSync(mark) && readFileSync(mark, "utf8") !== "", `something to be in ${mark}`);
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Endless work that spends its time in Shoal's own code. */
const endless = {
  prints: remote((begun: string) => {
    writeFileSync(begun, String(process.pid));
    for (;;) console.log("a line that a task prints");
  }),
  puts: remote((begun: string) => {
    writeFileSync(begun, String(process.pid));
    for (let index = 0; ; index += 1) put([index]);
  }),
};
const identity = remote((n: number) => n, { maxRetries: 0 });

const ways = ["cancel", "timeoutMs", "signal"] as const;

/** Ends the call some moments after it has begun. */
async function end(work: (typeof endless)["prints"], way: (typeof ways)[number], afterMs: number): Promise<[ObjectRef<never>]> {
  const begun = newMark();
  const controller = new AbortController();
  const options = way === "signal" ? { signal: controller.signal } : way === "timeoutMs" ? { timeoutMs: 100 + afterMs } : {};
  const ref = work.options(options).remote(begun) as ObjectRef<never>;
  if (way === "timeoutMs") return [ref];
  await written(begun);
  await sleep(afterMs);
  if (way === "signal") controller.abort();
  else cancel(ref);
  return [ref];
}

describe.each(Object.keys(endless) as (keyof typeof endless)[])("a task that %s without end", (kind) => {
  test.each(ways)("costs no task behind it anything when %s ends it", async (way) => {
    const outcomes: string[] = [];
    for (let index = 0; index < TRIES / 4; index += 1) {
      const [ref] = await end(endless[kind], way, index % 8);
      const behind = [1, 2, 3, 4].map((n) => identity.remote(n));
      const failure = await failureOf(ref);
      expect(failure).toBeInstanceOf(way === "timeoutMs" ? TaskTimeoutError : TaskCancelledError);
      for (const result of await Promise.allSettled(behind)) outcomes.push(result.status === "fulfilled" ? "ended" : result.reason.message);
    }
    expect(outcomes.filter((outcome) => outcome !== "ended")).toEqual([]);
  }, 120_000);
});
