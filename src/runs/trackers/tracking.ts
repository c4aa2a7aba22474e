/**
 * Passes the reports of a run to its trackers, without the run ever waiting for them.
 *
 * Results gather for a moment and go to each tracker in one call. A tracker that cannot keep up loses the oldest results in its queue.
 * While the storage fails, results wait; a tracker that throws another error is not called again. `onProblem` reports each once; the run
 * itself continues unchanged.
 */
import { Fifo } from "../../core/internal.ts";
import { StorageError } from "../../storage/errors.ts";
import { TRACKED_EVERY_MS, TRACKED_RESULTS_MAX, TRACKED_RETRY_MS } from "../limits.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { retryStorage, type StorageRetries } from "../folder/storage-retries.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "./tracker.ts";

interface TrackingOptions {
  readonly trackers: readonly Tracker[];
  readonly run: TrackedRunInfo;
  /** Reports that `tracker` could not write, because of `error`. */
  readonly onProblem: (problem: { readonly tracker: string; readonly error: Error }) => void;
}

export class Tracking {
  readonly #lanes: readonly TrackerLane[];

  constructor({ trackers, run, onProblem }: TrackingOptions) {
    this.#lanes = trackers.map((tracker) => new TrackerLane(tracker, run, (error) => onProblem({ tracker: tracker.name, error })));
  }

  /** The run has reported. Returns at once. */
  log(metrics: Metrics): void {
    for (const lane of this.#lanes) lane.log(metrics);
  }

  /** Passes on gathered results, without waiting for more. Resolves when each tracker has them, has failed, or waits for its storage. */
  async flush(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.flush()));
  }

  /**
   * Writes the remaining results, and ends the trackers. `retries`: how long to wait for a failing storage; by default it is tried once
   * more.
   */
  async close(state: "finished" | "failed", retries: StorageRetries = ONCE): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.close(state, retries)));
  }
}

const ONCE: StorageRetries = { untilMs: 0, signal: new AbortController().signal };

/** The queue of a tracker. */
class TrackerLane {
  readonly #onProblem: (error: Error) => void;
  readonly #tracker: Tracker;
  readonly #info: TrackedRunInfo;
  #run: Promise<TrackedRun> | undefined;
  readonly #queue = new Fifo<Metrics>();
  /** Results of a failed call, which is repeated. */
  #unwritten: Metrics[] = [];
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> = Promise.resolve();
  #hasFailed = false;
  /** Error of the storage at the last write, while it takes nothing. */
  #outage: Error | undefined;
  #isClosing = false;

  constructor(tracker: Tracker, info: TrackedRunInfo, onProblem: (error: Error) => void) {
    this.#tracker = tracker;
    this.#info = info;
    this.#onProblem = onProblem;
  }

  log(metrics: Metrics): void {
    if (this.#hasFailed) return;
    this.#queue.push(metrics);
    if (this.#queue.size > TRACKED_RESULTS_MAX) {
      this.#queue.shift();
      this.#lost += 1;
    }
    this.#timer ??= setTimeout(() => this.#begin(), this.#outage === undefined ? TRACKED_EVERY_MS : TRACKED_RETRY_MS);
  }

  flush(): Promise<void> {
    if (this.#outage === undefined) this.#begin();
    return this.#work;
  }

  async close(state: "finished" | "failed", retries: StorageRetries): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    await this.#work;
    const whileAway = (action: () => Promise<void>): Promise<void> =>
      this.#trying(() => retryStorage(action, retries, (error) => this.#storageIsAway(error)));
    await whileAway(() => this.#write());
    const left = this.#unwritten.length + this.#queue.size;
    await whileAway(async () => {
      await (await this.#opened()).close(state);
      if (left === 0) this.#outage = undefined;
    });
    if (this.#outage !== undefined)
      this.#onProblem(left > 0 ? new Error(`${left} results were not written: ${this.#outage.message}`) : this.#outage);
    if (this.#lost > 0)
      this.#onProblem(
        new Error(
          `the oldest ${this.#lost} results that waited were left out: ${TRACKED_RESULTS_MAX} wait at most, and it was slower than the reports`,
        ),
      );
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#work = this.#work.then(() => this.#trying(() => this.#write()));
  }

  async #write(): Promise<void> {
    if (this.#unwritten.length + this.#queue.size === 0) return;
    const run = await this.#opened();
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) this.#unwritten.push(next);
    const over = this.#unwritten.length - TRACKED_RESULTS_MAX;
    if (over > 0) {
      this.#unwritten.splice(0, over);
      this.#lost += over;
    }
    await run.log(this.#unwritten);
    this.#unwritten = [];
    this.#outage = undefined;
  }

  #opened(): Promise<TrackedRun> {
    this.#run ??= (async () => this.#tracker.open(this.#info))();
    // Opened again where the storage was away.
    this.#run.catch(() => (this.#run = undefined));
    return this.#run;
  }

  async #trying(action: () => Promise<void>): Promise<void> {
    if (this.#hasFailed) return;
    try {
      await action();
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      if (error instanceof StorageError) {
        if (this.#isClosing) this.#outage = error;
        else this.#waitForStorage(error);
        return;
      }
      this.#hasFailed = true;
      this.#unwritten = [];
      while (this.#queue.shift() !== undefined);
      this.#onProblem(error);
    }
  }

  #waitForStorage(error: StorageError): void {
    this.#storageIsAway(error);
    this.#timer ??= setTimeout(() => this.#begin(), TRACKED_RETRY_MS);
  }

  #storageIsAway(error: Error): void {
    if (this.#outage === undefined) this.#onProblem(new Error(`${error.message}: its results wait until that can be written`));
    this.#outage = error;
  }
}
