/**
 * The file that makes a folder of files a complete checkpoint. The record is written last, in one step: a folder without a record belongs to a writer that died.
 *
 * The record lists the files and holds the metrics that were reported with them, so a run's folder alone describes its checkpoints. The
 * record stays in the run's storage: copies of a checkpoint do not have it.
 */
import { shownPath } from "../../storage/paths.ts";
import { RunError } from "../errors.ts";
import { type Metrics, metricsText, parseMetrics } from "../metrics/metrics.ts";

export const CHECKPOINT_RECORD = ".checkpoint.json";

/**
 * Marks a checkpoint while its files are removed one by one: appears before the first is removed, and disappears after the last. So readers
 * can tell a half removed checkpoint from a whole folder that never had a record.
 */
export const REMOVAL_MARK = ".checkpoint.removed";

/** Whether a file is one of the checkpoint's contents, which copies have. */
export function isContent(name: string): boolean {
  return name !== CHECKPOINT_RECORD && name !== REMOVAL_MARK;
}

const FORMAT = "shoal-checkpoint";
const VERSION = 1;

export interface CheckpointRecord {
  /** Metrics that rank 0 reported with the checkpoint. */
  readonly metrics: Metrics;
  readonly files: readonly RecordedFile[];
  /** Milliseconds since 1970. */
  readonly completedAt: number;
}

interface RecordedFile {
  readonly name: string;
  readonly sizeBytes: number;
}

export function recordText({ metrics, files, completedAt }: CheckpointRecord): string {
  const rows = files.map(({ name, sizeBytes }) => ({ name, sizeBytes }));
  return `${metricsText({ format: FORMAT, version: VERSION, completedAt, metrics, files: rows })}\n`;
}

/** @throws RunError for a damaged or newer record, with the path of the checkpoint */
export function readRecord(text: string, path: string): CheckpointRecord {
  let parsed: unknown;
  try {
    parsed = parseMetrics(text);
  } catch (cause) {
    throw damaged(path, cause);
  }
  const { format, version, metrics, files, completedAt } = (parsed ?? {}) as Record<string, unknown>;
  if (format !== FORMAT || typeof version !== "number") throw damaged(path);
  if (version > VERSION)
    throw new RunError(
      `Cannot read the checkpoint ${shownPath(path)}: it is of version ${version}, and this Shoal reads up to ${VERSION}`,
      {
        hint: "read it with the version of Shoal that wrote it, or a newer one",
      },
    );
  if (typeof metrics !== "object" || metrics === null || !Array.isArray(files) || typeof completedAt !== "number") throw damaged(path);
  return { metrics: metrics as Metrics, files: files as RecordedFile[], completedAt };
}

function damaged(path: string, cause?: unknown): RunError {
  return new RunError(
    `Cannot read the checkpoint ${shownPath(path)}: its ${CHECKPOINT_RECORD} is damaged`,
    cause === undefined ? {} : { cause },
  );
}
