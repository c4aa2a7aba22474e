/**
 * Writes checkpoints until it is killed. All files of a checkpoint hold one letter, so that a mixed or half-written one shows. Prints the
 * number of each complete checkpoint on a line.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  checkpointName,
  completeCheckpoint,
  listCheckpoints,
  persistCheckpoint,
  removeCheckpoint,
  removeUnfinishedCheckpoints,
} from "../../src/runs/checkpoints/stored-checkpoints.ts";
import { KeptCheckpoints } from "../../src/runs/checkpoints/kept-checkpoints.ts";

const [run = "", local = ""] = process.argv.slice(2);
await removeUnfinishedCheckpoints(run);
const stored = await listCheckpoints(run);
const kept = new KeptCheckpoints({ numToKeep: 2 });
for (const { checkpoint, metrics } of stored) kept.register({ path: checkpoint.path, metrics });
for (let index = stored.reduce((next, { metrics }) => Math.max(next, Number(metrics["index"]) + 1), 0); ; index += 1) {
  const to = join(run, checkpointName(index));
  const parts = await Promise.all(
    [0, 1].map((rank) => {
      const from = join(local, `${index}-${rank}`);
      mkdirSync(from, { recursive: true });
      for (const file of [0, 1, 2])
        writeFileSync(join(from, `rank-${rank}-${file}.bin`), String.fromCharCode(97 + (index % 26)).repeat(400_000));
      return persistCheckpoint({ from, to, rank, hasOthers: true });
    }),
  );
  const { path } = await completeCheckpoint({ to, parts, metrics: { index } });
  process.stdout.write(`${index}\n`);
  for (const { path: old } of kept.register({ path, metrics: { index } })) await removeCheckpoint({ path: old });
}
