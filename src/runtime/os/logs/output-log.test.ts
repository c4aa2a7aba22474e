/** Output in files: order, rotation, the index, and disks that are full or slow. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { indexOf, parseIndex } from "./log-index.ts";
import { readLog } from "./log-files.ts";
import { type OutputHandle, OutputLog } from "./output-log.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-output-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const NOBODY = { name: "", taskId: "" };
const NAME = "worker-a-1.out";

/** A disk with room for so many bytes, which may be changed. */
function smallDisk(room: { bytes: number }): (path: string) => Promise<OutputHandle> {
  return async (path) => {
    const file = await open(path, "a", 0o600);
    return {
      close: () => file.close(),
      stat: () => file.stat(),
      write: async (bytes) => {
        if (path.endsWith(".idx")) return await file.write(bytes);
        if (room.bytes === 0) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
        const part = bytes.subarray(0, room.bytes);
        room.bytes -= part.length;
        return await file.write(part);
      },
    };
  };
}

async function all(name = NAME): Promise<string> {
  let text = "";
  for (let from: string | undefined; ; ) {
    const answer = await readLog(folder, { name, from });
    if (answer === undefined) throw new Error(`there is no ${name}`);
    text += answer.bytes.toString("utf8");
    from = answer.next;
    if (answer.isEnd) return text;
  }
}

test("lines stand in the file in their order, and the index names who wrote them", async () => {
  const log = new OutputLog(join(folder, NAME), { nowMs: () => 5 });
  for (const [text, name, taskId] of [
    ["a", "f", "1"],
    ["é", "f", "1"],
    ["b\tc", "Name\twith\ntabs", "2"],
    ["", "", ""],
  ] as const)
    log.write(text, { name, taskId });
  await log.close();
  expect(readFileSync(join(folder, NAME), "utf8")).toBe("a\né\nb\tc\n\n");
  expect(parseIndex(readFileSync(indexOf(join(folder, NAME)), "utf8"), 100)).toEqual([
    { offset: 0, timeMs: 5, taskId: "1", name: "f" },
    { offset: 5, timeMs: 5, taskId: "2", name: "Name with tabs" },
    { offset: 9, timeMs: 5, taskId: "", name: "" },
  ]);
});

test("a full file is renamed, the oldest goes, and a reader that follows misses nothing that is kept", async () => {
  const log = new OutputLog(join(folder, NAME), { fileBytesMax: 100 });
  let from: string | undefined;
  let read = "";
  for (let number = 0; number < 40; number += 1) {
    log.write(`line ${number} ${"x".repeat(20)}`, NOBODY);
    await log.flush();
    const answer = await readLog(folder, { name: NAME, from });
    from = answer?.next;
    read += answer?.bytes.toString("utf8");
  }
  await log.close();
  expect(read.split("\n").map((line) => line.split(" ")[1] ?? "")).toEqual([...Array.from({ length: 40 }, (_, at) => String(at)), ""]);
  expect(readdirSync(folder).filter((name) => !name.endsWith(".idx"))).toHaveLength(8);
  expect(await all()).toBe(Array.from({ length: 22 }, (_, at) => `line ${at + 18} ${"x".repeat(20)}\n`).join(""));
});

test("a reader whose place was removed hears of the gap", async () => {
  const log = new OutputLog(join(folder, NAME), { fileBytesMax: 10 });
  log.write("first line", NOBODY);
  await log.flush();
  const { next } = (await readLog(folder, { name: NAME })) ?? {};
  for (let number = 0; number < 20; number += 1) {
    log.write(`later line ${number}`, NOBODY);
    await log.flush();
  }
  const answer = await readLog(folder, { name: NAME, from: next });
  expect([answer?.isGap, answer?.bytes.toString("utf8").split("\n")[0]]).toEqual([true, "later line 12"]);
  await log.close();
});

test("a full disk loses lines, is told once, and the file says where lines are missing", async () => {
  const told: string[] = [];
  const room = { bytes: 8 };
  const log = new OutputLog(join(folder, NAME), { open: smallDisk(room), onFailure: (reason) => told.push(reason) });
  for (const text of ["one", "two three", "four", "five"]) {
    log.write(text, NOBODY);
    await log.flush();
  }
  expect(told).toEqual([expect.stringContaining("ENOSPC")]);
  room.bytes = 1_000;
  log.write("six", { name: "f", taskId: "9" });
  await log.flush();
  log.write("seven", { name: "f", taskId: "9" });
  await log.close();
  expect(readFileSync(join(folder, NAME), "utf8")).toMatch(
    /^one\ntwo \n\[shoal: up to 3 lines are missing here: ENOSPC: no space left on device, write\]\nsix\nseven\n$/,
  );
  const answer = await readLog(folder, { name: NAME, taskId: "9" });
  expect(answer?.bytes.toString("utf8")).toBe("six\nseven\n");
});

test("a disk that is too slow loses what does not fit in memory, and says how many lines", async () => {
  const told: string[] = [];
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const slow = async (path: string): Promise<OutputHandle> => {
    await held;
    return await open(path, "a");
  };
  const log = new OutputLog(join(folder, NAME), { open: slow, onFailure: (reason) => told.push(reason), fileBytesMax: 1e9 });
  const line = "x".repeat(1024 * 1024 - 1);
  for (let number = 0; number < 12; number += 1) log.write(line, NOBODY);
  expect(log.waitingBytes).toBe(8 * 1024 * 1024);
  release();
  await log.flush();
  log.write("end", NOBODY);
  await log.close();
  expect(told).toEqual(["the disk was too slow"]);
  const text = await all();
  expect(text.match(/\[shoal: .*\]/)?.[0]).toBe("[shoal: up to 4 lines are missing here: the disk was too slow]");
  expect(text.split("\n").filter((found) => found === line)).toHaveLength(8);
});

test("a line that comes while the file is being closed is in the file", async () => {
  const log = new OutputLog(join(folder, NAME));
  log.write("one", NOBODY);
  const closed = log.close();
  await log.flush();
  log.write("two", NOBODY);
  await closed;
  await log.close();
  expect(await all()).toBe("one\ntwo\n");
});
