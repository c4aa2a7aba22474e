/**
 * The folders of trials and their contents: results by trackers, the error of a failed one.
 *
 * The loop calls and never waits; a trial's writes are queued behind each other.
 * Where writing is slower than trials end, `pressure` holds new ones back.
 */
import { messageOf } from "../../core/internal.ts";
import { removeRunError, writeRunError } from "../../runs/folder/run-error-file.ts";
import { Tracking } from "../../runs/trackers/tracking.ts";
import type { TrackedRunInfo, Tracker } from "../../runs/trackers/tracker.ts";
import { joinPath } from "../../storage/paths.ts";
import { makeFolder, removeFolder } from "../../storage/places.ts";
import { CAUGHT_UP_AT_A_TIME, TRIALS_WRITTEN_MAX } from "../limits.ts";
import type { Metrics, Trial, TrialResult } from "./trial.ts";

interface TrialFilesOptions {
  readonly experimentName: string;
  /** The run's folder. */
  readonly folder: string;
  readonly trackers: readonly Tracker[];
  readonly onProblem: (text: string) => void;
  /** Converts a configuration to JSON for trackers. */
  readonly shownConfig: (config: Trial["config"]) => Metrics;
  readonly dirnameOf: (trial: Trial) => string;
}

export class TrialFiles {
  readonly #options: TrialFilesOptions;
  readonly #open = new Map<string, Tracking>();
  /** Trials that have results in their files, from this session or an earlier one. */
  readonly #begun = new Set<string>();
  /** Trials of an earlier session that have not started in this one. */
  readonly #resumed = new Set<string>();
  #isRestored = false;
  /** Folders that are being made, or cleared, by their trials. */
  readonly #making = new Map<string, Promise<void>>();
  readonly #closing = new Set<Promise<void>>();
  readonly #problems = new Set<string>();

  constructor(options: TrialFilesOptions) {
    this.#options = options;
  }

  folderOf(trial: Trial): string {
    return joinPath(this.#options.folder, this.#options.dirnameOf(trial));
  }

  /**
   * The run continues. Folders of trials that do not `resume` are useless, such as those of an end without warning, and are removed when
   * these trials start.
   */
  restored(): void {
    this.#isRestored = true;
  }

  /** A trial of an earlier session continues: its files stay, except for an error file. */
  resume({ id }: Pick<Trial, "id">): void {
    this.#begun.add(id);
    this.#resumed.add(id);
  }

  /** Writes the results of an earlier session that its driver had logged, and was killed before its trackers wrote them. */
  async catchUp(results: ReadonlyMap<Trial, readonly TrialResult[]>): Promise<void> {
    const { trackers } = this.#options;
    const work = [...results].flatMap(([trial, ofTrial]) => trackers.map((tracker) => ({ trial, ofTrial, tracker })));
    for (let start = 0; start < work.length; start += CAUGHT_UP_AT_A_TIME) {
      const some = work.slice(start, start + CAUGHT_UP_AT_A_TIME).map(async ({ trial, ofTrial, tracker }) => {
        const run = { ...this.#runOf(trial), isResumed: true };
        await makeFolder(run.folder)
          .then(() => tracker.catchUp?.(run, ofTrial.map(metricsOf)))
          .catch((error: unknown) => this.#problem(tracker.name, `${tracker.name} of trial ${trial.id}: ${messageOf(error)}`));
      });
      await Promise.all(some);
    }
  }

  #runOf(trial: Trial): Omit<TrackedRunInfo, "isResumed"> {
    const { experimentName, shownConfig } = this.#options;
    const { id, name } = trial;
    return { id, name, experimentName, folder: this.folderOf(trial), config: shownConfig(trial.config) };
  }

  start(trial: Trial): void {
    if (this.#open.has(trial.id)) return;
    const folder = this.folderOf(trial);
    const isResumed = this.#begun.has(trial.id);
    const isCleared = this.#isRestored && !isResumed;
    const mayHaveFailed = this.#resumed.delete(trial.id);
    const cleared = isCleared ? removeFolder(folder) : mayHaveFailed ? removeRunError(folder) : Promise.resolve();
    const made = cleared.then(() => makeFolder(folder));
    const making = made
      // The trackers report the failure.
      .catch(() => {})
      .finally(() => this.#making.delete(trial.id));
    this.#making.set(trial.id, making);
    const { trackers } = this.#options;
    const after = trackers.map((tracker) => ({
      name: tracker.name,
      open: async (run: Parameters<Tracker["open"]>[0]) => (await made.catch(() => makeFolder(folder)), await tracker.open(run)),
    }));
    const run = { ...this.#runOf(trial), isResumed };
    this.#begun.add(trial.id);
    this.#open.set(
      trial.id,
      new Tracking({
        trackers: after,
        run,
        // A tracker that waits for the storage may have to tell later that it has waited in vain.
        onProblem: ({ tracker, error }) =>
          this.#problem(
            `${tracker}, ${this.#open.has(trial.id) ? "which runs" : "at its end"}`,
            `${tracker} of trial ${trial.id}: ${error.message}`,
          ),
      }),
    );
  }

  /** Resolves when the trial's folder is ready. A trial that began earlier would lose its files there together with the old ones. */
  async whenMade({ id }: Pick<Trial, "id">): Promise<void> {
    await this.#making.get(id);
  }

  log(trial: Trial, result: TrialResult): void {
    this.#open.get(trial.id)?.log(metricsOf(result));
  }

  /** A paused trial keeps no file open. */
  flush(trial: Trial): void {
    this.#finish(trial.id, async (tracking) => await tracking.close("finished"));
  }

  close(trial: Trial, error: Error | undefined): void {
    const folder = this.folderOf(trial);
    if (!this.#open.has(trial.id)) this.start(trial);
    this.#begun.delete(trial.id);
    this.#finish(trial.id, async (tracking) => {
      await tracking.close(error === undefined ? "finished" : "failed");
      if (error !== undefined) await makeFolder(folder).then(() => writeRunError(folder, error));
    });
  }

  /** Undefined while writing keeps up. */
  get pressure(): Promise<unknown> | undefined {
    return this.#closing.size > TRIALS_WRITTEN_MAX ? Promise.race(this.#closing) : undefined;
  }

  async closeAll(): Promise<void> {
    for (const id of this.#open.keys()) this.#finish(id, async (tracking) => await tracking.close("finished"));
    await Promise.all(this.#closing);
  }

  #finish(id: string, finish: (tracking: Tracking) => Promise<void>): void {
    const tracking = this.#open.get(id);
    if (tracking === undefined) return;
    this.#open.delete(id);
    const closing = finish(tracking)
      .catch((error: unknown) => this.#problem("files", `the files of trial ${id}: ${messageOf(error)}`))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** Reports once for each tracker: an error in one trial occurs in many. */
  #problem(key: string, text: string): void {
    if (this.#problems.has(key)) return;
    this.#problems.add(key);
    this.#options.onProblem(`cannot write ${text}`);
  }
}

/** Returns a result as trackers get it: a separate file has the configuration. */
function metricsOf(result: TrialResult): Metrics {
  const { config: _, ...metrics } = result;
  return metrics as unknown as Metrics;
}
