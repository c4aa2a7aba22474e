/** Texts that would run, hide or turn others around are shown as escapes. */
import { expect, test } from "vitest";
import { visibleLines, visibleText } from "./visible-text.ts";

test.each([
  ["resize", "resize"],
  ["<script>alert(1)</script>", "<script>alert(1)</script>"],
  ["a\u202Egnp.exe", "a\\u{202e}gnp.exe"],
  ["\u001B[31mred\u0007", "\\u{1b}[31mred\\u{7}"],
  ["one\ntwo\r\tthree\u2028", "one\\ntwo\\r\\tthree\\u{2028}"],
  ["lone \uD800 half", "lone \\u{d800} half"],
  ["größer 鱼 🐟", "größer 鱼 🐟"],
])("%j is shown as %j", (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

test("a name of a megabyte is cut, and lines of an error stay lines", () => {
  expect(visibleText("x".repeat(1_000_000))).toBe(`${"x".repeat(300)}…`);
  expect(visibleLines("Error: a\\n\u202E\n  at b")).toBe("Error: a\\n\\u{202e}\n  at b");
  expect(visibleLines("x".repeat(30_000))).toHaveLength(20_001);
});
