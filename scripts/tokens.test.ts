/** The rules by which tokens are counted. */
import { expect, test } from "vitest";
import { countTokens } from "./tokens.ts";

test.each([
  ["", 0],
  ["// nothing\n/* nothing */\n", 0],
  ["#!/usr/bin/env node\nlet a = 1; // one\n", 5],
  ["const text = 'a // b';", 5],
  ["a = b / c / d;", 8],
  ["a = /[/]b'/g;", 4],
  ["f(x) / 2 + this.y /2", 12],
  ["a = of / 2 > 1 / of;", 10],
  ["if (a) return /x/.test(b);", 12],
  ["`plain ${`inner ${{ a: 1 }.a} end`} tail` + 1", 13],
  ["`a${b}c${d}e`", 5],
  ["let x: Map<A, Map<B, C>> = y;", 17],
  ["class A { readonly #b = `/`; }", 9],
])("%j has %i", (text, count) => {
  expect(countTokens(text)).toBe(count);
});

test.each(["'open", "`open ${a}"])("%j is none", (text) => {
  expect(() => countTokens(text)).toThrow("Cannot count the tokens");
});
