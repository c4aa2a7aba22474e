/** Listing and reading logs: names that lead elsewhere, tails, steps, tasks, and files that are torn. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { indexLine } from "./log-index.ts";
import { listLogFiles, type LogAnswer, type LogQuestion, readLog } from "./log-files.ts";
import { LOG_ANSWER_BYTES_MAX, LOG_ANSWER_MARKS_MAX } from "./limits.ts";
import { checkGlob, kindOfLog, matchesGlob, workerOfLog } from "./log-names.ts";

let root: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "shoal-logs-"));
  folder = join(root, "logs");
  mkdirSync(folder);
});
afterEach(() => rmSync(root, { recursive: true }));

async function read(question: LogQuestion): Promise<LogAnswer> {
  const answer = await readLog(folder, question);
  if (answer === undefined) throw new Error(`there is no ${question.name}`);
  return answer;
}

const textOf = async (question: LogQuestion): Promise<string> => (await read(question)).bytes.toString("utf8");

test("no name leads out of the folder, and links, folders and pipes are no logs", async () => {
  writeFileSync(join(root, "secret.log"), "secret");
  writeFileSync(join(folder, "node.log"), "plain");
  symlinkSync(join(root, "secret.log"), join(folder, "link.log"));
  symlinkSync(root, join(folder, "up"));
  mkdirSync(join(folder, "folder.log"));
  expect((await listLogFiles(folder, "*")).files.map(({ name }) => name)).toEqual(["node.log"]);
  const names = [
    "../secret.log",
    "up/secret.log",
    "./node.log",
    "link.log",
    "folder.log",
    "",
    ".",
    "..",
    "/etc/passwd",
    "node.log\0",
    "*",
    "node.lo?",
  ];
  for (const name of [...names, "..%2fsecret.log", "..\\secret.log", "NODE.LOG", `${folder}/node.log`])
    expect([name, await readLog(folder, { name })]).toEqual([name, undefined]);
  expect(await textOf({ name: "node.log" })).toBe("plain");
});

test("an older file that became a link is left out", async () => {
  writeFileSync(join(root, "secret.log"), "secret");
  writeFileSync(join(folder, "node.log"), "new\n");
  symlinkSync(join(root, "secret.log"), join(folder, "node.log.1"));
  expect(await textOf({ name: "node.log" })).toBe("new\n");
});

test.each([
  [0, ""],
  [1, "five"],
  [2, "four\nfive"],
  [3, "three\nfour\nfive"],
  [4, "two\nthree\nfour\nfive"],
  [99, "one\ntwo\nthree\nfour\nfive"],
  [undefined, "one\ntwo\nthree\nfour\nfive"],
])("a tail of %s lines reaches into older files", async (tail, expected) => {
  writeFileSync(join(folder, "a.log.1"), "one\ntwo\n");
  writeFileSync(join(folder, "a.log"), "three\nfour\nfive");
  expect(await textOf({ name: "a.log", tail })).toBe(expected);
  writeFileSync(join(folder, "a.log"), "three\nfour\nfive\n");
  expect(await textOf({ name: "a.log", tail })).toBe(expected === "" ? "" : `${expected}\n`);
});

test("a tail counts lines across the steps in which a file is read", async () => {
  const lines = Array.from({ length: 300_000 }, (_, at) => `line ${at}`);
  writeFileSync(join(folder, "a.log"), `${lines.join("\n")}\n`);
  expect(await textOf({ name: "a.log", tail: 40_000 })).toBe(`${lines.slice(-40_000).join("\n")}\n`);
});

test("a large log comes in bounded steps that fit together, and an empty one in none", async () => {
  const text = Array.from({ length: 200_000 }, (_, at) => `zeile ${at} ä\n`).join("");
  writeFileSync(join(folder, "a.log"), text);
  const pieces: Buffer[] = [];
  let from: string | undefined;
  for (let isEnd = false; !isEnd; ) {
    const answer = await read({ name: "a.log", from });
    expect(answer.bytes.length).toBeLessThanOrEqual(LOG_ANSWER_BYTES_MAX);
    pieces.push(answer.bytes);
    ({ next: from, isEnd } = answer);
  }
  expect(pieces.length).toBeGreaterThan(4);
  expect(Buffer.concat(pieces).toString("utf8")).toBe(text);
  writeFileSync(join(folder, "b.log"), "");
  expect(await read({ name: "b.log", tail: 10 })).toMatchObject({ isEnd: true, isGap: false, marks: [] });
});

test("a place that is none, or lies beyond the file, is a gap and begins anew", async () => {
  writeFileSync(join(folder, "a.log"), "one\n");
  const { next } = await read({ name: "a.log" });
  for (const from of ["", "x", "1.2:3", "::", next.replace(/:.*/, ":99"), next.replace(/:.*/, ":-1"), next.replace(/:.*/, ":1e999")]) {
    const answer = await read({ name: "a.log", from });
    expect([from, answer.isGap, answer.bytes.toString("utf8")]).toEqual([from, true, "one\n"]);
  }
});

