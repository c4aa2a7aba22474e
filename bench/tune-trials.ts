/** Experiments of trivial trials, for the figures of Tune: a function of one float that reports once. `ray/tune_trials.py` is the twin. Owns the runs' folder, which goes with it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ResultGrid, Tuner, type TuneConfig, uniform } from "shoal/tune";

interface TrialsRun {
  readonly trials: number;
  readonly tuneConfig?: TuneConfig;
}

/** Runs an experiment. @returns how long `fit` took, and what `use` gives */
export async function runTrials<T>(
  { trials, tuneConfig }: TrialsRun,
  use: (results: ResultGrid<{ x: number }>) => T,
): Promise<{ ms: number; value: T }> {
  const storagePath = mkdtempSync(join(tmpdir(), "shoal-bench-tune-"));
  try {
    const tuner = new Tuner((config: { x: number }) => ({ loss: config.x * config.x }), {
      paramSpace: { x: uniform(-1, 1) },
      tuneConfig: { metric: "loss", mode: "min", numSamples: trials, ...tuneConfig },
      runConfig: { storagePath, name: "trials" },
    });
    const startedMs = performance.now();
    const results = await tuner.fit();
    const ms = performance.now() - startedMs;
    if (results.length !== trials || results.numErrors > 0)
      throw new Error(`${results.length} of ${trials} trials ended, ${results.numErrors} failed: ${results.errors[0]}`);
    return { ms, value: use(results) };
  } finally {
    rmSync(storagePath, { recursive: true, force: true });
  }
}
