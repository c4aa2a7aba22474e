/** Checkpoints between the languages, and what processes that die amid a checkpoint leave behind. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { python, remote } from "shoal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Checkpoint } from "shoal/runs";
import { PYTHON_FOLDER, unless, WITHOUT_PYTHON } from "./python-places.ts";
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
      paths.push((await item).checkpoint.path);
    expect(paths).toEqual([folder, folder]);
    const names = remote((given: object[]) => given.map((one) => `${one.constructor.name} ${String(one)}`));
    const passedOn = task<(checkpoint: Checkpoint, call: unknown) => string[]>("passed_on");
    expect(await passedOn.remote(new Checkpoint(folder), names)).toEqual([
      `Checkpoint Checkpoint(${folder})`,
      `Checkpoint Checkpoint(${folder})`,
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
});
