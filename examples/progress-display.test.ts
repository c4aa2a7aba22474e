import { expect, test } from "vitest";
import { type Output, ProgressDisplay } from "./progress-display.ts";

test("a terminal gets a bar for each task, redrawn in place", () => {
  const terminal = fakeOutput({ isTTY: true, rows: 24 });
  const display = new ProgressDisplay(2, terminal);
  display.show([0.5, 0]);
  display.show([1, 1]);
  expect(terminal.written).toEqual([
    "\u001b[2Ktask  1  ███████████████░░░░░░░░░░░░░░░  50 %\n\u001b[2Ktask  2  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   0 %\n",
    "\u001b[2A\u001b[2Ktask  1  ██████████████████████████████ 100 %\n\u001b[2Ktask  2  ██████████████████████████████ 100 %\n",
  ]);
});

test("a terminal that is too small for all tasks shows as many as it can redraw", () => {
  const terminal = fakeOutput({ isTTY: true, rows: 5 });
  new ProgressDisplay(100, terminal).show(Array.from({ length: 100 }, () => 0.1));
  expect(terminal.written.join("").split("\n").length - 1).toBe(3);
});

test("without a terminal each quarter is a line, once", () => {
  const file = fakeOutput({});
  const display = new ProgressDisplay(2, file);
  display.show([0.1, 0.3]);
  display.show([0.2, 0.4]);
  display.show([1, 0.5]);
  expect(file.written.join("")).toBe("task 2: 25 %\ntask 1: 100 %\ntask 2: 50 %\n");
});

function fakeOutput(kind: { isTTY?: boolean; rows?: number }): Output & { written: string[] } {
  const written: string[] = [];
  return { ...kind, written, write: (text) => written.push(text) };
}
