import { expect, test } from "vitest";
import { SetMap } from "./set-map.ts";

test("a key is forgotten with the last of its values", () => {
  const map = new SetMap<string, number>();
  map.add("a", 1);
  map.add("a", 2);
  map.add("b", 1);
  map.delete("b", 2);
  expect([...map.get("a"), ...map.get("b"), ...map.get("c")]).toEqual([1, 2, 1]);
  map.delete("a", 1);
  map.delete("b", 1);
  expect([...map.keys()]).toEqual(["a"]);
  expect([...map.take("a")]).toEqual([2]);
  expect(map.size).toBe(0);
});
