/**
 * Calls begin while their caller computes: what was submitted leaves before the caller's event loop turns again.
 */
import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cancel, get, type ObjectRef, put, remote, TaskCancelledError, WorkerCrashedError } from "shoal";
import { expect, test } from "vitest";
import { useSession } from "./session.ts";

const COMPUTES_MS = 1200;
/** On a loaded machine a process may wait for its processor; a call that waits for its caller begins after `COMPUTES_MS`. */
const BEGINS_WITHIN_MS = COMPUTES_MS / 2;

/** A lease goes back after 10 ms without a call. */
const LEASE_IS_BACK_MS = 200;

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
  const until = Date.now() + COMPUTES_MS;
  while (Date.now() < until);
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

test("a task without a lease begins while its caller computes", async () => {
  await sleep(LEASE_IS_BACK_MS);
  const cold = remote(() => Date.now());
  expect(await delayOf(() => cold.remote())).toBeLessThan(BEGINS_WITHIN_MS);
});

test("a task begins while its caller computes where its lease has gone back", async () => {
  await begun.remote();
  await sleep(LEASE_IS_BACK_MS);
  expect(await delayOf(() => begun.remote())).toBeLessThan(BEGINS_WITHIN_MS);
});

test("tasks without a lease begin on all processors, and each runs once", async () => {
  const cold = remote((index: number) => [index, Date.now()] as const);
  const from = Date.now();
  const refs = Array.from({ length: 20 }, (_, index) => cold.remote(index));
  compute();
  const ran = await get(refs);
  expect(ran.map(([index]) => index)).toEqual(Array.from(refs.keys()));
  expect(ran.filter(([, at]) => at - from < BEGINS_WITHIN_MS)).toHaveLength(2);
});

test("a nested call and a call of an actor begin while their caller computes", async () => {
  class Parent {
    async delay(): Promise<number> {
      return await delayOf(() => begun.remote());
    }
  }
  const nested = remote(async () => await delayOf(() => begun.remote()));
  expect(await nested.remote()).toBeLessThan(BEGINS_WITHIN_MS);
  const parent = remote(Parent).options({ numCpus: 0 }).remote();
  expect(await parent.delay.remote()).toBeLessThan(BEGINS_WITHIN_MS);
});

test("a first call that is cancelled before its worker is known ends, and so does its worker's part", async () => {
  const endless = remote(async () => await new Promise<never>(() => {}));
  const refs = [endless.remote(), endless.remote(), endless.remote()];
  for (const ref of refs) cancel(ref);
  for (const ref of refs) await expect(ref).rejects.toThrow(TaskCancelledError);
  expect(await get([begun.remote(), begun.remote()])).toHaveLength(2);
});

test("a first call whose worker dies while its caller computes is tried again, or fails without a retry", async () => {
  const once = remote(() => process.exit(3), { maxRetries: 0 });
  const file = join(tmpdir(), `shoal-first-${process.pid}`);
  const twice = remote((path: string) => {
    appendFileSync(path, "x");
    if (readFileSync(path).length === 1) process.kill(process.pid, "SIGKILL");
    return readFileSync(path).length;
  });
  const [failing, trying] = [once.remote(), twice.remote(file)];
  compute();
  await expect(failing).rejects.toThrow(WorkerCrashedError);
  expect(await trying).toBe(2);
  rmSync(file);
});

test("a result from before the death of its worker reaches a caller that computes", async () => {
  const dying = remote(
    () => {
      setTimeout(() => process.kill(process.pid, "SIGKILL"), 50);
      return process.pid;
    },
    { maxRetries: 0 },
  );
  const ref = dying.remote();
  compute();
  expect(await ref).toBeGreaterThan(0);
});

test("a method begins while its caller computes", async () => {
  const clock = ClockActor.remote();
  await clock.now.remote();
  expect(await delayOf(() => clock.now.remote())).toBeLessThan(BEGINS_WITHIN_MS);
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
