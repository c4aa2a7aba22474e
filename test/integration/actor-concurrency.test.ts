/**
 * Actors whose calls overlap: limits, groups, options of single methods, how many calls may wait, and calls that need not keep their order.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DeadlockError, get, getActor, init, kill, PendingCallsLimitExceededError, ready, remote, shutdown, terminate } from "shoal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failureOf, useFolder } from "./session.ts";

class Desk {
  #busy = 0;
  #most = 0;
  #order: number[] = [];
  #release: (() => void)[] = [];
  #failures = 0;

  async work(ticket: number): Promise<number> {
    this.#order.push(ticket);
    this.#busy += 1;
    this.#most = Math.max(this.#most, this.#busy);
    await new Promise((resolve) => setTimeout(resolve, 10));
    this.#busy -= 1;
    return ticket;
  }
  async block(): Promise<string> {
    await new Promise<void>((resolve) => this.#release.push(resolve));
    return "released";
  }
  release(): number {
    const released = this.#release.splice(0);
    for (const resolve of released) resolve();
    return released.length;
  }
  most(): number {
    return this.#most;
  }
  order(): number[] {
    return this.#order;
  }
  pair(): [number, string] {
    return [1, "two"];
  }
  note(value: number): void {
    this.#order.push(value);
  }
  failTwice(): number {
    this.#failures += 1;
    if (this.#failures < 3) throw new RangeError(`failure ${this.#failures}`);
    return this.#failures;
  }
  async waitForSelf(self: { most: { remote(): PromiseLike<number> } }): Promise<number> {
    return await self.most.remote();
  }
}

const later = remote(async (value: number) => {
  await new Promise((resolve) => setTimeout(resolve, 150));
  return value;
});
/** Is pending until the test writes the file. */
const onceThere = remote(async (value: number, file: string) => {
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
  return value;
});
const folder = useFolder();

describe.each(["process", "inProcess"] as const)("in mode %s", (mode) => {
  beforeAll(async () => {
    await init({ numCpus: 2, mode });
  });
  afterAll(() => shutdown());

  test("as many calls overlap as maxConcurrency says, and begin in order", async () => {
    using desk = remote(Desk, { maxConcurrency: 4 }).remote();
    const tickets = Array.from({ length: 20 }, (_, index) => index);
    expect(await get(tickets.map((ticket) => desk.work.remote(ticket)))).toEqual(tickets);
    expect(await desk.most.remote()).toBe(4);
    expect(await desk.order.remote()).toEqual(tickets);
  });

  test("a group that is blocked holds back no other", async () => {
    using desk = remote(Desk, {
      concurrencyGroups: { blocking: 2, control: 1 },
      methods: { block: { concurrencyGroup: "blocking" }, release: { concurrencyGroup: "control" } },
    }).remote();
    const blocked = [desk.block.remote(), desk.block.remote(), desk.block.remote()];
    expect(await desk.work.remote(1)).toBe(1);
    let released = 0;
    while (released < 3) released += await desk.release.remote();
    expect(await get(blocked)).toEqual(["released", "released", "released"]);
  });

  test("an argument that is pending holds back its group alone", async () => {
    using desk = remote(Desk, { concurrencyGroups: { io: 1 } }).remote();
    await ready(desk);
    const io = desk.note.options({ concurrencyGroup: "io" });
    const go = join(folder, `group ${mode}`);
    io.remote(onceThere.remote(1, go));
    const second = io.remote(2);
    await desk.note.remote(3);
    writeFileSync(go, "");
    await second;
    expect(await desk.order.remote()).toEqual([3, 1, 2]);
  });

  test("a call chooses its group, and the table of a found actor is that of its maker", async () => {
    const Named = remote(Desk, {
      name: "desk",
      concurrencyGroups: { io: 1 },
      methods: { block: { concurrencyGroup: "io" }, pair: { numReturns: 2 } },
    });
    const desk = Named.remote();
    const found = await getActor<Desk>("desk");
    const blocked = found.block.remote();
    expect(await found.work.remote(1)).toBe(1);
    const pair = found.pair.remote() as unknown as PromiseLike<unknown>[];
    expect(await Promise.all(pair)).toEqual([1, "two"]);
    const [one] = desk.pair.remote();
    expect(await one).toBe(1);
    expect(await desk.release.options({ concurrencyGroup: "default" }).remote()).toBe(1);
    expect(await blocked).toBe("released");
    expect(() => found.release.options({ concurrencyGroup: "oi" })).toThrow(
      new TypeError("Cannot set concurrencyGroup of Desk.release: there is no concurrency group oi: did you mean io?"),
    );
    await kill(desk);
  });

  test("methods and groups that do not exist are refused where they are written", () => {
    const methods: object = { wrk: {} };
    expect(() => remote(Desk, { methods })).toThrow(
      new TypeError("Cannot set options of method Desk.wrk: there is no method wrk: did you mean work?"),
    );
    expect(() => remote(Desk, { concurrencyGroups: { io: 1 }, methods: { work: { concurrencyGroup: "compute" } } })).toThrow(
      new TypeError("Cannot set concurrencyGroup of Desk.work: there is no concurrency group compute: there are default, io"),
    );
  });

  test("terminate waits for the calls of every group", async () => {
    const desk = remote(Desk, { concurrencyGroups: { io: 2 } }).remote();
    const io = desk.work.options({ concurrencyGroup: "io" });
    const calls = [io.remote(later.remote(1)), desk.work.remote(2), io.remote(3)];
    await terminate(desk);
    expect(await get(calls)).toEqual([1, 2, 3]);
  });

  test("an actor whose calls overlap may wait for itself", async () => {
    using desk = remote(Desk, { maxConcurrency: 2 }).remote();
    expect(await desk.waitForSelf.remote(desk)).toBe(0);
    using serial = remote(Desk).remote();
    expect(await failureOf(serial.waitForSelf.remote(serial))).toBeInstanceOf(DeadlockError);
  });

  test("more unanswered calls than maxPendingCalls are refused at once", async () => {
    using desk = remote(Desk, { maxPendingCalls: 2, maxConcurrency: 10 }).remote();
    const blocked = [desk.block.remote(), desk.block.remote()];
    expect(() => desk.most.remote()).toThrow(PendingCallsLimitExceededError);
    const elsewhere = remote(async (other: { release: { remote(): PromiseLike<number> } }) => {
      let released = 0;
      while (released < 2) released += await other.release.remote();
    });
    // A separate process has a separate limit; in one process all share it.
    if (mode === "process") {
      await elsewhere.remote(desk);
      expect(await get(blocked)).toEqual(["released", "released"]);
      expect(await desk.most.remote()).toBe(0);
    }
  });

  test("a call with a pending argument holds back none where order does not matter", async () => {
    using desk = remote(Desk, { allowOutOfOrderExecution: true }).remote();
    await ready(desk);
    const go = join(folder, `order ${mode}`);
    const first = desk.note.remote(onceThere.remote(1, go));
    await desk.note.remote(2);
    writeFileSync(go, "");
    await first;
    expect(await desk.order.remote()).toEqual([2, 1]);
  });

  test("what a method throws is retried as its options say", async () => {
    using desk = remote(Desk, { methods: { failTwice: { maxTaskRetries: 5, retryOn: [RangeError] } } }).remote();
    expect(await desk.failTwice.remote()).toBe(3);
    using other = remote(Desk, { maxTaskRetries: 1 }).remote();
    expect((await failureOf(other.failTwice.options({ retryOn: true }).remote())).message).toContain("failure 2");
  });
});
