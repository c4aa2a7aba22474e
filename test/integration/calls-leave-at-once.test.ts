/**
 * Calls begin while their caller computes: submitted calls leave before the caller's event loop turns again.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ActorHandle, cancel, get, type ObjectRef, put, remote, TaskCancelledError, WorkerCrashedError, why } from "shoal";
import { expect, test, vi } from "vitest";
import { until, useFolder, useSession } from "./session.ts";

/** How long a caller computes at most. A call that waits for its caller begins later than that. */
const WITHIN_MS = 10_000;
const COMPUTES_MS = 400;
const WHY_NAMES_AFTER_MS = 2400;

const TRIES_MAX = 30;

/** A lease goes back after 10 ms without a call. */
const LEASE_IS_BACK_MS = 200;

const folder = useFolder();
useSession({ numCpus: 2 });

const begun = remote((mark: string) => appendFileSync(mark, "x"));

class Marker {
  constructor(mark: string) {
    appendFileSync(mark, "x");
  }
  mark(mark: string): void {
    appendFileSync(mark, "x");
  }
}
const MarkerActor = remote(Marker);

/** Keeps the event loop from turning, as a computation does. */
function computeUntil(isOver: () => boolean, withinMs = WITHIN_MS): boolean {
  const deadlineMs = Date.now() + withinMs;
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  while (Date.now() < deadlineMs) {
    if (isOver()) return true;
    Atomics.wait(nothing, 0, 0, 2);
  }
  return false;
}

/** Submits, computes, and only then lets the event loop turn. @returns whether the call left its mark meanwhile */
async function beginsMeanwhile(submit: (mark: string) => PromiseLike<unknown>): Promise<boolean> {
  const mark = join(folder, randomUUID());
  const ref = submit(mark);
  const hasBegun = computeUntil(() => existsSync(mark));
  await ref;
  return hasBegun;
}

/** The best of several tries on a crowded machine, where processes wait for a processor. @returns whether a call left its mark in time */
async function beginsWithin(
  ms: number,
  submit: (mark: string) => PromiseLike<unknown>,
  before: () => PromiseLike<unknown>,
): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    await before();
    const mark = join(folder, randomUUID());
    const ref = submit(mark);
    const hasBegun = computeUntil(() => existsSync(mark), ms);
    await ref;
    if (hasBegun) return true;
  }
  return false;
}

test("a task with a lease begins within 10 ms, one without within 150 ms, and a new actor within 150 ms", async () => {
  expect(
    await beginsWithin(
      10,
      (mark) => begun.remote(mark),
      () => begun.remote(join(folder, "first")),
    ),
  ).toBe(true);
  expect(
    await beginsWithin(
      150,
      (mark) => begun.remote(mark),
      () => sleep(LEASE_IS_BACK_MS),
    ),
  ).toBe(true);
  const isReady = () => sleep(LEASE_IS_BACK_MS);
  expect(await beginsWithin(150, (mark) => MarkerActor.remote(mark).mark.remote(mark), isReady)).toBe(true);
});

test("a task begins while its caller computes where its worker is at hand", async () => {
  await begun.remote(join(folder, "first"));
  expect(await beginsMeanwhile((mark) => begun.remote(mark))).toBe(true);
});

test("a task without a lease begins while its caller computes", async () => {
  await sleep(LEASE_IS_BACK_MS);
  const cold = remote((mark: string) => appendFileSync(mark, "x"));
  expect(await beginsMeanwhile((mark) => cold.remote(mark))).toBe(true);
});

test("a task begins while its caller computes where its lease has gone back", async () => {
  await begun.remote(join(folder, "first"));
  await sleep(LEASE_IS_BACK_MS);
  expect(await beginsMeanwhile((mark) => begun.remote(mark))).toBe(true);
});

test("tasks without a lease begin on all processors, and each runs once", async () => {
  await sleep(LEASE_IS_BACK_MS);
  const marks = Array.from({ length: 20 }, (_, index) => join(folder, `all ${index}`));
  const unmeasured = remote((mark: string) => appendFileSync(mark, "x"));
  const refs = marks.map((mark) => unmeasured.remote(mark));
  expect(computeUntil(() => marks.filter((mark) => existsSync(mark)).length === 2)).toBe(true);
  await get(refs);
  expect(marks.map((mark) => readFileSync(mark, "utf8"))).toEqual(marks.map(() => "x"));
});

