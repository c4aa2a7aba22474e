import { expect, test } from "vitest";
import { resourceVector } from "../base/resources.ts";
import { alternativeKeys, isFallbackNode, meetsAnySelector, selectorsText } from "./fallbacks.ts";
import { leaseKey, type LeasePlace, type LeaseSpec, parseLeaseSpec } from "./lease-spec.ts";

function specOf(place: LeasePlace): LeaseSpec {
  return parseLeaseSpec(leaseKey(resourceVector({ CPU: 1 }), place));
}

const inOrder = specOf({ labels: { zone: "east" }, fallbacks: [{ zone: "west", disk: "ssd" }, {}], environment: "e" });

test("a node meets the first selector, another one, or none", () => {
  expect(isFallbackNode(inOrder, { zone: "east" })).toBe(false);
  expect(isFallbackNode(inOrder, { zone: "north" })).toBe(true);
  const two = specOf({ labels: { zone: "east" }, fallbacks: [{ zone: "west" }] });
  expect([isFallbackNode(two, { zone: "west" }), meetsAnySelector(two, { zone: "west" })]).toEqual([true, true]);
  expect([isFallbackNode(two, {}), meetsAnySelector(two, {})]).toEqual([false, false]);
  expect(isFallbackNode(specOf({ labels: { zone: "east" } }), { zone: "west" })).toBe(false);
  expect(meetsAnySelector(specOf({}), {})).toBe(true);
});

test("each selector is a lease of its own, which keeps all else", () => {
  expect(alternativeKeys(specOf({ labels: { zone: "east" } }))).toBeUndefined();
  const alternatives = alternativeKeys(inOrder)?.map((key) => parseLeaseSpec(key));
  expect(alternatives?.map(({ labels }) => labels)).toEqual([{ zone: "east" }, { disk: "ssd", zone: "west" }, undefined]);
  for (const { environment, resources, fallbacks } of alternatives ?? [])
    expect([environment, resources.key, fallbacks]).toEqual(["e", "CPU:10000", undefined]);
});

test("in words", () => {
  expect(selectorsText(inOrder)).toBe(
    "whose label zone is east, or else whose label disk is ssd and zone is west, or else with any labels",
  );
});