const NAME = "worker-a-1.out";
const index = (...entries: [offset: number, taskId: string][]): string =>
  entries.map(([offset, taskId]) => indexLine({ offset, taskId, timeMs: offset, name: `f${taskId}` })).join("");

test("a task's lines are found in all files of its worker, and a tail counts them alone", async () => {
  writeFileSync(join(folder, `${NAME}.1`), "a1\nb1\na2\n");
  writeFileSync(join(folder, `${NAME}.1.idx`), index([0, "a"], [3, "b"], [6, "a"]));
  writeFileSync(join(folder, NAME), "a3\nb2\n");
  writeFileSync(join(folder, `${NAME}.idx`), index([0, "a"], [3, "b"]));
  expect(await textOf({ name: NAME, taskId: "a" })).toBe("a1\na2\na3\n");
  expect(await textOf({ name: NAME, taskId: "b", tail: 1 })).toBe("b2\n");
  expect(await textOf({ name: NAME, taskId: "a", tail: 2 })).toBe("a2\na3\n");
  expect(await textOf({ name: NAME, taskId: "c" })).toBe("");
  const { marks, bytes } = await read({ name: NAME, tail: 3, withMarks: true });
  expect(bytes.toString("utf8")).toBe("a2\na3\nb2\n");
  expect(marks.map(({ offset, taskId }) => [offset, taskId])).toEqual([
    [0, "a"],
    [3, "a"],
    [6, "b"],
  ]);
});

test("an index that is torn, forged or huge loses entries and nothing else", async () => {
  writeFileSync(join(folder, NAME), "a1\nb1\n");
  for (const text of [
    "",
    "\0\xff",
    "0\t0",
    "9\t0\ta\tf\n",
    "-1\t0\ta\tf\n",
    "NaN\tx\ta\tf\n",
    "3\t1\tb\tf\n0\t1\ta\tf\n",
    "0\t1\ta\tb\tc\td\n",
    "1e3\t1\ta\tf\n",
  ]) {
    writeFileSync(join(folder, `${NAME}.idx`), text);
    expect([text, await textOf({ name: NAME })]).toEqual([text, "a1\nb1\n"]);
    expect([text, await textOf({ name: NAME, taskId: "a" })]).toEqual([text, ""]);
    await read({ name: NAME, withMarks: true });
  }
  // More entries than an answer names, many of them at one place.
  const lines = LOG_ANSWER_MARKS_MAX * 3;
  writeFileSync(join(folder, NAME), "x\n".repeat(lines));
  writeFileSync(join(folder, `${NAME}.idx`), Array.from({ length: lines }, (_, at) => index([at - (at % 2), String(at)])).join(""));
  let from: string | undefined;
  let length = 0;
  let marks = 0;
  for (let isEnd = false; !isEnd; ) {
    const answer = await read({ name: NAME, from, withMarks: true });
    expect(answer.marks.length).toBeLessThanOrEqual(LOG_ANSWER_MARKS_MAX);
    expect(answer.bytes.length + answer.marks.length).toBeGreaterThan(0);
    length += answer.bytes.length;
    marks += answer.marks.length;
    ({ next: from, isEnd } = answer);
  }
  expect([length, marks >= lines / 2]).toEqual([lines * 2, true]);
});

test("names of files say whose output they hold", () => {
  expect(workerOfLog("worker-0a-12.err.3")).toEqual({ workerId: "0a", pid: 12, stream: "err" });
  expect(["worker-a-b.out", "worker-a-1.txt", "xworker-a-1.out", "worker-a-1.out.idx"].map(workerOfLog)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(["worker-a-1.out.2", "head.log.1", "node.log", "dashboard.log", "supervisor.log"].map(kindOfLog)).toEqual([
    "worker_out",
    "gcs_server",
    "raylet",
    "dashboard",
    "internal",
  ]);
});

test("a pattern is compared in time that no pattern makes long", () => {
  const cases: [string, string, boolean][] = [
    ["*", "", true],
    ["", "", true],
    ["a?c*", "abc", true],
    ["a?c*", "abd", false],
    ["*.err", "worker-1.err", true],
    ["*.err", "worker-1.err.1", false],
    ["[a]", "a", false],
    ["**a**", "bab", true],
    ["a*b*c", "a-b-b-c", true],
    ["?", "", false],
  ];
  for (const [pattern, name, matches] of cases) expect([pattern, name, matchesGlob(name, pattern)]).toEqual([pattern, name, matches]);
  expect(matchesGlob("a".repeat(255), `${"*a".repeat(127)}b`)).toBe(false);
  for (const pattern of ["a/b", "..\\x", "a\0", "x".repeat(256)])
    expect(() => checkGlob(pattern)).toThrow("a pattern has at most 255 characters and no slash");
});
