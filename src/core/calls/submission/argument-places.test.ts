/** Where arguments lie, and what a demand says of it. */
import { expect, test } from "vitest";
import type { NodeTag } from "../../../runtime/base/ids.ts";
import { ArgumentPlaces, placeOf } from "./argument-places.ts";
import type { CallRecord } from "../call-record.ts";

const HERE = "a".repeat(16) as NodeTag;
const THERE = "b".repeat(16) as NodeTag;
const MB = 1024 * 1024;

function callWith(...args: [node: NodeTag, bytes: number][]): CallRecord {
  const dependencies = args.map(([node, bytes]) => ({ payload: { stored: { location: [`${node}000000000000-1`, 0, bytes, "memory"] } } }));
  return { dependencies: [...dependencies, { payload: undefined }] } as unknown as CallRecord;
}

test("a call is near the node that has most of its bytes, if that is another one and they are many", () => {
  expect(placeOf(callWith([THERE, MB]), HERE)).toEqual({ node: THERE, bytes: MB });
  expect(placeOf(callWith([THERE, MB - 1]), HERE)).toBeUndefined();
  expect(placeOf(callWith([HERE, 3 * MB], [THERE, 2 * MB]), HERE)).toBeUndefined();
  expect(placeOf(callWith([HERE, 3 * MB], [THERE, 2 * MB], [THERE, 2 * MB]), HERE)).toEqual({ node: THERE, bytes: 4 * MB });
  expect(placeOf(callWith(), HERE)).toBeUndefined();
});

test("a demand says how many of those that wait are near which node", () => {
  const places = new ArgumentPlaces();
  const calls = [callWith(), callWith(), callWith()] as const;
  expect(places.near).toBeUndefined();
  for (const call of calls) places.add(call, { node: THERE, bytes: MB });
  places.remove(calls[0]);
  places.remove(calls[0]);
  expect(places.near).toEqual([[THERE, 2, 2 * MB]]);
  expect(places.nodeOf(calls[1])).toBe(THERE);
  places.remove(calls[1]);
  places.remove(calls[2]);
  expect(places.isEmpty).toBe(true);
  expect(places.near).toBeUndefined();
});
