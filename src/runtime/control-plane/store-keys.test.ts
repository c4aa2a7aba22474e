/** Keys made of any words, and which keys a prefix covers. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkKey, isUnder, storeKey } from "./store-keys.ts";

test("different words give different keys that the store takes", () => {
  const words = fc.array(fc.string({ unit: "binary", maxLength: 8 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(words, words, (left, right) => {
      checkKey(storeKey(...left), "test");
      expect(storeKey(...left) === storeKey(...right)).toBe(JSON.stringify(left) === JSON.stringify(right));
    }),
  );
});

test("names read as themselves where they can", () => {
  expect(storeKey("name", "my team", "α")).toBe("name.my=20team.=CE=B1");
  expect(storeKey("a.b", "", "=20")).toBe("a=2Eb.=.=3D20");
});

test("a prefix covers whole words", () => {
  expect(["a", "a.b", "a.b.c", "ab", "b.a", "a-b"].filter((key) => isUnder("a", key))).toEqual(["a", "a.b", "a.b.c"]);
  expect(isUnder("", "a.b")).toBe(true);
  expect(isUnder("a.b", "a.bc")).toBe(false);
});
