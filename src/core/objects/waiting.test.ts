/** Reads of a value that is lost again between its arrival and the turn of its reader. The bytes and the owner are fakes. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { GetTimeoutError } from "../../runtime/base/errors.ts";
import { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import { ObjectRefHandle } from "./object-ref.ts";
import { Waiting, type WaitingOptions } from "./waiting.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

class World {
  readonly entry = new ObjectEntry(1, 0);
  readonly watched: ObjectEntry[] = [];
  readonly #waiting = new Waiting({
    table: { pin: () => {}, unpin: () => {}, watch: (entry) => this.watched.push(entry) } as Partial<ObjectTable>,
    store: { isShort: false },
    onWaiting: () => {},
    recovery: { begin: () => undefined },
  } as unknown as WaitingOptions);

  get(timeoutMs?: number): Promise<unknown> {
    return this.#waiting.getOne(new ObjectRefHandle(this.entry), { timeoutMs });
  }

  /** The value arrives, and is lost before the informed reader has its turn. */
  async arrivesAndIsLost(): Promise<void> {
    this.entry.settlePrimitive("lost");
    this.entry.reopen();
    await vi.advanceTimersByTimeAsync(0);
  }
}

test("a reader without a limit waits for the value that is made again, however often it is lost", async () => {
  const world = new World();
  const read = world.get();
  await world.arrivesAndIsLost();
  await world.arrivesAndIsLost();
  world.entry.settlePrimitive("made again");
  expect(await read).toBe("made again");
  // The owner is asked for each of the three.
  expect(world.watched).toHaveLength(3);
});

test("a reader with a limit waits for the value that is made again within it", async () => {
  const world = new World();
  const read = world.get(1000);
  await vi.advanceTimersByTimeAsync(600);
  await world.arrivesAndIsLost();
  await vi.advanceTimersByTimeAsync(300);
  world.entry.settlePrimitive("made again");
  expect(await read).toBe("made again");
});

test("the limit counts from the beginning of the read, whenever the value was lost", async () => {
  const world = new World();
  let failure: unknown;
  const read = world.get(1000).catch((error: unknown) => {
    failure = error;
  });
  await vi.advanceTimersByTimeAsync(600);
  await world.arrivesAndIsLost();
  await vi.advanceTimersByTimeAsync(398);
  expect(failure).toBeUndefined();
  // And the turn after it.
  await vi.advanceTimersByTimeAsync(3);
  await read;
  expect(failure).toBeInstanceOf(GetTimeoutError);
});
