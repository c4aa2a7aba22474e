/**
 * `npm run test:learning [-- --seed N] [--only TITLE] [--report]`: whether algorithms learn, with three seeds, of which two must reach the goal; with one seed, that one must.
 *
 * Prints the curve of each run; `--report` writes them into `docs/rl-results.md`. Times are shown and decide nothing.
 */
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { shutdown } from "shoal";
import { type RunResult, writeReport } from "./report.ts";
import { learn, LEARNING_RUNS } from "./runs.ts";

const {
  seed,
  only,
  report = false,
} = parseArgs({ options: { seed: { type: "string" }, only: { type: "string" }, report: { type: "boolean" } } }).values;
const seeds = seed === undefined ? [1, 2, 3] : [Number(seed)];
if (!seeds.every(Number.isSafeInteger)) {
  console.error(`Cannot run: --seed is a whole number: received ${JSON.stringify(seed)}`);
  process.exit(2);
}
const chosen = LEARNING_RUNS.filter(({ title }) => title.includes(only ?? ""));
if (chosen.length === 0) {
  console.error(
    `Cannot run: --only is a part of a title: received ${JSON.stringify(only)}. There are ${LEARNING_RUNS.map(({ title }) => title).join(", ")}`,
  );
  process.exit(2);
}
const needed = Math.min(2, seeds.length);
const results: RunResult[] = [];
let [passed, failed] = [0, 0];
for (const run of chosen) {
  let reached = 0;
  for (const each of seeds) {
    const begunAt = performance.now();
    const { evaluated, curve } = await learn(run, run.full, each);
    const isGood = evaluated >= run.full.evaluation;
    if (isGood) reached += 1;
    const seconds = (performance.now() - begunAt) / 1000;
    results.push({ title: run.title, seed: each, goal: run.full.evaluation, evaluated, seconds, curve });
    const [steps] = curve.at(-1) ?? [0];
    console.log(
      `${run.title}, seed ${each}: evaluation ${evaluated.toFixed(1)} after ${steps} steps (goal: ${run.full.evaluation}), ${seconds.toFixed(1)} s`,
    );
    console.log(`  ${curve.map(([at, mean]) => `${at}: ${mean?.toFixed(0) ?? "-"}`).join(", ")}`);
  }
  if (reached >= needed) passed += 1;
  else failed += 1;
}
if (report)
  writeReport(results, {
    command: `npm run test:learning -- ${seed === undefined ? "" : `--seed ${seed} `}--report`,
    folder: fileURLToPath(new URL("../../docs", import.meta.url)),
  });
console.log(`${passed} passed, ${failed} failed`);
await shutdown();
process.exitCode = failed === 0 ? 0 : 1;
