/** The order of commits and actions, a store that is away, and a head that leads no more. */
import { describe, expect, test } from "vitest";
import { ControlPlaneUnavailableError, FencedError } from "../../control-plane/control-plane-errors.ts";
import { Journal } from "./journal.ts";
import type { StoreWrite } from "../../control-plane/control-store.ts";

function write(key: string, text = ""): StoreWrite {
  return { key, value: new Uint8Array(Buffer.from(text)) };
}

/** A store whose commits wait for the test. */
class Bench {
  readonly log: string[] = [];
  readonly open: { keys: string[]; resolve: () => void; reject: (error: Error) => void }[] = [];
  readonly lost: Error[] = [];
  readonly pauses: (() => void)[] = [];
  readonly journal: Journal;
  nowMs = 0;

  constructor() {
    this.journal = new Journal({
      commit: (writes) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        this.open.push({
          keys: writes.map(({ key, value }) => `${key}${value === undefined ? "!" : Buffer.from(value).toString()}`),
          resolve,
          reject,
        });
        return promise;
      },
      onLost: (error) => this.lost.push(error),
      after: (_delayMs, run) => this.pauses.push(run),
      nowMs: () => this.nowMs,
    });
  }

  event(name: string, ...writes: StoreWrite[]): void {
    this.journal.after(writes, () => this.log.push(name));
  }

  async answer(error?: Error): Promise<string[]> {
    await settled();
    const open = this.open.shift();
    if (error === undefined) open?.resolve();
    else open?.reject(error);
    await settled();
    return open?.keys ?? [];
  }
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 10; turns += 1) await Promise.resolve();
}

describe("the journal", () => {
  test("does at once what changes nothing", () => {
    const bench = new Bench();
    bench.event("a");
    expect(bench.log).toEqual(["a"]);
  });

  test("says since when the store takes no changes and why, until it takes them", async () => {
    const bench = new Bench();
    bench.event("a", write("x"));
    await settled();
    expect(bench.journal.stall).toBeUndefined();
    bench.nowMs = 1_500;
    expect(bench.journal.stall).toEqual({ sinceMs: 0, reason: "its store has not answered yet" });
    await bench.answer(new ControlPlaneUnavailableError("The store does not answer.", { cause: new Error("no room") }));
    bench.nowMs = 3_000;
    bench.pauses.shift()?.();
    await settled();
    expect(bench.journal.stall).toEqual({ sinceMs: 0, reason: "the store does not answer (no room)" });
    await bench.answer();
    expect([bench.journal.stall, bench.log]).toEqual([undefined, ["a"]]);
  });

  test("keeps what one turn changed in one transaction, and then does what it was for, in order", async () => {
    const bench = new Bench();
    bench.event("a", write("x", "1"));
    bench.event("b");
    bench.event("c", write("y"), write("x", "2"));
    await settled();
    expect(bench.log).toEqual([]);
    expect(await bench.answer()).toEqual(["x2", "y"]);
    expect(bench.log).toEqual(["a", "b", "c"]);
  });

  test("lets nothing overtake what is under way", async () => {
    const bench = new Bench();
    bench.event("a", write("x", "1"));
    await settled();
    bench.event("b");
    bench.event("c", write("x", "2"));
    await settled();
    expect(bench.open).toHaveLength(1);
    await bench.answer();
    expect(bench.log).toEqual(["a"]);
    await bench.answer();
    expect(bench.log).toEqual(["a", "b", "c"]);
  });

  test("waits for a store that is away, with all that comes after it", async () => {
    const bench = new Bench();
    bench.event("a", write("x", "1"));
    await bench.answer(new ControlPlaneUnavailableError("away"));
    bench.event("b", write("x", "2"));
    expect(bench.open).toHaveLength(0);
    bench.pauses.shift()?.();
    expect(await bench.answer()).toEqual(["x1"]);
    expect(await bench.answer()).toEqual(["x2"]);
    expect(bench.log).toEqual(["a", "b"]);
  });

  test("does nothing more when another head leads", async () => {
    const bench = new Bench();
    bench.event("a", write("x"));
    await bench.answer(new FencedError("fenced"));
    bench.event("b");
    await settled();
    expect(bench.log).toEqual([]);
    expect(bench.lost).toHaveLength(1);
    expect(bench.journal.isLost).toBe(true);
  });

  test("splits only an event that is too large by itself", async () => {
    const bench = new Bench();
    bench.event("a", ...Array.from({ length: 150 }, (_, index) => write(`a${index}`)));
    bench.event("b", ...Array.from({ length: 450 }, (_, index) => write(`b${index}`)));
    const counts: number[] = [];
    for (let asked = 0; asked < 4; asked += 1) {
      counts.push((await bench.answer()).length);
      if (asked === 0) expect(bench.log).toEqual(["a"]);
    }
    expect(counts).toEqual([150, 200, 200, 50]);
    expect(bench.log).toEqual(["a", "b"]);
  });
});
