/**
 * The meaning of `get`, `await`, `wait` and `put`: order, failures, limits, and that every reader has a separate value.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, GetTimeoutError, type ObjectRef, put, remote, type TaskError, wait } from "shoal";
import { describe, expect, test } from "vitest";
import { failureOf, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

const echo = remote((value: unknown): any => value);
const fail = remote((message: string): number => {
  throw new Error(message);
});
/** Ends when the test opens its gate. */
const waitAtGate = remote(async (gate: string) => {
  for (let round = 0; round < 2000 && !existsSync(gate); round += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  return "through";
});

/** Begins and ends with a file, the second one a while after its answer was sent. */
const answerAtGate = remote(async (place: string) => {
  writeFileSync(`${place}-begun`, "");
  for (let round = 0; round < 2000 && !existsSync(place); round += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  setTimeout(() => writeFileSync(`${place}-answered`, ""), 200);
  return "through";
});

/** Nothing of this process runs meanwhile. */
function standStillUntil(file: string): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const giveUpAt = Date.now() + 30_000;
  while (!existsSync(file) && Date.now() < giveUpAt) Atomics.wait(cell, 0, 0, 20);
}

let gates = 0;
function newGate(): { ref: ObjectRef<string>; open: () => void } {
  gates += 1;
  const file = join(folder, `gate-${gates}`);
  return { ref: waitAtGate.remote(file), open: () => writeFileSync(file, "") };
}

test("a reference has catch and finally, as a promise has", async () => {
  const failing = remote((): number => {
    throw new RangeError("too far");
  });
  const seen: string[] = [];
  expect(await failing.remote().catch((error: unknown) => ((error as TaskError).cause as Error).message)).toBe("too far");
  expect(
    await remote(() => 7)
      .remote()
      .catch(() => 0),
  ).toBe(7);
  expect(
    await remote(() => 8)
      .remote()
      .finally(() => seen.push("ended")),
  ).toBe(8);
  await expect(failing.remote().finally(() => seen.push("failed"))).rejects.toThrow("too far");
  expect(seen).toEqual(["ended", "failed"]);
});

describe("get", () => {
  test("of an array gives the values in its order, whatever order they come in", async () => {
    const gate = newGate();
    const values = get([gate.ref, echo.remote(2), put(3)]);
    gate.open();
    expect(await values).toEqual(["through", 2, 3]);
  });

  test("of an empty array gives an empty array", async () => {
    expect(await get([])).toEqual([]);
  });

  test("of the same ref twice gives two values", async () => {
    const ref = echo.remote({ n: 1 });
    const [first, second] = await get([ref, ref]);
    expect(first).toEqual(second);
    expect(first).not.toBe(second);
  });

  test("rejects with the first failure at once, while others are pending", async () => {
    const gate = newGate();
    const failure = await failureOf(get([gate.ref, fail.remote("second")]));
    expect((failure.cause as Error).message).toBe("second");
    gate.open();
    expect(await gate.ref).toBe("through");
  });

  test("awaiting refs works with Promise.all, race and allSettled", async () => {
    expect(await Promise.all([echo.remote(1), put(2)])).toEqual([1, 2]);
    expect(await Promise.race([put("now"), echo.remote("later")])).toBe("now");
    const settled = await Promise.allSettled([echo.remote(1), fail.remote("no")]);
    expect(settled.map((each) => each.status)).toEqual(["fulfilled", "rejected"]);
  });

  test("a failure is the same for everyone who awaits it, again and again", async () => {
    const ref = fail.remote("again");
    for (let round = 0; round < 3; round += 1) expect(((await failureOf(ref)).cause as Error).message).toBe("again");
  });

  test("runs into timeoutMs, and the task goes on", async () => {
    const gate = newGate();
    const failure = await failureOf(get(gate.ref, { timeoutMs: 20 }));
    expect(failure).toBeInstanceOf(GetTimeoutError);
    expect(failure.message).toContain("20 ms");
    gate.open();
    expect(await get(gate.ref)).toBe("through");
  });

  test("timeoutMs: 0 asks whether it is there now", async () => {
    const gate = newGate();
    expect(await failureOf(get(gate.ref, { timeoutMs: 0 }))).toBeInstanceOf(GetTimeoutError);
    expect(await failureOf(get([gate.ref, put(1)], { timeoutMs: 0 }))).toBeInstanceOf(GetTimeoutError);
    expect(await get(put(1), { timeoutMs: 0 })).toBe(1);
    gate.open();
    await gate.ref;
  });

  test("ends with the reason of an AbortSignal, given before or during the wait", async () => {
    const gate = newGate();
    const reason = new Error("the user went away");
    expect(await failureOf(get(gate.ref, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    const controller = new AbortController();
    const waiting = failureOf(get([gate.ref], { signal: controller.signal }));
    controller.abort(reason);
    expect(await waiting).toBe(reason);
    gate.open();
    expect(await get(gate.ref, { signal: new AbortController().signal })).toBe("through");
  });

  test("refuses what is not a ref, and says which", async () => {
    expect(await failureOf(get([put(1), 2] as never))).toBeInstanceOf(TypeError);
    expect((await failureOf(get([put(1), 2] as never))).message).toContain("element 1");
    expect(await failureOf(get(Promise.resolve(1) as never))).toBeInstanceOf(TypeError);
  });

  test("a value that has a then of its own is a value", async () => {
    const ref = echo.remote([{ then: 1 }]);
    expect(await ref).toEqual([{ then: 1 }]);
  });
});

test.each([
  ["get", async (ref: ObjectRef<string>) => await get(ref, { timeoutMs: 50 })],
  ["get of several", async (ref: ObjectRef<string>) => (await get([ref, put(1)], { timeoutMs: 50 }))[0]],
  ["wait", async (ref: ObjectRef<string>) => await (await wait([ref], { timeoutMs: 50 }))[0][0]],
] as const)("%s has what came while this process stood still, though its time is over", async (kind, ask) => {
  const place = join(folder, `stood-still-${kind}`);
  const ref = answerAtGate.remote(place);
  await until(() => existsSync(`${place}-begun`), "the task has begun");
  // Continues in the phase of the event loop where timers run before socket events.
  await new Promise((resolve) => setImmediate(resolve));
  const asked = ask(ref);
  writeFileSync(place, "");
  standStillUntil(`${place}-answered`);
  expect(await asked).toBe("through");
});

describe("wait", () => {
  test("splits into what is ready and what is not, both in the order given", async () => {
    const gate = newGate();
    const done = [echo.remote(1), put(2), echo.remote(3)];
    await get(done);
    const refs = [done[0], gate.ref, done[1], done[2]] as ObjectRef<unknown>[];
    const [ready, pending] = await wait(refs, { numReturns: 3 });
    expect(ready).toEqual([refs[0], refs[2], refs[3]]);
    expect(pending).toEqual([refs[1]]);
    gate.open();
    await gate.ref;
  });

  test("gives no more ready ones than were asked for", async () => {
    const refs = [put(1), put(2), put(3)];
    const [ready, pending] = await wait(refs);
    expect(ready).toEqual([refs[0]]);
    expect(pending).toEqual([refs[1], refs[2]]);
  });

  test("returns the same ref objects that it was given", async () => {
    const ref = put("x");
    const [[ready]] = await wait([ref]);
    expect(ready).toBe(ref);
  });

  test("counts a failed task as ready and does not reject", async () => {
    const ref = fail.remote("ready");
    const [ready] = await wait([ref]);
    expect(ready).toEqual([ref]);
    await failureOf(ref);
  });

  test("gives what there is when timeoutMs is over", async () => {
    const gate = newGate();
    const [ready, pending] = await wait([put(1), gate.ref], { numReturns: 2, timeoutMs: 20 });
    expect([ready.length, pending.length]).toEqual([1, 1]);
    const [nothing] = await wait([gate.ref], { timeoutMs: 0 });
    expect(nothing).toEqual([]);
    gate.open();
    await gate.ref;
  });

  test("ends with the reason of an AbortSignal", async () => {
    const gate = newGate();
    const controller = new AbortController();
    const waiting = failureOf(wait([gate.ref], { signal: controller.signal }));
    controller.abort(new RangeError("enough"));
    expect(await waiting).toBeInstanceOf(RangeError);
    gate.open();
    await gate.ref;
  });

  test("refuses a ref that is given twice, more returns than refs, and no refs", async () => {
    const ref = put(1);
    expect(await failureOf(wait([ref, ref]))).toBeInstanceOf(RangeError);
    expect(await failureOf(wait([ref], { numReturns: 2 }))).toBeInstanceOf(RangeError);
    expect(await failureOf(wait([ref], { numReturns: 0 }))).toBeInstanceOf(RangeError);
    expect(await failureOf(wait([1] as never))).toBeInstanceOf(TypeError);
  });

  test("a loop over wait sees every one of 500 tasks once", async () => {
    let pending: ObjectRef<number>[] = Array.from({ length: 500 }, (_, index) => echo.remote(index) as ObjectRef<number>);
    const seen: number[] = [];
    while (pending.length > 0) {
      const [ready, rest] = await wait(pending, { numReturns: Math.min(7, pending.length) });
      seen.push(...(await get(ready)));
      pending = rest;
    }
    expect(seen.toSorted((left, right) => left - right)).toEqual(Array.from({ length: 500 }, (_, index) => index));
  });
});

describe("put", () => {
  test("is synchronous and refuses refs and promises", () => {
    expect(() => put(put(1) as never)).toThrow(TypeError);
    expect(() => put(Promise.resolve(1) as never)).toThrow(TypeError);
  });

  test("a ref in a list stays a ref", async () => {
    const inner = put("inner");
    const outer = await put([inner]);
    expect(await outer[0]).toBe("inner");
  });
});

describe("values are snapshots", () => {
  test("what changes after put is not seen", async () => {
    const list = { items: [1, 2] };
    const ref = put(list);
    list.items.push(3);
    expect(await ref).toEqual({ items: [1, 2] });
  });

  test.each([100, 100_000])("what changes in a buffer of %i numbers after put or a call is not seen", async (length) => {
    const numbers = new Float64Array(length).fill(1);
    const stored = put(numbers);
    const sent = remote((values: Float64Array) => values.reduce((left, right) => left + right, 0)).remote(numbers);
    numbers.fill(9);
    expect((await stored).reduce((left, right) => left + right, 0)).toBe(length);
    expect(await sent).toBe(length);
  });

  test("what changes after .remote() is not seen, also when the call waits for a ref", async () => {
    const gate = newGate();
    const both = remote((list: number[], _gate: string) => list.length);
    const list = [1, 2, 3];
    const ref = both.remote(list, gate.ref);
    list.length = 0;
    gate.open();
    expect(await ref).toBe(3);
  });

  test("every get gives a value of its own", async () => {
    const ref = put({ nested: { n: 1 }, bytes: new Uint8Array([1, 2, 3]) });
    const first = await ref;
    first.nested.n = 99;
    first.bytes[0] = 99;
    const second = await get(ref);
    expect(second.nested.n).toBe(1);
    expect(second.bytes[0]).toBe(1);
  });

  test("a task that writes to its argument does not change it for others", async () => {
    const ref = put(new Uint8Array(200_000).fill(1));
    const overwrite = remote((bytes: Uint8Array) => {
      bytes.fill(2);
      return bytes[0];
    });
    expect(await get([overwrite.remote(ref), overwrite.remote(ref)])).toEqual([2, 2]);
    expect((await ref)[0]).toBe(1);
  });
});
