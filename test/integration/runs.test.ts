/** Checkpoints between the languages, and what processes that die amid a checkpoint leave behind. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { python, remote } from "shoal";
import { spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Checkpoint } from "shoal/runs";
import { listCheckpoints } from "../../src/runs/checkpoints/stored-checkpoints.ts";
import { PYTHON_FOLDER, pythonUnitTests, unless, WITHOUT_PYTHON } from "./python-places.ts";
import { failureOf, useSession } from "./session.ts";

const FILE = join(PYTHON_FOLDER, "checkpoints.py");
const task = <F extends (...args: never[]) => unknown>(name: string) => python.task<F>(FILE, name);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "test-shoal-runs-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(WITHOUT_PYTHON !== undefined)(`checkpoints in Python${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 2 });

  test("one that Python makes arrives as a Checkpoint, with its metadata", async () => {
    const made = await task<(path: string) => Checkpoint>("made").remote(folder);
    expect(made).toBeInstanceOf(Checkpoint);
    expect(made.path).toBe(folder);
    expect(await made.asDirectory((path) => readFileSync(join(path, "weights.txt"), "utf8"))).toBe("of Python");
    expect(await made.getMetadata()).toEqual({ epoch: 3, loss: Number.NaN, by: "python" });
  });

  test("in streams, too, and in TypeScript tasks that have loaded nothing of it", async () => {
    const paths: string[] = [];
    for await (const item of task<(path: string) => AsyncIterable<{ checkpoint: Checkpoint }>>("stream")
      .options({ numReturns: "streaming" })
      .remote(folder))
      paths.push(item.checkpoint.path);
    expect(paths).toEqual([folder, folder]);
    const names = remote((given: object[]) => given.map((one) => `${one.constructor.name} ${JSON.stringify(one)}`));
    const passedOn = task<(checkpoint: Checkpoint, call: unknown) => string[]>("passed_on");
    expect(await passedOn.remote(new Checkpoint(folder), names)).toEqual([
      `Checkpoint {"path":"${folder}"}`,
      `Checkpoint {"path":"${folder}"}`,
    ]);
  });

  test("Python reads those of TypeScript; copies have no record", async () => {
    const source = join(folder, "typescript");
    mkdirSync(source);
    writeFileSync(join(source, "weights.txt"), "of TypeScript");
    writeFileSync(join(source, ".checkpoint.json"), "{}");
    const checkpoint = Checkpoint.fromDirectory(source);
    await checkpoint.setMetadata({ epoch: 1 });
    const read = task<(given: Checkpoint) => unknown[]>("read");
    expect(await read.remote(checkpoint)).toEqual([
      "shoal._checkpoint",
      "of TypeScript",
      { epoch: 1 },
      [".checkpoint.json", ".metadata.json", "weights.txt"],
    ]);
    const copied = task<(given: Checkpoint, to: string) => string[]>("copied");
    expect(await copied.remote(checkpoint, join(folder, "copy"))).toEqual([".metadata.json", "weights.txt"]);
    expect(await checkpoint.getMetadata()).toEqual({ epoch: 1, copied: true });
  });

  test("one that is not there is told by its path", async () => {
    const { message } = await failureOf(task<(path: string) => void>("failing").remote(join(folder, "gone")));
    expect(message).toContain(`there is no such folder`);
    await expect(new Checkpoint(join(folder, "gone")).toDirectory()).rejects.toThrow(
      /Cannot open the checkpoint .*gone: there is no such folder/,
    );
  });

  test("one that its run removes while it is open, or copied, is told by that", async () => {
    const stored = (name: string): string => {
      const path = join(folder, name);
      mkdirSync(path);
      for (const file of ["weights.txt", ".checkpoint.json"]) writeFileSync(join(path, file), "{}");
      return path;
    };
    const said = /Cannot read the checkpoint .*pruned-[12]: it was removed meanwhile, as numToKeep of its run keeps others/;
    const copied = task<(path: string, to: string) => void>("removed_while_copied");
    expect((await failureOf(copied.remote(stored("pruned-1"), join(folder, "to")))).message).toMatch(said);
    expect((await failureOf(task<(path: string) => void>("removed_while_open").remote(stored("pruned-2")))).message).toMatch(said);
  });

  test("errors of another cause are not taken for a removal", () => {
    expect(pythonUnitTests("test_checkpoint.py")).toMatchObject({ status: 0, stderr: expect.stringMatching(/OK\n$/) });
  });
});

describe("a process that is killed amid a checkpoint", () => {
  /** Runs the writer until it has told of a checkpoint, and a little longer, and kills it. @returns the last checkpoint that it told of */
  async function writeAndKill(
    run: string,
    { ms, limits = "" }: { ms: number; limits?: string },
  ): Promise<{ last: number; output: string }> {
    const program = join(import.meta.dirname, "checkpoint-writer.ts");
    const child = spawn("bash", ["-c", `${limits} exec "$0" "$@"`, process.execPath, program, run, join(run, "..", "local")]);
    let [output, last] = ["", -1];
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.stderr.on("data", (text: Buffer) => (output += text.toString()));
    await new Promise<void>((resolve) => {
      child.once("close", resolve);
      child.stdout.on("data", (text: Buffer) => {
        last = Number(text.toString().trim().split("\n").at(-1));
        if (ms >= 0) setTimeout(resolve, ms);
      });
    });
    child.kill("SIGKILL");
    await ended;
    return { last, output };
  }

  test("leaves none that is half written, loses none that was complete, and another goes on", async () => {
    const run = mkdtempSync(join(folder, "run-"));
    let before = -1;
    for (let i = 0; i < 4; i += 1) {
      const { last } = await writeAndKill(run, { ms: 11 * i });
      const stored = await listCheckpoints(run);
      expect(stored.length).toBeGreaterThan(0);
      const newest = Number(stored.at(-1)?.metrics["index"]);
      expect(newest).toBeGreaterThanOrEqual(last);
      expect(last).toBeGreaterThan(before);
      before = newest;
      for (const { checkpoint, metrics } of stored) {
        const files = readdirSync(checkpoint.path).filter((name) => name.endsWith(".bin"));
        expect(files).toHaveLength(6);
        const letter = String.fromCharCode(97 + (Number(metrics["index"]) % 26));
        for (const name of files) expect(readFileSync(join(checkpoint.path, name), "utf8") === letter.repeat(400_000)).toBe(true);
      }
    }
  });

  test("a disk that takes no more ends it with the file's name, and what was complete stays", async () => {
    const run = mkdtempSync(join(folder, "full-"));
    const { last } = await writeAndKill(run, { ms: 0 });
    // A limit on the size of files stands for the full disk: the copy of each file breaks off.
    const { output } = await writeAndKill(run, { ms: -1, limits: "trap '' XFSZ; ulimit -f 200;" });
    expect(output).toMatch(/EFBIG|file too large/i);
    const stored = await listCheckpoints(run);
    expect(Number(stored.at(-1)?.metrics["index"])).toBeGreaterThanOrEqual(last);
  });
});
