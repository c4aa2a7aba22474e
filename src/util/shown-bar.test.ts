/** Progress bars on the board of a process, with a clock and streams of the tests. */
import { expect, test } from "vitest";
import { ProgressBoard } from "../progress/progress-board.ts";
import { ShownBar } from "./shown-bar.ts";

function makeBoard(isTTY: boolean) {
  const written: string[] = [];
  const clock = { nowMs: 0 };
  const output = { isTTY, columns: 200, write: (...args: never[]) => written.push(String(args[0])) > 0 };
  const board = new ProgressBoard({ output, streams: [output], nowMs: () => clock.nowMs, every: () => () => {} });
  const begin = (total: number | undefined) => {
    const bar = new ShownBar({ description: "files", unit: "it", total }, clock.nowMs);
    const end = board.begin(bar);
    const add = (count: number): void => {
      bar.add(count);
      board.refresh();
    };
    return { add, close: () => end("done") };
  };
  return { begin, written, clock, output };
}

test("without a terminal there is a line for each tenth, and one at the end", () => {
  const { begin, written, clock } = makeBoard(false);
  const bar = begin(100);
  for (let count = 1; count <= 25; count += 1) {
    clock.nowMs += 10;
    bar.add(1);
  }
  expect(written).toHaveLength(2);
  expect(written[1]).toContain("files:  20 %");
  bar.close();
  expect(written).toHaveLength(3);
  expect(written[2]).toContain("25/100");
});

test("a full bar is not printed twice", () => {
  const { begin, written } = makeBoard(false);
  const bar = begin(100);
  bar.add(100);
  bar.close();
  expect(written).toHaveLength(1);
});

test("without a total it shows the count, now and then", () => {
  const { begin, written, clock } = makeBoard(false);
  const bar = begin(undefined);
  clock.nowMs = 9000;
  bar.add(5);
  expect(written).toEqual([]);
  clock.nowMs = 10_000;
  bar.add(45);
  expect(written).toEqual(["files: 50 it [00:10, 5.0 it/s]\n"]);
});

test("in a terminal bars are drawn in place, below what the program prints, and not too often", () => {
  const { begin, written, clock, output } = makeBoard(true);
  const [a, b] = [begin(100), begin(100)];
  a.add(10);
  b.add(20);
  expect(written).toHaveLength(1);
  clock.nowMs = 100;
  b.add(10);
  expect(written.slice(1)).toEqual(["\u001b[2A\u001b[J", expect.stringMatching(/10\/100.*\n.*30\/100/s)]);
  (output.write as (text: string) => boolean)("printed by the program\n");
  expect(written.slice(3)).toEqual(["\u001b[2A\u001b[J", "printed by the program\n"]);
  a.close();
  expect(written.at(-1)).toContain("10/100");
  b.close();
  expect(written.at(-1)).toContain("30/100");
});

test("shows how long it will take", () => {
  const { begin, written, clock } = makeBoard(false);
  const bar = begin(100);
  clock.nowMs = 60_000;
  bar.add(10);
  expect(written[0]).toBe("files:  10 % ██░░░░░░░░░░░░░░░░░░░░░░ 10/100 [01:00, 09:00 left, 0.2 it/s]\n");
});
