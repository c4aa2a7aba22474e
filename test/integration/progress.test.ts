/**
 * Progress bars of tasks and actors, drawn by the driver: programs in processes of their own, whose output is looked at.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";

let folder: string;

beforeAll(async () => {
  // Inside the repository: its programs find the package by its name.
  folder = await mkdtemp(join(REPOSITORY, "test", "integration", "progress-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** The end of the session brings the workers' last lines: only then a bar is complete. */
async function run(body: string): Promise<{ stdout: string; stderr: string; exitCode: number | null }> {
  const file = join(folder, "program.ts");
  await writeFile(
    file,
    `import { get, init, remote, shutdown } from "shoal";\nimport { progress, type ProgressBar } from "shoal/util";\n${body}\nawait shutdown();\n`,
  );
  return runProgram([file]);
}

test("a bar of the driver counts what tasks update, and ends once", async () => {
  const { stdout, stderr, exitCode } = await run(`
    using bar = progress({ description: "squares", total: 40 });
    const square = remote((value: number, given: ProgressBar) => { given.update(); given.close(); return value * value; });
    console.log((await get(Array.from({ length: 40 }, (_, index) => square.remote(index, bar)))).length);
  `);
  expect(stderr).toContain("squares: 100 %");
  expect(stderr).toContain("40/40");
  expect(stderr).not.toContain("\\u001d");
  expect(stdout).toBe("40\n");
  expect(exitCode).toBe(0);
});

test("a bar that a task makes is drawn by the driver, also when the task never yields", async () => {
  const { stdout, stderr } = await run(`
    const work = remote(() => {
      let sum = 0;
      for (const value of progress([1, 2, 3, 4], { description: "in a task" })) {
        const end = performance.now() + 150;
        while (performance.now() < end) sum += value;
      }
      console.log("said by the task");
      return sum;
    });
    await work.remote();
  `);
  expect(stderr).toContain("in a task:  25 %");
  expect(stderr).toContain("in a task: 100 %");
  expect(stdout).toMatch(/^\(work pid=\d+\) said by the task\n$/);
});

test("in this process: values are counted as they are taken", async () => {
  const { stderr, exitCode } = await run(`
    await init({ mode: "inProcess" });
    async function* values() { yield* [1, 2, 3]; }
    let sum = 0;
    for await (const value of progress(values(), { description: "stream", unit: "rows" })) sum += value;
    for (const value of progress(new Set([1, 2]), { description: "set" })) sum += value;
    if (sum !== 9) throw new Error("wrong sum");
    await remote(() => { for (const _ of progress([1], { description: "task here" })); }).remote();
    try { progress({ desc: "x" } as never); } catch (error) { console.error(String(error)); }
  `);
  expect(stderr).toContain("stream: 3 rows");
  expect(stderr).toContain("set: 100 %");
  expect(stderr).toContain("task here: 100 %");
  expect(stderr).toContain("it is description");
  expect(exitCode).toBe(0);
});
