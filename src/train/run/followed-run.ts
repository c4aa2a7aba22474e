/**
 * A run outside Tune, with its observers: logs, trackers, callbacks, and the lines on the terminal.
 *
 * Made by `fit`. Trackers never hold the ranks up; callbacks do, and an error that they throw ends the run.
 * The contents of `Result` come from here: the last report of rank 0, and the checkpoints that were kept.
 */
import { processBoard, type ShownWork, showsProgress } from "../../progress/progress-board.ts";
import { JsonLoggerCallback, lastWrittenResult } from "../../runs/trackers/files/json-lines-tracker.ts";
import type { Metrics } from "../../runs/metrics/metrics.ts";
import { durationText, metricsLine } from "../../runs/metrics/progress-lines.ts";
import { Result } from "../../runs/result.ts";
import type { ResolvedRunConfig } from "../../runs/run-config.ts";
import { retryStorage, type StorageRetries } from "../../runs/folder/storage-retries.ts";
import { isTracker, type Tracker } from "../../runs/trackers/tracker.ts";
import { Tracking } from "../../runs/trackers/tracking.ts";
import { schemeOf } from "../../storage/paths.ts";
import { uploadSchedule } from "../../storage/appending/upload-schedule.ts";
import type { TrainCallback } from "./callbacks.ts";
import { callbackFailed, trainingFailed } from "../errors.ts";
import { SENT_ALONG_MS, STORAGE_RETRY_MS } from "../limits.ts";
import type { RankFailure } from "../ranks/rank-failure.ts";
import { RankLogs } from "../ranks/rank-logs.ts";
import { RunMessages } from "./run-messages.ts";
import { RunStore } from "./run-store.ts";
import type { RecordedReport, RunObserver, TrainingRun } from "./training-run.ts";
import { logSource } from "../group/worker-group.ts";

interface FollowedRunOptions {
  readonly name: string;
  readonly folder: string;
  readonly runConfig: ResolvedRunConfig<TrainCallback | Tracker>;
  readonly isResumed: boolean;
  readonly signal: AbortSignal;
  /** The time for rows and logs to be sent along with a checkpoint. Default: `SENT_ALONG_MS`. */
  readonly sentAlongMs?: number;
}

export class FollowedRun implements ShownWork {
  readonly #options: FollowedRunOptions;
  readonly #store: RunStore;
  readonly #messages: RunMessages;
  readonly #startedMs = Date.now();
  #lastMs = Date.now();
  #iterations = 0;
  #attempt = 0;
  /** The deadline for all that is written at the end of the run while its storage fails. Only a run that succeeded waits, as its checkpoints did. */
  #retries: StorageRetries;
  /** Last reported metrics, by rank; an empty object before a rank's first report. */
  #ranks: Metrics[] = [];

  constructor(options: FollowedRunOptions) {
    this.#options = options;
    const { folder, runConfig, signal } = options;
    this.#retries = { untilMs: 0, signal };
    this.#messages = new RunMessages(runConfig.logLevel);
    this.#store = new RunStore({ folder, checkpointConfig: runConfig.checkpointConfig, warn: (text) => this.#messages.warn(text), signal });
  }

  kept(): string {
    const { newest } = this.#store;
    const way = "fit with the same name and storagePath";
    return newest === undefined ? `it has no checkpoint, and begins anew with ${way}` : `${way} goes on from ${newest.path}`;
  }

