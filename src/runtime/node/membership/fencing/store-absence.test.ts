/** When the absence of the store's servers proves that no head can have begun to lead. */
import { beforeEach, expect, test } from "vitest";
import { STORE_AWAY_MS } from "../limits.ts";
import { StoreAbsence, type StoreWord } from "./store-absence.ts";

const SERVERS = ["tcp://a:1", "tcp://b:1", "tcp://c:1"];
let absence: StoreAbsence;

beforeEach(() => {
  absence = met(SERVERS);
});

function met(servers: readonly string[]): StoreAbsence {
  const made = new StoreAbsence();
  made.know(servers);
  made.looked({ sentMs: 0, words: servers.map(() => "lives"), isNobodyAnswered: true });
  return made;
}

function look(sentMs: number, words: readonly StoreWord[], isNobodyAnswered = false): number | undefined {
  return absence.looked({ sentMs, words, isNobodyAnswered });
}

/** Each second, the last one after as long as is needed. */
function looks(words: readonly StoreWord[], { fromMs = 1_000, isNobodyAnswered = false } = {}): number | undefined {
  let proven: number | undefined;
  for (let sentMs = fromMs; sentMs <= fromMs + STORE_AWAY_MS; sentMs += 1_000) proven = look(sentMs, words, isNobodyAnswered);
  return proven;
}

test("most of them refuse for long enough: as of the last look, and of each further one", () => {
  for (let sentMs = 1_000; sentMs < 1_000 + STORE_AWAY_MS; sentMs += 1_000)
    expect(look(sentMs, ["refuses", "lives", "refuses"])).toBeUndefined();
  expect(look(11_000, ["refuses", "lives", "refuses"])).toBe(11_000);
  expect(look(12_000, ["lives", "refuses", "refuses"])).toBe(12_000);
  expect(look(13_000, ["lives", "refuses", "lives"])).toBeUndefined();
  expect(look(14_000, ["refuses", "refuses", "refuses"])).toBeUndefined();
});

test.each([
  ["one of three", ["refuses", "lives", "lives"]],
  ["one, and two of which nothing is heard, as beyond a cut", ["refuses", undefined, undefined]],
  ["all of which nothing is heard", [undefined, undefined, undefined]],
] as [string, StoreWord[]][])("%s is not enough", (_, words) => {
  expect(looks(words)).toBeUndefined();
});

test("one that is alone has to refuse, and one of two is half of them", () => {
  absence = met(["tcp://a:1"]);
  expect(looks(["refuses"])).toBe(11_000);
  absence = met(["tcp://a:1", "tcp://b:1"]);
  expect(looks(["lives", "refuses"])).toBe(11_000);
});

test("servers that take connections and are silent are away only where nobody else is answered either", () => {
  expect(looks(["silent", "silent", "silent"])).toBeUndefined();
  expect(look(12_000, ["silent", "silent", "silent"], true)).toBe(12_000);
  expect(look(13_000, ["silent", "silent", "lives"])).toBeUndefined();
  expect(look(14_000, ["refuses", "refuses", "silent"])).toBe(14_000);
});

test("a server that has never greeted this node may be kept from it by a firewall", () => {
  absence = new StoreAbsence();
  absence.know(SERVERS);
  expect(looks(["refuses", "refuses", "lives"])).toBeUndefined();
  expect(absence.hasSeenAll).toBe(false);
  look(20_000, ["lives", "lives", "lives"]);
  expect([absence.hasSeenAll, looks(["refuses", "refuses", "lives"], { fromMs: 21_000 })]).toEqual([true, 31_000]);
});

test("of a time between two looks that are far apart nothing is known", () => {
  for (const sentMs of [1_000, 4_000, 9_500, 13_000, 17_000]) expect(look(sentMs, ["refuses", "refuses", "refuses"])).toBeUndefined();
  expect(look(19_500, ["refuses", "refuses", "refuses"])).toBe(19_500);
});

test("where it is not known who keeps the store, nothing is; other servers are to be met first", () => {
  absence.know([]);
  expect(looks([])).toBeUndefined();
  absence.know(["tcp://a:1", "tcp://b:1", "tcp://d:1"]);
  expect(looks(["lives", "refuses", "refuses"], { fromMs: 20_000 })).toBeUndefined();
});
