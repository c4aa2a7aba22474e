/** Texts of logs on the page are bounded, in order, and harmless. */
import { expect, test } from "vitest";
import { EMPTY_LOG, shownLine, withText } from "./log-text.ts";

test("parts of lines come together, and the last line goes on", () => {
  let log = EMPTY_LOG;
  for (const text of ["one\ntw", "", "o\n", "\nfour"]) log = withText(log, text);
  expect(log).toEqual({ lines: ["one", "two", "", "four"], dropped: 0, isOpen: true });
  expect(withText(log, "\n")).toEqual({ lines: ["one", "two", "", "four"], dropped: 0, isOpen: false });
});

test("old lines and the ends of long ones are dropped", () => {
  const log = withText(EMPTY_LOG, `${Array.from({ length: 7_000 }, (_, at) => `line ${at}`).join("\n")}\n`);
  expect([log.lines.length, log.lines[0], log.dropped]).toEqual([5_000, "line 2000", 2_000]);
  let long = EMPTY_LOG;
  for (let part = 0; part < 100; part += 1) long = withText(long, "x".repeat(1_000_000));
  expect(long.lines[0]?.length).toBe(10_001);
  expect(shownLine(long.lines[0] ?? "")).toHaveLength(10_001);
});

test("colours are left out, and characters that a browser would obey are escapes", () => {
  expect(shownLine("\u001b[31;1mred\u001b[0m \u001b[2K<b>\u202e\u0000\u001b]0;title\u0007")).toBe(
    "red <b>\\u{202e}\\u{0}\\u{1b}]0;title\\u{7}",
  );
  expect(shownLine("10 %\r20 %\r")).toBe("20 %");
  expect(shownLine("a\tb")).toBe("a    b");
});
