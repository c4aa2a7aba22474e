/** An experiment whose storage is S3, on a server that others have written: a driver that is killed, the run that goes on, and what is read from there. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { init, python, shutdown } from "shoal";
import { Result, Tuner } from "shoal/tune";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readWhole } from "../../src/storage/read-file.ts";
import { folderNames } from "../../src/storage/listing/folders.ts";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { S3Server } from "./s3-servers.ts";

const RUN = "s3://bucket/runs/killed";
const DIST = pathToFileURL(join(REPOSITORY, "dist", "tune", "index.js")).href;
let server: S3Server;
let folder: string;

beforeAll(async () => {
  server = await S3Server.start("s3rver", "bucket");
  folder = mkdtempSync(join(tmpdir(), "test-shoal-tune-s3-"));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** Counts to four with a checkpoint each: a module, which the driver and this test import. */
const COUNT = `
import { Checkpoint, getCheckpoint, report } from ${JSON.stringify(DIST)};
export const count = async ({ x, temporary }) => {
  const fs = process.getBuiltinModule("node:fs");
  const read = (path) => Number(fs.readFileSync(path + "/at", "utf8"));
  for (let at = Number((await getCheckpoint()?.asDirectory(read)) ?? 0) + 1; at <= 4; at += 1) {
    const own = fs.mkdtempSync(temporary);
    fs.writeFileSync(own + "/at", String(at));
    await report({ loss: x + 1 / at, at }, { checkpoint: Checkpoint.fromDirectory(own) });
  }
};
`;

test("a run in S3 goes on after its driver was killed, and is shown from there", { timeout: 100_000 }, async () => {
  const trainable = join(folder, "count.mjs");
  writeFileSync(trainable, COUNT);
  const { count } = (await import(trainable)) as { count: (config: { x: number }) => Promise<void> };
  const file = join(folder, "driver.mjs");
  writeFileSync(
    file,
    `
import { Tuner, uniform } from ${JSON.stringify(DIST)};
import { count } from "./count.mjs";
let reports = 0;
await new Tuner(count, {
  paramSpace: { x: uniform(0, 1), temporary: ${JSON.stringify(join(folder, "own-"))} },
  tuneConfig: { metric: "loss", mode: "min", numSamples: 6, seed: 1 },
  runConfig: {
    name: "killed",
    storagePath: "s3://bucket/runs",
    checkpointConfig: { numToKeep: 1 },
    callbacks: [{ onTrialResult: () => (reports += 1) === 9 && process.kill(process.pid, "SIGKILL") }],
  },
}).fit();
`,
  );
  const child = spawn(process.execPath, [file], { stdio: ["ignore", "ignore", "inherit"] });
  await once(child, "close");
  expect(child.signalCode).toBe("SIGKILL");
  expect(await Tuner.canRestore(RUN)).toBe(true);

  const shoal = (...words: string[]) => runProgram([join(REPOSITORY, "dist", "ops", "cli", "main.js"), "tune", ...words]);
  expect((await shoal("list-trials", RUN)).stdout).toMatch(/^s3:\/\/bucket\/runs\/killed: running, \d trials/);
  await init({ numCpus: 2, logToDriver: false });
  try {
    const results = await Tuner.restore(RUN, count).fit();
    expect(results.errors.map(({ message }) => message)).toEqual([]);
    expect(Array.from(results, ({ metrics, iterations }) => [metrics?.["at"], iterations])).toEqual(
      Array.from({ length: 6 }, () => [4, 4]),
    );
    const best = results.getBestResult();
    expect(best.path.startsWith(`${RUN}/`)).toBe(true);
    expect((await folderNames(best.path)).folders).toEqual(["checkpoint_000003"]);
    expect((await (await Result.fromPath(best.path)).metricsColumns())["at"]?.at(-1)).toBe(4);
    await results.writeReport("s3://bucket/report.html");
    expect(Buffer.from(await readWhole("s3://bucket/report.html")).toString()).toContain("6 trials, 0 failed");
  } finally {
    await shutdown();
  }
  const list = await shoal("list-trials", RUN);
  expect(list.stdout).toContain("finished, 6 trials (6 terminated)");
  const shown = await shoal("show", RUN, "00002", "--json");
  expect(JSON.parse(shown.stdout)).toMatchObject({ status: "terminated", metrics: { at: 4 } });
});

const MODEL = `
class Model:
    def setup(self, config): self.at = 0
    def step(self):
        if self.at == 2 and not self.loaded: raise ValueError("once")
        self.at += 1
        return {"at": self.at, "loaded": self.loaded, "done": self.at == 3}
    loaded = False
    def save_checkpoint(self, folder): open(folder + "/at", "w").write(str(self.at))
    def load_checkpoint(self, folder): self.at, self.loaded = int(open(folder + "/at").read()), True
`;

test("a class of Python that fails goes on from its checkpoint in S3", { timeout: 100_000 }, async () => {
  const file = join(folder, "model.py");
  writeFileSync(file, MODEL);
  await init({ numCpus: 2 });
  try {
    const results = await new Tuner(python.actor(file, "Model"), {
      runConfig: {
        name: "python-class",
        storagePath: "s3://bucket/runs",
        failureConfig: { maxFailures: 1 },
        checkpointConfig: { checkpointFrequency: 1 },
      },
    }).fit();
    expect(results.errors.map(({ message }) => message)).toEqual([]);
    expect(results.at(0)?.metrics).toMatchObject({ at: 3, loaded: true });
  } finally {
    await shutdown();
  }
});
