/**
 * The result of a run or a trial: its last metrics, its checkpoints, its error.
 *
 * Train and Tune make a result from their state; `Result.fromPath` makes the same result from the files of a folder. Histories stay in the
 * files until they are requested, so ten thousand results take little memory.
 */
import { describeValue } from "../core/internal.ts";
import { joinPath, shownPath } from "../storage/paths.ts";
import { resolveFolder } from "../storage/places.ts";
import { readTextIfThere } from "../storage/read-file.ts";
import { fromFileNames } from "./metrics/automatic-metrics.ts";
import type { Checkpoint } from "./checkpoints/checkpoint.ts";
import { listCheckpoints } from "./checkpoints/stored-checkpoints.ts";
import { RunError } from "./errors.ts";
import { PARAMS_FILE, RESULT_FILE } from "./trackers/files/json-lines-tracker.ts";
import { metricAt } from "./checkpoints/kept-checkpoints.ts";
import { flatMetrics, type JsonValue, type Metrics, parseMetrics } from "./metrics/metrics.ts";
import { readRunError } from "./folder/run-error-file.ts";

export interface BestCheckpoint<M extends object = Metrics> {
  readonly checkpoint: Checkpoint;
  readonly metrics: M;
}

interface ResultFacts<M extends object = Metrics> {
  readonly path: string;
  readonly metrics: M | undefined;
  readonly checkpoint?: Checkpoint | undefined;
  readonly error?: Error | undefined;
  readonly returnValue?: unknown;
  readonly bestCheckpoints?: readonly BestCheckpoint<M>[];
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

export class Result<M extends object = Metrics> {
  /** The folder of the run, or of the trial. */
  readonly path: string;
  /** The last report; undefined where nothing was reported. */
  readonly metrics: M | undefined;
  /** The newest checkpoint. */
  readonly checkpoint: Checkpoint | undefined;
  /** The error that ended the run; undefined where the run did not fail. */
  readonly error: Error | undefined;
  /** The value that the loop of rank 0 returned; undefined for trials, and where the result was read from its folder. */
  readonly returnValue: unknown;
  /** The checkpoints that were kept, with the metrics that were reported with them, in order of their completion. */
  readonly bestCheckpoints: readonly BestCheckpoint<M>[];
  readonly config: Readonly<Record<string, unknown>> | undefined;

  constructor({ path, metrics, checkpoint, error, returnValue, bestCheckpoints = [], config }: ResultFacts<M>) {
    this.path = path;
    this.metrics = metrics;
    this.checkpoint = checkpoint;
    this.error = error;
    this.returnValue = returnValue;
    this.bestCheckpoints = bestCheckpoints;
    this.config = config;
  }

  /**
   * Reads the result of a run, or of a trial, from its folder.
   *
   * @throws RunError if the folder holds none
   */
  static async fromPath<M extends object = Metrics>(path: string): Promise<Result<M>> {
    if (typeof path !== "string" || path === "")
      throw new TypeError(`Cannot read a result: the path of a run's folder is needed: received ${describeValue(path)}`);
    return await readResult<M>(await resolveFolder(path));
  }

  /**
   * The kept checkpoint with the best metrics; undefined if none has the metric.
   *
   * @throws TypeError, RangeError for an invalid metric or mode
   */
  getBestCheckpoint(metric: string, mode: "max" | "min"): Checkpoint | undefined {
    if (typeof metric !== "string")
      throw new TypeError(`Cannot find the best checkpoint: the name of a metric is needed: received ${describeValue(metric)}`);
    if (mode !== "max" && mode !== "min")
      throw new RangeError(`Cannot find the best checkpoint: the mode is "max" or "min": received ${describeValue(mode)}`);
    let best: { readonly checkpoint: Checkpoint; readonly score: number } | undefined;
    for (const { checkpoint, metrics } of this.bestCheckpoints) {
      const value = metricAt(metrics as unknown as Metrics, metric);
      if (typeof value !== "number" || Number.isNaN(value)) continue;
      const score = mode === "max" ? value : -value;
      if (best === undefined || score > best.score) best = { checkpoint, score };
    }
    return best?.checkpoint;
  }

  /**
   * All that was reported, as columns: one row a report, null where a report lacked a metric. Nested metrics are columns such as `eval/loss`.
   *
   * @throws RunError where the run's `result.json` is not there or is damaged
   */
  async metricsColumns(): Promise<Record<string, JsonValue[]>> {
    const rows = await readRows(this.path);
    if (rows === undefined) throw new RunError(`Cannot read the metrics of ${shownPath(this.path)}: there is no ${RESULT_FILE}`);
    const columns = new Map<string, JsonValue[]>();
    for (const [i, row] of rows.entries()) {
      for (const [name, value] of flatMetrics(row)) {
        let column = columns.get(name);
        if (column === undefined) columns.set(name, (column = new Array<JsonValue>(i).fill(null)));
        while (column.length < i) column.push(null);
        column.push(value);
      }
    }
    for (const column of columns.values()) while (column.length < rows.length) column.push(null);
    return Object.fromEntries(columns);
  }
}

/** Outside of the class, which does not name itself: the bundler would give it another name. */
async function readResult<M extends object>(folder: string): Promise<Result<M>> {
  const [rows, config, stored, error] = await Promise.all([
    readRows(folder),
    readParams(folder),
    listCheckpoints(folder),
    readRunError(folder),
  ]);
  if (rows === undefined && stored.length === 0 && error === undefined)
    throw new RunError(`Cannot read a result: ${shownPath(folder)} holds neither ${RESULT_FILE} nor checkpoints`, {
      hint: "name the folder of one run of Train, or of one trial of Tune: the folders are below storagePath, by the runs' names",
    });
  const bestCheckpoints = stored.map(({ checkpoint, metrics }) => ({ checkpoint, metrics: metrics as M }));
  return new Result<M>({
    path: folder,
    metrics: rows?.at(-1) as M | undefined,
    checkpoint: bestCheckpoints.at(-1)?.checkpoint,
    error,
    bestCheckpoints,
    config,
  });
}

/** The reports in order; undefined without a file. An incomplete last line does not count. */
async function readRows(folder: string): Promise<Metrics[] | undefined> {
  const path = joinPath(folder, RESULT_FILE);
  const lines = (await readTextIfThere(path))?.split("\n");
  if (lines === undefined) return undefined;
  const torn = lines.pop();
  if (torn !== undefined && torn !== "" && isWhole(torn)) lines.push(torn);
  return lines.filter((line) => line.trim() !== "").map((line, i) => readRow(line, { path, number: i + 1 }));
}

function readRow(line: string, { path, number }: { path: string; number: number }): Metrics {
  try {
    return fromFileNames(parseMetrics(line) as Metrics);
  } catch (cause) {
    throw new RunError(`Cannot read the metrics of a run: line ${number} of ${shownPath(path)} is damaged`, { cause });
  }
}

function isWhole(line: string): boolean {
  try {
    parseMetrics(line);
    return true;
  } catch {
    return false;
  }
}

async function readParams(folder: string): Promise<Metrics | undefined> {
  const path = joinPath(folder, PARAMS_FILE);
  const text = await readTextIfThere(path);
  if (text === undefined) return undefined;
  try {
    return parseMetrics(text) as Metrics;
  } catch (cause) {
    throw new RunError(`Cannot read the configuration of a run: ${shownPath(path)} is damaged`, { cause });
  }
}
