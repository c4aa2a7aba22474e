/** Lines of progress on terminals and elsewhere, with a clock and streams of the tests. */
import { expect, test } from "vitest";
import { ErroredBlocks } from "../engine/tasks/errored-blocks.ts";
import { type Operator, OperatorStatistics } from "../engine/operators/operator.ts";
import { DataError } from "../errors.ts";
import { ProgressBoard, type ProgressStream } from "../../progress/progress-board.ts";
import { type ShownRun, shownRun } from "./progress.ts";

class FakeStream implements ProgressStream {
  readonly isTTY: boolean;
  readonly columns = 80;
  readonly rows = 4;
  readonly #texts: string[];

  constructor(texts: string[], isTTY: boolean) {
    this.#texts = texts;
    this.isTTY = isTTY;
  }

  write(...args: never[]): boolean {
    this.#texts.push(String(args[0]));
    return true;
  }

  print(text: string): void {
    this.write(text as never);
  }
}

function makeBoard(isTTY: boolean) {
  const texts: string[] = [];
  const [stdout, stderr] = [new FakeStream(texts, isTTY), new FakeStream(texts, isTTY)];
  let now = 1000;
  let tick: (() => void) | undefined;
  const board = new ProgressBoard({
    output: stderr,
    streams: [stdout, stderr],
    nowMs: () => now,
    every: (_ms, call) => {
      tick = call;
      return () => (tick = undefined);
    },
  });
  const pass = (ms: number): void => {
    now += ms;
    tick?.();
  };
  return {
    board: { begin: (run: ShownRun) => board.begin(shownRun(run)) },
    stdout,
    stderr,
    pass,
    isTicking: () => tick !== undefined,
    texts,
    taken: () => texts.splice(0).join(""),
  };
}

function operator(name: string, rows: number, load = { queuedBlocks: 3, workers: 2 }): Operator {
  const statistics = new OperatorStatistics();
  statistics.give({ rowCount: rows, sizeBytes: 2 ** 20, schema: [] });
  statistics.startedMs = 1000;
  return { name, statistics, load } as unknown as Operator;
}

const ESCAPE = "\u001b";
const UP = new RegExp(`^${ESCAPE}\\[(\\d+)A${ESCAPE}\\[J`);

/** Returns the lines that a terminal shows, without erased ones. */
function screen(text: string): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest !== "") {
    const up = UP.exec(rest);
    if (up !== null) {
      lines.splice(-Number(up[1]));
      rest = rest.slice(up[0].length);
      continue;
    }
    const end = rest.indexOf("\n");
    lines.push(rest.slice(0, end));
    rest = rest.slice(end + 1);
  }
  return lines;
}

const none = new ErroredBlocks(0);

test("on a terminal each operator has a line that is drawn in place, below what the program prints", () => {
  const { board, stdout, pass, taken, isTicking } = makeBoard(true);
  const read = operator("readCsv", 1_234_567);
  const end = board.begin({ operators: [read, operator("sort(km)", 0, { queuedBlocks: 0, workers: 0 })], errored: none });
  pass(400);
  expect(taken()).toBe("");
  pass(600);
  pass(1000);
  stdout.print("printed\n");
  pass(100);
  stdout.print("half a ");
  pass(100);
  stdout.print("line\n");
  pass(100);
  const text = taken();
  expect(screen(text)).toEqual([
    "printed",
    "half a line",
    `readCsv: 1,234,567 rows, 1.0 MiB, ${Math.round(1_234_567 / 2.3).toLocaleString("en-US")} rows/s, 3 queued, 2 working`.slice(0, 79),
    "sort(km): 0 rows, 1.0 MiB, 0 rows/s, 0 queued, 0 working",
  ]);
  end("done");
  expect(screen(text + taken())).toEqual(["printed", "half a line", "shoal: sort(km) done after 2.30 s: 0 rows, 1.0 MiB, 0 rows/s"]);
  expect(isTicking()).toBe(false);
  expect(Object.hasOwn(stdout, "write")).toBe(false);
});

test("several runs are drawn together, as many lines as the terminal has, and each ends for itself", () => {
  const { board, pass, taken } = makeBoard(true);
  const first = board.begin({ operators: [operator("a", 1), operator("b", 1)], errored: none });
  const second = board.begin({ operators: [operator("c", 1), operator("d", 1)], errored: none });
  pass(1000);
  let text = taken();
  expect(screen(text).map((line) => line.split(":")[0])).toEqual(["a", "b", "c"]);
  first("stopped");
  pass(100);
  text += taken();
  expect(screen(text).map((line) => line.split(":")[0])).toEqual(["shoal", "c", "d"]);
  second("failed");
  second("failed");
  text += taken();
  expect(screen(text)[1]).toBe("shoal: d failed after 1.10 s: 1 row, 1.0 MiB, 1 rows/s");
  expect(screen(text)).toHaveLength(2);
});

test("elsewhere it is a line every five seconds without any control character, and one at the end with what was left out", () => {
  const { board, stdout, pass, texts } = makeBoard(false);
  const errored = new ErroredBlocks(2);
  const end = board.begin({ operators: [operator("readText", 10), operator("map", 10)], errored });
  expect(Object.hasOwn(stdout, "write")).toBe(false);
  for (let i = 0; i < 100; i += 1) pass(100);
  errored.leavesOut("map", new DataError("bad"));
  end("done");
  expect(texts).toEqual([
    "shoal: 5.00 s: readText: 10 rows, 1.0 MiB, 2 rows/s, 3 queued, 2 working | map: 10 rows, 1.0 MiB, 2 rows/s, 3 queued, 2 working\n",
    "shoal: 10.00 s: readText: 10 rows, 1.0 MiB, 1 rows/s, 3 queued, 2 working | map: 10 rows, 1.0 MiB, 1 rows/s, 3 queued, 2 working\n",
    "shoal: map done after 10.00 s: 10 rows, 1.0 MiB, 1 rows/s; 1 block left out because of errors\n",
  ]);
});

test("lines and summary of a dataset with a name begin with it", () => {
  const { board, pass, taken } = makeBoard(true);
  const end = board.begin({ name: "rides", operators: [operator("a", 1)], errored: none });
  pass(1000);
  const text = taken();
  expect(screen(text)).toEqual(["rides: a: 1 row, 1.0 MiB, 1 rows/s, 3 queued, 2 working"]);
  end("done");
  expect(screen(text + taken())).toEqual(["shoal: rides: a done after 1.00 s: 1 row, 1.0 MiB, 1 rows/s"]);
});

test("a run that is over soon shows nothing", () => {
  const { board, pass, taken } = makeBoard(true);
  const end = board.begin({ operators: [operator("a", 1)], errored: none });
  pass(300);
  end("done");
  expect(taken()).toBe("");
});

test("a line has the share that is done, where the whole is known", () => {
  const lines = (share: number | undefined): readonly string[] =>
    shownRun({ operators: [{ ...operator("readCsv", 10), share }], errored: new ErroredBlocks(0) }).lines(2000);
  expect(lines(0.459)[0]).toMatch(/^readCsv: 45 %, 10 rows, /);
  expect(lines(undefined)[0]).toMatch(/^readCsv: 10 rows, /);
});
