/** Where a node looks for the head next, and whom it does not listen to. */
import { expect, test } from "vitest";
import { notLeader } from "../../../rpc/refusals.ts";
import { HeadFinder } from "./head-finder.ts";

const A = "tcp://10.0.0.1:6380";
const B = "tcp://10.0.0.2:6380";
const C = "tcp://10.0.0.3:6380";

function tried(finder: HeadFinder, times: number): string[] {
  return Array.from({ length: times }, () => finder.next());
}

test("with one address it is always that", () => {
  const finder = new HeadFinder([A]);
  expect(tried(finder, 2)).toEqual([A, A]);
  finder.met(undefined);
  finder.failed(new Error("the connection was closed"));
  expect(finder.next()).toBe(A);
});

test("several are tried in turn, and the one that was met last comes last", () => {
  const finder = new HeadFinder([A, B, C]);
  expect(tried(finder, 4)).toEqual([A, B, C, A]);
  expect(finder.next()).toBe(B);
  finder.met(1);
  expect(finder.leader).toBe(B);
  expect(tried(finder, 3)).toEqual([C, A, B]);
});

test("a head that stands by is believed who leads, once", () => {
  const finder = new HeadFinder([A, B]);
  expect(finder.next()).toBe(A);
  finder.failed(notLeader(C));
  expect(finder.next()).toBe(C);
  finder.failed(new Error(notLeader(B).message));
  expect(tried(finder, 2)).toEqual([B, A]);
  finder.failed(notLeader(undefined));
  expect(finder.next()).toBe(B);
  // A head that names itself adds nothing new.
  finder.failed(notLeader(B));
  expect(finder.next()).toBe(A);
});

test("a head of an earlier term is not listened to any more", () => {
  const finder = new HeadFinder([A, B]);
  finder.next();
  finder.met(3);
  expect(finder.refuses(3)).toBeUndefined();
  expect(finder.refuses(4)).toBeUndefined();
  expect(finder.refuses(2)).toContain("term 3 has begun");
  // A head in memory counts no terms.
  expect(finder.refuses(undefined)).toBeUndefined();
});

test("heads that a head tells of are tried, too", () => {
  const finder = new HeadFinder([B]);
  finder.next();
  finder.met(1);
  expect(finder.told([B])).toBe(false);
  expect(finder.told([B, A])).toBe(true);
  expect(finder.addresses).toEqual([A, B]);
  expect(tried(finder, 2)).toEqual([A, B]);
  expect(finder.told([A])).toBe(false);
});
