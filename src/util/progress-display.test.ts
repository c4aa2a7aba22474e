import { expect, test } from "vitest";
import { type BarState, ProgressDisplay } from "./progress-display.ts";

function displayOn(isTTY: boolean): { display: ProgressDisplay; written: string[]; clock: { nowMs: number } } {
  const written: string[] = [];
  const clock = { nowMs: 0 };
  const output = { isTTY, columns: 200, write: (text: string) => written.push(text) };
  return { display: new ProgressDisplay(output, () => clock.nowMs), written, clock };
}

function bar(count: number, total: number | undefined = 100): BarState {
  return { description: "files", unit: "it", total, count, startedMs: 0 };
}

test("without a terminal there is a line for each tenth, and one at the end", () => {
  const { display, written, clock } = displayOn(false);
  for (let count = 0; count <= 25; count += 1) {
    clock.nowMs += 10;
    display.update("a", bar(count));
  }
  expect(written).toHaveLength(2);
  expect(written[1]).toContain("files:  20 %");
  display.close("a");
  expect(written).toHaveLength(3);
  expect(written[2]).toContain("25/100");
});

test("a full bar is not printed twice", () => {
  const { display, written } = displayOn(false);
  display.update("a", bar(100));
  display.close("a");
  expect(written).toHaveLength(1);
});

test("without a total it shows the count, now and then", () => {
  const { display, written, clock } = displayOn(false);
  clock.nowMs = 9000;
  display.update("a", { ...bar(5), total: undefined });
  clock.nowMs = 10_000;
  display.update("a", { ...bar(50), total: undefined });
  expect(written).toEqual(["files: 50 it [00:10, 5.0 it/s]\n"]);
});

test("in a terminal bars are redrawn in place, and not too often", () => {
  const { display, written, clock } = displayOn(true);
  display.update("a", bar(10));
  display.update("b", bar(20));
  expect(written).toHaveLength(1);
  clock.nowMs = 100;
  display.update("b", bar(30));
  expect(written.slice(1)).toEqual(["\u001b[1A\u001b[J", expect.stringContaining("30/100")]);
  display.hide();
  expect(written.at(-1)).toBe("\u001b[2A\u001b[J");
  display.show();
  display.close("a");
  expect(written.slice(-2)[0]).toContain("10/100");
  expect(written.at(-1)).toContain("30/100");
});

test("shows how long it will take", () => {
  const { display, written, clock } = displayOn(false);
  clock.nowMs = 60_000;
  display.update("a", bar(10));
  expect(written[0]).toBe("files:  10 % ██░░░░░░░░░░░░░░░░░░░░░░ 10/100 [01:00, 09:00 left, 0.2 it/s]\n");
});
