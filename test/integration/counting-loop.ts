/** A training loop that counts, with stops for the tests of faults: used by `train-faults.test.ts` and by the program that it starts. */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Checkpoint, getAllReportedCheckpoints, getCheckpoint, getContext, report } from "shoal/train";

export interface CountConfig {
  /** Where ranks leave their process ids and wait for the test. */
  readonly root: string;
  readonly steps: number;
  /** At this step, of a run that did not go on from a checkpoint, a file `go` is waited for. */
  readonly waitsAt?: number;
  /** Ranks that throw at step 1 of a run that did not go on from a checkpoint. */
  readonly throws?: readonly number[];
  /** Goes on, beyond its steps, until there are as many ranks. */
  readonly untilRanks?: number;
}

/** Counts steps, one checkpoint each, and goes on from the last one. */
export async function count({ root, steps, waitsAt, throws = [], untilRanks = 0 }: CountConfig): Promise<void> {
  const { worldRank, worldSize, attempt } = getContext();
  const before = getCheckpoint();
  const read = (path: string): number => (JSON.parse(readFileSync(join(path, "step.json"), "utf8")) as { step: number }).step;
  const start = before === undefined ? 0 : (await before.asDirectory(read)) + 1;
  const reported = getAllReportedCheckpoints().length;
  if (reported !== start) throw new Error(`${start} checkpoints were kept, and ${reported} are known`);
  writeFileSync(join(root, `pid-${attempt}-${worldRank}`), String(process.pid));
  // Attempts report at least once, so that the last report is the last attempt's.
  const goesOn = (step: number): boolean => step < steps || step === start || worldSize < untilRanks;
  for (let step = start; goesOn(step); step += 1) {
    if (step >= steps) await new Promise((resolve) => setTimeout(resolve, 10));
    if (start === 0 && step === waitsAt) {
      writeFileSync(join(root, `waits-${worldRank}`), "");
      while (!existsSync(join(root, "go"))) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (start === 0 && step === 1 && throws.includes(worldRank)) throw new RangeError(`rank ${worldRank} throws`);
    const own = mkdtempSync(join(root, "own-"));
    writeFileSync(join(own, "step.json"), JSON.stringify({ step }));
    const checkpoint = worldRank === 0 ? Checkpoint.fromDirectory(own) : undefined;
    await report({ step, start, attempt, worldSize }, { checkpoint, deleteLocalCheckpointAfterUpload: true });
  }
}
