/**
 * Calls begin while their caller computes: submitted calls leave before the caller's event loop turns again.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ActorHandle, cancel, type ObjectRef, put, remote, why } from "shoal";
import { expect, test } from "vitest";
import { until, useFolder, useSession } from "./session.ts";

const COMPUTES_MS = 1200;
/** On a loaded machine a process may wait for its processor; a call that waits for its caller begins after `COMPUTES_MS`. */
const BEGINS_WITHIN_MS = COMPUTES_MS / 2;

const folder = useFolder();
useSession({ numCpus: 2 });

const begun = remote((_argument?: unknown) => Date.now());

class Clock {
  readonly bornAt = Date.now();
  now(): number {
    return Date.now();
  }
  born(): number {
    return this.bornAt;
  }
}
const ClockActor = remote(Clock);

function compute(): void {
  const endMs = Date.now() + COMPUTES_MS;
  while (Date.now() < endMs);
}

/** Submits, computes, and only then lets the event loop turn. @returns after how many milliseconds the call had begun */
async function delayOf(submit: () => PromiseLike<number>): Promise<number> {
  const from = Date.now();
  const ref = submit();
  compute();
  return (await ref) - from;
}

test("a task begins while its caller computes where its worker is at hand", async () => {
  await begun.remote();
  expect(await delayOf(() => begun.remote())).toBeLessThan(BEGINS_WITHIN_MS);
});

test("a method begins while its caller computes", async () => {
  const clock = ClockActor.remote();
  await clock.now.remote();
  expect(await delayOf(() => clock.now.remote())).toBeLessThan(BEGINS_WITHIN_MS);
});

test("a method begins while the task or the actor computes that calls it", async () => {
  const clock = remote(Clock, { numCpus: 0 }).remote();
  await clock.now.remote();
  class Caller {
    async delay(handle: ActorHandle<Clock>, computesMs: number): Promise<number> {
      await handle.now.remote();
      const from = Date.now();
      const ref = handle.now.remote();
      while (Date.now() < from + computesMs);
      return (await ref) - from;
    }
  }
  const delay = remote((handle: ActorHandle<Clock>, computesMs: number) => new Caller().delay(handle, computesMs));
  expect(await delay.remote(clock, COMPUTES_MS)).toBeLessThan(BEGINS_WITHIN_MS);
  expect(await remote(Caller, { numCpus: 0 }).remote().delay.remote(clock, COMPUTES_MS)).toBeLessThan(BEGINS_WITHIN_MS);
});

test("the constructor of a new actor begins while its creator computes", async () => {
  const from = Date.now();
  const clock = ClockActor.remote();
  compute();
  expect((await clock.born.remote()) - from).toBeLessThan(COMPUTES_MS);
});

/** Reads a ref that arrived within a value, whose owner is then asked. @returns when the value had come */
const reading = remote(async ([ref]: [ObjectRef<unknown>], _began?: unknown) => {
  await ref;
  return Date.now();
});

test.for([
  ["in shared memory", new Uint8Array(1_000_000)],
  ["that is small", "small"],
] as const)("a task reads an object %s while its owner computes", async ([, value]) => {
  await reading.remote([put(0)]);
  const ref = put<unknown>(value);
  expect(await delayOf(() => reading.remote([ref]))).toBeLessThan(BEGINS_WITHIN_MS);
});

test("why names an owner that computes", async () => {
  const asks = remote(async ([ref]: [ObjectRef<unknown>], began: string): Promise<string> => {
    writeFileSync(began, "");
    return String(await why(ref));
  });
  const pending = remote(() => new Promise(() => {}), { numCpus: 0 }).remote();
  const began = join(folder, "asks");
  const answer = asks.remote([pending], began);
  await until(() => existsSync(began), "the task to ask");
  compute();
  compute();
  expect(await answer).toMatch(/its owner, process \d+, has computed for \d\.\d s at least/);
  cancel(pending);
});
