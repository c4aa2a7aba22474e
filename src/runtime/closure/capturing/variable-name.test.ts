/** Tests which text before a function gives it a name. */
import { expect, test } from "vitest";
import { nameBefore } from "./variable-name.ts";

test.each([
  ["const train = remote(", "train"],
  ["let train=shoal.remote( ", "train"],
  ["export const train: RemoteFunction<[number], number> = remote(", "train"],
  ["const train = (0, shoal_1.remote)(", "train"],
  ["const train = remote<number>(", "train"],
  ["this.other = 1; train = remote(\n  ", "train"],
  ["const tasks = { train: remote(", "train"],
  ["{ first: 1,\n  train: remote(", "train"],
])("%j names it train", (text, name) => {
  expect(nameBefore(text)).toBe(name);
});

test.each([
  ["await remote("],
  ["return remote("],
  ["[1, 2].map("],
  ["f(x, "],
  ["const x = y + remote("],
  ["a ? b : remote("],
  [""],
  ["const refs = list.map((x) => "],
])("%j names nothing", (text) => {
  expect(nameBefore(text)).toBe("");
});
