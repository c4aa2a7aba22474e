/**
 * The closure matrix under each way of running TypeScript: every case of `matrix/` in a separate program, on a real worker process.
 *
 * One test for a loader; a failure lists the wrong cases, each with the received text. Node 22 and 26 run it where the repository's
 * toolchain has them.
 */
import fs from "node:fs/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { nodeBinary } from "../../scripts/setup.mjs";
import { type LoaderName, outcomesOf, prepare, temporaryFolder } from "./loaders.ts";

// The programs share nothing but the folder for compiled files.
vi.setConfig({ maxConcurrency: 2 });

/** Fewer would mean that some theme was not loaded. */
const CASES_MIN = 120;

let folder: string;

beforeAll(async () => {
  folder = await temporaryFolder();
});

afterAll(async () => {
  await fs.rm(folder, { recursive: true, force: true });
});

async function expectAllRight(loader: LoaderName, node: string, casesMin = CASES_MIN): Promise<void> {
  const { outcomes, output } = await outcomesOf(await prepare(loader, folder), node);
  const wrong = outcomes.filter(({ isRight }) => !isRight).map(({ name, received }) => `${name}: ${received}`);
  expect(wrong, output).toEqual([]);
  expect(outcomes.length, output).toBeGreaterThan(casesMin);
}

const LOADERS: readonly LoaderName[] = ["type stripping", "tsx, ES modules", "tsx, CommonJS", "tsc, ES modules", "tsc, CommonJS"];
test.concurrent.each(LOADERS)("every case works with %s", { timeout: 120_000 }, (loader) => expectAllRight(loader, nodeBinary(24)));

const DECORATORS: readonly LoaderName[] = [
  "tsx, standard decorators",
  "tsc, standard decorators",
  "tsc for older engines, standard decorators",
];
test.concurrent.each(DECORATORS)("every case works with %s", { timeout: 120_000 }, (loader) => expectAllRight(loader, nodeBinary(24), 6));

test.concurrent.each([22, 26])("every case works with type stripping on Node %d", { timeout: 240_000 }, (major) =>
  expectAllRight("type stripping", nodeBinary(major)),
);
