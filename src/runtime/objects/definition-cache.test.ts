/** The definition cache: which definitions it keeps, drops and loads again. */
import { expect, test } from "vitest";
import type { ObjectId, ProcessId } from "../base/ids.ts";
import { captureDefinition } from "../closure/capture.ts";
import type { DefinitionHeader } from "../wire/calls/definition-messages.ts";
import { DefinitionCache } from "./definition-cache.ts";
import { ObjectEntry } from "./object-entry.ts";

const HOOKS = {
  reduce: () => undefined,
  revive: () => {
    throw new Error("there are no forms");
  },
};

function definitionOf(number: number): { header: DefinitionHeader; body: Uint8Array } {
  const padding = "x".repeat(1000);
  const { bytes, id } = captureDefinition(() => [number, padding.length], HOOKS);
  const refs: [ObjectId, ProcessId][] = [[`ref ${number}` as ObjectId, "owner" as ProcessId]];
  const header = {
    number,
    id: String(number),
    contentId: id,
    name: "",
    inBand: bytes.length,
    buffers: [],
    dependencies: [],
    refs,
    stored: undefined,
  };
  return { header, body: bytes };
}

function newCache(limits: { count: number; bytes: number }): { cache: DefinitionCache; fetched: string[]; pins: Map<string, number> } {
  const fetched: string[] = [];
  const pins = new Map<string, number>();
  const count = (id: string, change: number): void => void pins.set(id, (pins.get(id) ?? 0) + change);
  const cache = new DefinitionCache({
    limits,
    table: {
      receive: ({ id }) => {
        count(id, 1);
        const entry = new ObjectEntry(0, 0);
        entry.id = id;
        return entry;
      },
      unpin: (entry) => count(entry.id as string, -1),
      trackFresh: () => {},
    },
    hooksFor: () => HOOKS,
    readStored: () => Promise.reject(new Error("nothing is stored")),
    fetch: (id) => {
      fetched.push(id);
      return Promise.resolve(definitionOf(Number(id)));
    },
  });
  return { cache, fetched, pins };
}

async function receive(cache: DefinitionCache, number: number): Promise<void> {
  const { header, body } = definitionOf(number);
  cache.receive(header, body);
  await cache.keptOf(header.id)?.promise;
}

test("what was used longest ago is dropped, with what it holds, and loaded again when it is needed", async () => {
  const { cache, fetched, pins } = newCache({ count: 3, bytes: 1_000_000 });
  for (let number = 0; number < 10; number += 1) {
    await receive(cache, number);
    const first = cache.keptOf("0");
    if (first !== undefined) cache.used(first);
  }
  expect(cache.size).toBeLessThanOrEqual(3);
  expect(fetched).toEqual([]);
  expect(pins.get("ref 5")).toBe(0);
  expect(cache.ready("0")).toBeDefined();
  for (const number of [5, 1]) expect(((await cache.load(String(number))) as () => unknown)()).toEqual([number, 1000]);
  expect(fetched).toEqual(["5", "1"]);
  expect(pins.get("ref 5")).toBe(1);
});

test("a holder of what was dropped sees that it is not there", async () => {
  const { cache } = newCache({ count: 1, bytes: 1_000_000 });
  await receive(cache, 1);
  const kept = cache.keptOf("1");
  expect(kept?.isReady).toBe(true);
  await receive(cache, 2);
  await receive(cache, 3);
  expect(kept?.isReady).toBe(false);
  expect(kept?.value).toBeUndefined();
});

test("the bytes are limited as well, and the newest stays however large it is", async () => {
  const { cache } = newCache({ count: 100, bytes: 3000 });
  for (let number = 0; number < 10; number += 1) await receive(cache, number);
  expect(cache.size).toBeLessThan(4);
  expect(cache.ready("9")).toBeDefined();
});

test("what is forgotten, and comes again, is one more", async () => {
  const { cache, pins } = newCache({ count: 100, bytes: 1_000_000 });
  await receive(cache, 1);
  await receive(cache, 1);
  expect(pins.get("ref 1")).toBe(1);
  cache.forget("1");
  expect(pins.get("ref 1")).toBe(0);
  expect(cache.size).toBe(0);
  await receive(cache, 1);
  expect((cache.ready("1") as () => unknown)()).toEqual([1, 1000]);
});