  async follow<M extends object>(newRun: (observer: RunObserver, store: RunStore) => TrainingRun, config: unknown): Promise<Result<M>> {
    const { name, folder, runConfig, isResumed } = this.#options;
    const callbacks = runConfig.callbacks.filter((each): each is TrainCallback => !isTracker(each));
    const trackers = [new JsonLoggerCallback(), ...runConfig.callbacks.filter(isTracker)];
    await this.#open();
    const warn = (text: string): void => this.#messages.warn(text);
    const logs = new RankLogs(folder, warn);
    const trackedConfig = trackable(config);
    const tracking = new Tracking({
      trackers,
      run: { id: name, name, experimentName: name, folder, config: trackedConfig, isResumed },
      onProblem: ({ tracker, error }) => warn(`${tracker} of the training run ${name} does not work: ${error.message}`),
    });
    const endWatch = uploadSchedule.watch(folder, warn);
    const tell = async (method: keyof TrainCallback, call: (callback: TrainCallback) => void | Promise<void>): Promise<void> => {
      try {
        for (const callback of callbacks) await call(callback);
      } catch (error) {
        throw callbackFailed(name, method, error);
      }
    };
    /** Failures of the attempt before. */
    let failures: readonly RankFailure[] | undefined;
    const observer: RunObserver = {
      started: (attempt, workers) => {
        const from = this.#store.newest?.path ?? "its beginning";
        if (failures !== undefined)
          warn(`${trainingFailed(name, failures, attempt - 1).message}; it goes on in attempt ${attempt} from ${from}`);
        else this.#messages.info(`training run ${name}: attempt ${attempt} has ${workers} ranks, and goes on from ${from}`);
        failures = undefined;
        this.#attempt = attempt;
        this.#ranks = Array.from({ length: workers }, () => ({}));
        for (let rank = 0; rank < workers; rank += 1) logs.take(rank, logSource(rank, name));
      },
      reported: async (report) => {
        this.#ranks = [...report.metrics];
        tracking.log(this.#row(report));
        if (report.checkpoint !== undefined) {
          await this.#sendAlong([tracking, logs]);
          this.#messages.info(`training run ${name}: checkpoint ${report.checkpoint.path} is stored`);
        }
        await tell("afterReport", (callback) => callback.afterReport?.({ runName: name, ...report }));
        return "continue";
      },
      failed: async (newFailures) => {
        failures = newFailures;
        const workerFailures = new Map(newFailures.flatMap(({ rank, error }) => (rank === undefined ? [] : [[rank, error] as const])));
        await tell("afterException", (callback) => callback.afterException?.({ runName: name, workerFailures }));
      },
      warn,
    };
    let state: "finished" | "failed" = "failed";
    const hide = showsProgress(undefined) ? processBoard().begin(this) : undefined;
    try {
      const { metrics, checkpoint, values } = await newRun(observer, this.#store).run();
      state = "finished";
      this.#retries = { ...this.#retries, untilMs: performance.now() + STORAGE_RETRY_MS };
      return new Result<M>({
        path: folder,
        metrics: metrics as M,
        checkpoint,
        returnValue: values[0],
        bestCheckpoints: this.#store.all as never,
        config: trackedConfig,
      });
    } finally {
      hide?.(state === "finished" ? "done" : this.#options.signal.aborted ? "stopped" : "failed");
      endWatch();
      await Promise.all([tracking.close(state, this.#retries), logs.close(this.#retries)]);
    }
  }

  /** Rows of a run that goes on are counted after those of the driver that was killed. */
  async #open(): Promise<void> {
    const { folder, isResumed } = this.#options;
    await this.#store.open();
    if (isResumed) this.#iterations = Number((await lastWrittenResult(folder))?.["training_iteration"] ?? 0);
  }

  /**
   * Writes the rows up to a stored checkpoint: a killed driver would lose them, and its successor begins after the checkpoint. On S3 the
   * run's files are sent, too. Does not wait for a slow tracker.
   */
  async #sendAlong(written: readonly { flush(): Promise<void> }[]): Promise<void> {
    const { folder, sentAlongMs = SENT_ALONG_MS } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, sentAlongMs)));
    await Promise.race([Promise.all(written.map((each) => each.flush())), late]);
    if (schemeOf(folder) !== "file") await Promise.race([uploadSchedule.sendNow(folder), late]);
    clearTimeout(timer);
  }

  /** Writes that the run has finished. @throws StorageError; the reason of an abort where the last try fails, too */
  async finish(write: () => Promise<void>): Promise<void> {
    const { name } = this.#options;
    const warn = ({ message }: Error): void =>
      this.#messages.warn(`cannot write that the training run ${name} has finished, trying again: ${message}`);
    await retryStorage(write, this.#retries, warn).catch((error: unknown) => {
      this.#retries.signal.throwIfAborted();
      throw error;
    });
  }

  /** A line a rank. */
  lines(): readonly string[] {
    const { name } = this.#options;
    const attempt = this.#attempt > 1 ? `, attempt ${this.#attempt}` : "";
    if (this.#ranks.length === 0) return [`${name}: waits for its ranks`];
    return this.#ranks.map((metrics, rank) => {
      const line = metricsLine(metrics);
      return `${name}${attempt}: rank ${rank}  ${line === "" ? "has not reported" : `report ${this.#iterations}  ${line}`}`;
    });
  }

  summary(outcome: "done" | "stopped" | "failed", ms: number): string {
    const line = metricsLine(this.#ranks[0] ?? {});
    return `${this.#options.name}: ${outcome} in ${durationText(ms)}, ${this.#iterations} reports${line === "" ? "" : `, ${line}`}`;
  }

  /** A report with the automatic metrics that every result has. */
  #row({ metrics, checkpoint }: RecordedReport): Metrics {
    const now = Date.now();
    this.#iterations += 1;
    const row: Metrics = {
      ...metrics[0],
      trainingIteration: this.#iterations,
      timestampMs: now,
      timeThisIterMs: now - this.#lastMs,
      timeTotalMs: now - this.#startedMs,
      ...(checkpoint === undefined ? {} : { checkpointDirName: checkpoint.path.slice(checkpoint.path.lastIndexOf("/") + 1) }),
    };
    this.#lastMs = now;
    return row;
  }
}

/** A configuration as files have it: what JSON cannot hold, such as functions, is left out. */
function trackable(config: unknown): Metrics {
  try {
    return (JSON.parse(JSON.stringify(config ?? {})) ?? {}) as Metrics;
  } catch {
    return {};
  }
}
