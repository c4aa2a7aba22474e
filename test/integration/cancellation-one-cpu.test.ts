/**
 * Cancellation where a nested call runs on the same worker as the parent, which is always so with one CPU: while it computes, the worker
 * hears nothing.
 *
 * And of streams: a generator that computes, or awaits, between two items holds the one CPU, too.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cancel, remote, TaskCancelledError } from "shoal";
import { expect, test } from "vitest";
import { CANCEL_GRACE_MS } from "../../src/runtime/base/limits.ts";
import { driverRuntime, failureOf, isAlive, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 1 });

let marks = 0;
function newMark(): string {
  marks += 1;
  return join(folder, `mark-${marks}`);
}

const add = remote((a: number, b: number) => a + b);
const spin = remote((begun: string) => {
  writeFileSync(begun, String(process.pid));
  for (;;);
});
const ignore = remote(async (begun: string) => {
  writeFileSync(begun, String(process.pid));
  await new Promise((resolve) => setTimeout(resolve, 60_000));
});

function written(mark: string): Promise<void> {
  return until(() => existsSync(mark) && readFileSync(mark, "utf8") !== "", `something to be in ${mark}`);
}

/** How long the one CPU was not to be had. */
async function untilFree(): Promise<number> {
  const since = performance.now();
  expect(await add.remote(1, 2)).toBe(3);
  await until(() => driverRuntime().cancellation.pursuedCount === 0, "the cancelled calls to end");
  return performance.now() - since;
}

test("a child that computes on its parent's worker is interrupted with the parent, however deep", async () => {
  const parent = remote(async (begun: string) => {
    await remote(async () => {
      await spin.remote(begun);
    }).remote();
  });
  const begun = newMark();
  const ref = parent.remote(begun);
  await written(begun);
  cancel(ref);
  expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
  expect(await untilFree()).toBeLessThan(CANCEL_GRACE_MS);
  await until(() => !isAlive(Number(readFileSync(begun, "utf8"))), "the worker to be replaced");
});

test("with recursive: false it is not", async () => {
  const parent = remote(async (begun: string) => {
    await remote((mark: string) => {
      writeFileSync(mark, "begun");
      const end = performance.now() + 1000;
      while (performance.now() < end);
      writeFileSync(mark, "ended");
    }).remote(begun);
  });
  const begun = newMark();
  const ref = parent.remote(begun);
  await written(begun);
  cancel(ref, { recursive: false });
  expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
  await until(() => readFileSync(begun, "utf8") === "ended", "the child to end by itself");
  await untilFree();
});

test("a child that ignores its signal costs their worker after the time of grace", async () => {
  const parent = remote(async (begun: string) => {
    await ignore.remote(begun);
  });
  const begun = newMark();
  const ref = parent.remote(begun);
  await written(begun);
  cancel(ref);
  expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
  const pid = Number(readFileSync(begun, "utf8"));
  await until(() => !isAlive(pid), "the worker to be replaced");
  await untilFree();
});

class Never {
  async end(): Promise<void> {
    await new Promise(() => setInterval(() => {}, 1000));
  }
}

test("a task behind others that wait is interrupted at once", async () => {
  using never = remote(Never, { numCpus: 0 }).remote();
  const wait = remote(async (long: boolean) => {
    if (long) await never.end.remote();
  });
  await wait.remote(false);
  // A plain call of a function that is there: it begins where its frame arrives.
  const waiting = [wait.remote(true), wait.remote(true)];
  const begun = newMark();
  const ref = spin.remote(begun);
  await written(begun);
  cancel(ref);
  expect(await untilFree()).toBeLessThan(CANCEL_GRACE_MS);
  for (const each of waiting) cancel(each);
  for (const each of waiting) expect(await failureOf(each)).toBeInstanceOf(TaskCancelledError);
});

test("a generator that computes on is interrupted, whether it is cancelled or just not read any more", async () => {
  const numbers = remote(function* (begun: string) {
    yield 1;
    writeFileSync(begun, String(process.pid));
    for (;;);
  });
  for (const isCancelled of [true, false]) {
    const begun = newMark();
    const stream = numbers.remote(begun);
    // The item comes although the next one is computed without a pause.
    for await (const value of stream) {
      expect(value).toBe(1);
      await written(begun);
      break;
    }
    if (isCancelled) cancel(stream);
    const freeMs = await untilFree();
    if (isCancelled) expect(freeMs).toBeLessThan(CANCEL_GRACE_MS);
    await until(() => !isAlive(Number(readFileSync(begun, "utf8"))), "the worker to be replaced");
  }
});

test("a generator that awaits something for long gives its CPU back when nobody reads on", async () => {
  const go = newMark();
  const numbers = remote(async function* () {
    yield 1;
    while (!existsSync(go)) await new Promise((resolve) => setTimeout(resolve, 20));
    yield 2;
  });
  for await (const value of numbers.remote()) {
    expect(value).toBe(1);
    break;
  }
  // The generator holds the CPU until it is returned; only then the awaited call runs.
  expect(await add.remote(1, 2)).toBe(3);
  writeFileSync(go, "");
  await until(() => driverRuntime().cancellation.pursuedCount === 0, "the generator to end");
});