test("a nested call and a call of an actor begin while their caller computes", async () => {
  class Parent {
    async begins(): Promise<boolean> {
      return await beginsMeanwhile((mark) => begun.remote(mark));
    }
  }
  const nested = remote(async () => await beginsMeanwhile((mark) => begun.remote(mark)));
  expect(await nested.remote()).toBe(true);
  const ofNewShape = remote(async () => await beginsMeanwhile((mark) => begun.options({ numCpus: 0.5 }).remote(mark)));
  expect(await ofNewShape.remote()).toBe(true);
  const parent = remote(Parent).options({ numCpus: 0 }).remote();
  expect(await parent.begins.remote()).toBe(true);
});

test("a first call that is cancelled before its worker is known ends, and so does its worker's part", async () => {
  const endless = remote(async () => await new Promise<never>(() => {}));
  const refs = [endless.remote(), endless.remote(), endless.remote()];
  for (const ref of refs) cancel(ref);
  for (const ref of refs) await expect(ref).rejects.toThrow(TaskCancelledError);
  expect(await get([begun.remote(join(folder, "after")), begun.remote(join(folder, "after"))])).toHaveLength(2);
});

test("a first call whose worker dies while its caller computes is tried again, or fails without a retry", async () => {
  const once = remote(() => process.exit(3), { maxRetries: 0 });
  const file = join(folder, "tried");
  const twice = remote((path: string) => {
    appendFileSync(path, "x");
    if (readFileSync(path).length === 1) process.kill(process.pid, "SIGKILL");
    return readFileSync(path).length;
  });
  const [failing, trying] = [once.remote(), twice.remote(file)];
  computeUntil(() => false, COMPUTES_MS);
  await expect(failing).rejects.toThrow(WorkerCrashedError);
  expect(await trying).toBe(2);
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
  computeUntil(() => false, COMPUTES_MS);
  const pid = await ref;
  // Or the process dies as another test's.
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), 10_000);
});

test("a method begins while its caller computes", async () => {
  const marker = MarkerActor.remote(join(folder, "made"));
  await marker.mark.remote(join(folder, "first"));
  expect(await beginsMeanwhile((mark) => marker.mark.remote(mark))).toBe(true);
});

test("a method begins while the task or the actor computes that calls it", async () => {
  const marker = MarkerActor.options({ numCpus: 0 }).remote(join(folder, "called"));
  class Caller {
    async begins(handle: ActorHandle<Marker>, first: string): Promise<boolean> {
      await handle.mark.remote(first);
      return await beginsMeanwhile((mark) => handle.mark.remote(mark));
    }
  }
  const begins = remote(async (handle: ActorHandle<Marker>, first: string) => await new Caller().begins(handle, first));
  expect(await begins.remote(marker, join(folder, "by task"))).toBe(true);
  const caller = remote(Caller, { numCpus: 0 }).remote();
  expect(await caller.begins.remote(marker, join(folder, "by actor"))).toBe(true);
});

test("the constructor of a new actor begins while its creator computes", async () => {
  expect(await beginsMeanwhile((mark) => MarkerActor.remote(mark).mark.remote(mark))).toBe(true);
});

/** Reads a ref that arrived within a value, whose owner is then asked. */
const reading = remote(async ([ref]: [ObjectRef<unknown>], mark: string) => {
  await ref;
  appendFileSync(mark, "x");
});

test.for([
  ["in shared memory", new Uint8Array(1_000_000)],
  ["that is small", "small"],
] as const)("a task reads an object %s while its owner computes", async ([, value]) => {
  await reading.remote([put(0)], join(folder, "first"));
  const ref = put<unknown>(value);
  expect(await beginsMeanwhile((mark) => reading.remote([ref], mark))).toBe(true);
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
  computeUntil(() => false, WHY_NAMES_AFTER_MS);
  expect(await answer).toMatch(/its owner, process \d+, has computed for \d\.\d s at least/);
  cancel(pending);
});
