/**
 * The metrics that are added to every result, and their two spellings: TypeScript's in programs, Ray's in files, so that tools for Ray's files read ours.
 *
 * Times in files are seconds. All other metrics keep their names.
 */
import type { JsonValue, Metrics } from "./metrics.ts";

interface Spelling {
  /** In files. */
  readonly file: string;
  /** In files the number is smaller by this. */
  readonly divisor?: number;
}

const SPELLINGS: Readonly<Record<string, Spelling>> = {
  trainingIteration: { file: "training_iteration" },
  timeThisIterMs: { file: "time_this_iter_s", divisor: 1000 },
  timeTotalMs: { file: "time_total_s", divisor: 1000 },
  timeSinceRestoreMs: { file: "time_since_restore", divisor: 1000 },
  iterationsSinceRestore: { file: "iterations_since_restore" },
  timestampMs: { file: "timestamp", divisor: 1000 },
  trialId: { file: "trial_id" },
  experimentTag: { file: "experiment_tag" },
  nodeIp: { file: "node_ip" },
  checkpointDirName: { file: "checkpoint_dir_name" },
  shouldCheckpoint: { file: "should_checkpoint" },
};

const BY_FILE: ReadonlyMap<string, readonly [name: string, divisor: number]> = new Map(
  Object.entries(SPELLINGS).map(([name, { file, divisor = 1 }]) => [file, [name, divisor]]),
);

/** Metrics as files have them. */
export function toFileNames(metrics: Metrics): Metrics {
  return renamed(metrics, (name, value) => {
    const spelling = Object.hasOwn(SPELLINGS, name) ? SPELLINGS[name] : undefined;
    if (spelling === undefined) return [name, value];
    const { file, divisor = 1 } = spelling;
    return [file, typeof value === "number" && divisor !== 1 ? value / divisor : value];
  });
}

/** Metrics of a file as programs have them. */
export function fromFileNames(metrics: Metrics): Metrics {
  return renamed(metrics, (file, value) => {
    const [name, factor] = BY_FILE.get(file) ?? [file, 1];
    return [name, typeof value === "number" && factor !== 1 ? Math.round(value * factor * 1000) / 1000 : value];
  });
}

function renamed(metrics: Metrics, rename: (name: string, value: JsonValue) => [string, JsonValue]): Metrics {
  return Object.fromEntries(Object.entries(metrics).map(([name, value]) => rename(name, value)));
}
