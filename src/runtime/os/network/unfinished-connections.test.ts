import { expect, test } from "vitest";
import { UnfinishedConnections } from "./unfinished-connections.ts";

function connections(): {
  all: UnfinishedConnections;
  dropped: number[];
  at: (ms: number) => void;
  begin: (name: number) => { begun(): void; finish(): void };
} {
  let nowMs = 0;
  const dropped: number[] = [];
  const all = new UnfinishedConnections({ nowMs: () => nowMs });
  return { all, dropped, at: (ms) => (nowMs = ms), begin: (name) => all.begin(() => dropped.push(name)) };
}

test("a few stay as long as they like, and many at once have their time", () => {
  const { all, dropped, at, begin } = connections();
  for (let name = 0; name < 400; name += 1) begin(name);
  at(999);
  all.trim();
  expect([all.size, dropped]).toEqual([400, []]);
  at(1000);
  all.trim();
  expect(all.size).toBe(128);
  expect(dropped).toEqual(Array.from({ length: 272 }, (_, name) => name));
  at(1e9);
  all.trim();
  expect(all.size).toBe(128);
  all.close();
  expect([all.size, dropped.length]).toEqual([0, 400]);
});

test("of more than may be at once the oldest goes, and never one that has said who it is", () => {
  const { all, dropped, begin } = connections();
  const honest = begin(0);
  honest.finish();
  honest.finish();
  for (let name = 1; name <= 10_000; name += 1) begin(name);
  expect(all.size).toBe(512);
  expect(dropped).toEqual(Array.from({ length: 10_000 - 512 }, (_, name) => name + 1));
  all.close();
});

test("those that have begun have more time, and keep nobody out", () => {
  const { all, dropped, at, begin } = connections();
  for (let name = 0; name < 300; name += 1) begin(name).begun();
  for (let name = 300; name < 500; name += 1) begin(name);
  at(1000);
  all.trim();
  expect(dropped).toEqual(Array.from({ length: 72 }, (_, index) => 300 + index));
  for (let name = 500; name < 1000; name += 1) begin(name);
  expect(all.size).toBe(512);
  expect(dropped.slice(72, 372)).toEqual(Array.from({ length: 300 }, (_, index) => index));
  all.close();
});

test("one that was wrapped is dropped as what it is by then", () => {
  const all = new UnfinishedConnections({ nowMs: () => 0 });
  const dropped: string[] = [];
  const entry = all.begin(() => dropped.push("plain"));
  entry.drop = () => dropped.push("wrapped");
  all.close();
  expect(dropped).toEqual(["wrapped"]);
});
