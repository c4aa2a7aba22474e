/**
 * A trial in its process: a function or a class of the user, run so that it computes only while its last report is answered.
 *
 * `FunctionTrial` and `ClassTrial` are the two kinds, behind one interface of two methods; `trial-actor.ts` makes them. Checkpoints are copied to their staging place here, where
 * their files are, and completed by the driver.
 */
import { describeValue, isPlainObject, isThenable, messageOf, newTemporaryFolder } from "../../core/internal.ts";
import { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import { checkpointName, persistCheckpoint } from "../../runs/checkpoints/stored-checkpoints.ts";
import { checkMetrics, type Metrics } from "../../runs/metrics/metrics.ts";
import { copyFolder } from "../../storage/listing/folders.ts";
import { removeFolder } from "../../storage/places.ts";
import { joinPath } from "../../storage/paths.ts";
import { EXPORT_FOLDER } from "../limits.ts";
import { openSession, type TrialSession } from "../session.ts";
import type { TrialResult } from "../trials/trial.ts";
import { ownPlace } from "../trials/trial-places.ts";
import type { ProcessAnswer, ProcessEvent, StagedCheckpoint, TrialSpec } from "./trial-protocol.ts";

/** An attempt of a trial, inside its process. */
export interface TrialLoop {
  /** The next thing that happens; `answer` answers the report before. Rejects with the error of the user's code. */
  next(answer: ProcessAnswer): Promise<ProcessEvent>;
}

/** A trainable as a function: of the configuration, and of the values of `withParameters`. */
export type TrainFunction = (config: never, parameters: never) => unknown;

/** A trainable as a class. Methods may be async; all but `step` may be left out. */
export interface ClassTrainable {
  /** Called once, before the first step. */
  setup?(config: never, parameters: never): unknown;
  /** Computes one iteration and returns its metrics. `done: true` among them ends the trial. */
  step(): unknown;
  /** Writes the files for `loadCheckpoint` into a folder. */
  saveCheckpoint?(folder: string): unknown;
  loadCheckpoint?(folder: string): unknown;
  /** Called after each step with its result, in the trial's process: for the class's own log. */
  logResult?(result: never): unknown;
  /** Writes the product of the trial, such as a model in another format, into a folder. Called once, when the trial has ended well. */
  exportModel?(folder: string): unknown;
  /** Takes another configuration, so that the next trial needs no new instance. @returns whether it could */
  resetConfig?(config: never): unknown;
  /** Called once, after the last step. */
  cleanup?(): unknown;
}

export type TrainableClass = new () => ClassTrainable;

/** Thrown by `report` in a trial that has been stopped or paused. */
class TrialLeft extends Error {
  override name = "TrialLeft";
}

// ---------------------------------------------------------------------------------------------------------------------
// Functions

type Outcome = { readonly value: unknown } | { readonly error: unknown };

interface Report {
  readonly event: Extract<ProcessEvent, { type: "report" }>;
  readonly answered: PromiseWithResolvers<void>;
}

export class FunctionTrial implements TrialLoop {
  readonly #spec: TrialSpec;
  /** Reports that wait for the driver; one that awaits its reports has at most one. */
  readonly #reports: Report[] = [];
  /** Resolved when there is a report, or the function has settled. */
  #changed = Promise.withResolvers<void>();
  #outcome: Outcome | undefined;
  #hasLeft = false;
  #nextCheckpoint: number;
  #since = performance.now();
  /** Copies of checkpoints go one after the other. */
  #copying: Promise<unknown> = Promise.resolve();

  constructor(fn: TrainFunction, { spec, parameters }: { spec: TrialSpec; parameters: object | undefined }) {
    this.#spec = spec;
    this.#nextCheckpoint = spec.nextCheckpoint;
    void this.#run(fn, parameters);
  }

  async next(answer: ProcessAnswer): Promise<ProcessEvent> {
    if (answer !== undefined) this.#answer(answer.action !== "continue");
    if (this.#hasLeft) {
      while (this.#outcome === undefined) await this.#change();
      return { type: "released" };
    }
    while (this.#reports.length === 0 && this.#outcome === undefined) await this.#change();
    const [report] = this.#reports;
    if (report !== undefined) return report.event;
    return this.#ending();
  }

  async #run(fn: TrainFunction, parameters: object | undefined): Promise<void> {
    const close = openSessionOf(this.#spec, (metrics, saved) => this.#report(metrics, saved));
    try {
      const args = parameters === undefined ? [this.#spec.config] : [this.#spec.config, parameters];
      const returned: unknown = await Reflect.apply(fn, undefined, args);
      this.#outcome = { value: isGenerator(returned) ? await this.#consume(returned) : returned };
    } catch (error) {
      this.#outcome = { error };
    } finally {
      close();
      void this.#change(true);
    }
  }

  /** Reports the values that a generator yields. @returns the generator's return value */
  async #consume(generator: Generator | AsyncGenerator): Promise<unknown> {
    for (;;) {
      const { value, done } = await generator.next();
      if (done === true) return value;
      try {
        await this.#report(checkMetrics(value, `Cannot report what trial ${this.#spec.trialId} yields`), undefined);
      } catch (error) {
        // Lets the generator's `finally` blocks run.
        await generator.return(undefined);
        throw error;
      }
    }
  }

  async #report(metrics: Metrics, checkpoint: Checkpoint | undefined): Promise<void> {
    if (this.#hasLeft) throw new TrialLeft(`Trial ${this.#spec.trialId} has been stopped`);
    const elapsedMs = performance.now() - this.#since;
    const timestampMs = Date.now();
    const staged = checkpoint === undefined ? undefined : await this.#stage(checkpoint);
    const answered = Promise.withResolvers<void>();
    answered.promise.catch(() => {});
    this.#reports.push({ event: { type: "report", metrics, elapsedMs, timestampMs, ...(staged && { checkpoint: staged }) }, answered });
    void this.#change(true);
    await answered.promise;
  }

  async #stage(checkpoint: Checkpoint): Promise<StagedCheckpoint> {
    const to = joinPath(this.#spec.trialDir, checkpointName(this.#nextCheckpoint));
    this.#nextCheckpoint += 1;
    const copying = this.#copying.then(() => checkpoint.asDirectory((from) => persistCheckpoint({ from, to })));
    this.#copying = copying.catch(() => {});
    return { to, part: await copying };
  }

  #answer(leaves: boolean): void {
    const report = this.#reports.shift();
    this.#since = performance.now();
    if (!leaves) {
      report?.answered.resolve();
      return;
    }
    this.#hasLeft = true;
    const left = new TrialLeft(`Trial ${this.#spec.trialId} has been stopped`);
    for (const { answered } of report === undefined ? this.#reports : [report, ...this.#reports]) answered.reject(left);
    this.#reports.length = 0;
  }

  #ending(): ProcessEvent {
    const outcome = this.#outcome as Outcome;
    if ("error" in outcome) throw outcome.error;
    const { value } = outcome;
    if (value === undefined || value === null) return { type: "ended" };
    if (!isPlainObject(value))
      throw new TypeError(
        `Trial ${this.#spec.trialId} must return metrics, such as { loss: 0.5 }, or nothing: received ${describeValue(value)}`,
      );
    const metrics = checkMetrics(value, `Cannot report what trial ${this.#spec.trialId} returned`);
    return { type: "report", metrics, elapsedMs: performance.now() - this.#since, timestampMs: Date.now(), isLast: true };
  }

  #change(happens = false): Promise<void> {
    if (!happens) return this.#changed.promise;
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    resolve();
    return this.#changed.promise;
  }
}

function isGenerator(value: unknown): value is Generator | AsyncGenerator {
  if (typeof value !== "object" || value === null || isThenable(value)) return false;
  const { next, return: end } = value as Partial<Generator>;
  return typeof next === "function" && typeof end === "function" && (Symbol.asyncIterator in value || Symbol.iterator in value);
}

// ---------------------------------------------------------------------------------------------------------------------
// Classes

export class ClassTrial implements TrialLoop {
  readonly #spec: TrialSpec;
  readonly #ready: Promise<ClassTrainable>;
  #iteration: number;
  #timeTotalMs: number;
  #nextCheckpoint: number;
  #isSaveDue = false;
  /** Whether the trial has ended well, and only its export is left. */
  #isExportDue = false;

  /** @param ready - the instance, when it has its configuration */
  constructor(spec: TrialSpec, ready: Promise<ClassTrainable>) {
    this.#spec = spec;
    this.#iteration = spec.iteration;
    this.#timeTotalMs = spec.timeTotalMs;
    this.#nextCheckpoint = spec.nextCheckpoint;
    this.#ready = ready.then(async (instance) => {
      await this.#load(instance);
      return instance;
    });
    this.#ready.catch(() => {});
  }

  async next(answer: ProcessAnswer): Promise<ProcessEvent> {
    const instance = await this.#ready;
    if (answer?.action === "pause") return this.#release(await this.#save(instance));
    if (answer?.action === "stop") {
      const checkpoint = this.#spec.checkpointAtEnd ? await this.#save(instance) : undefined;
      this.#isExportDue = answer.hasEnded === true && instance.exportModel !== undefined;
      if (!this.#isExportDue) return this.#release(checkpoint);
      // The driver has the checkpoint before the export begins, which may hang.
      if (checkpoint !== undefined) return { type: "saved", checkpoint };
    }
    if (this.#isExportDue) return this.#release(undefined, await this.#export(instance));
    if (answer?.save === true || this.#isSaveDue) {
      this.#isSaveDue = false;
      const checkpoint = await this.#save(instance);
      if (checkpoint !== undefined) return { type: "saved", checkpoint };
    }
    return await this.#step(instance);
  }

  async #step(instance: ClassTrainable): Promise<ProcessEvent> {
    const since = performance.now();
    const returned: unknown = await withinTrial(this.#spec, () => instance.step());
    const elapsedMs = performance.now() - since;
    this.#iteration += 1;
    const { checkpointFrequency } = this.#spec;
    this.#isSaveDue = checkpointFrequency > 0 && this.#iteration % checkpointFrequency === 0;
    const metrics = checkMetrics(returned, `Cannot report what step() of trial ${this.#spec.trialId} returned`);
    const timestampMs = Date.now();
    this.#timeTotalMs += elapsedMs;
    if (instance.logResult !== undefined) await this.#log(instance, { metrics, elapsedMs, timestampMs });
    return { type: "report", metrics, elapsedMs, timestampMs };
  }

  async #log(instance: ClassTrainable, report: { metrics: Metrics; elapsedMs: number; timestampMs: number }): Promise<void> {
    const { metrics, elapsedMs, timestampMs } = report;
    const result: TrialResult = {
      ...metrics,
      trialId: this.#spec.trialId,
      trainingIteration: this.#iteration,
      timeThisIterMs: elapsedMs,
      timeTotalMs: this.#timeTotalMs,
      timestampMs,
      done: metrics["done"] === true,
      ...(await ownPlace()),
      config: this.#spec.config,
    };
    await withinTrial(this.#spec, () => instance.logResult?.(result as never));
  }

  async #load(instance: ClassTrainable): Promise<void> {
    const { checkpoint, trialId } = this.#spec;
    if (checkpoint === undefined) return;
    if (instance.loadCheckpoint === undefined)
      throw new TypeError(`Trial ${trialId} cannot go on from its checkpoint: its class has no loadCheckpoint(folder)`);
    await Checkpoint.fromDirectory(checkpoint).asDirectory((folder) => withinTrial(this.#spec, () => instance.loadCheckpoint?.(folder)));
  }

  /** Undefined where the class saves nothing. */
  async #save(instance: ClassTrainable): Promise<StagedCheckpoint | undefined> {
    if (instance.saveCheckpoint === undefined) return undefined;
    const from = newTemporaryFolder("shoal-tune-");
    try {
      await withinTrial(this.#spec, () => instance.saveCheckpoint?.(from));
      const to = joinPath(this.#spec.trialDir, checkpointName(this.#nextCheckpoint));
      this.#nextCheckpoint += 1;
      return { to, part: await persistCheckpoint({ from, to }) };
    } finally {
      await removeFolder(from);
    }
  }

  /** The trial has ended well, even if the export fails. @returns why there is no export */
  async #export(instance: ClassTrainable): Promise<string | undefined> {
    const from = newTemporaryFolder("shoal-tune-");
    const to = joinPath(this.#spec.trialDir, EXPORT_FOLDER);
    try {
      await withinTrial(this.#spec, () => instance.exportModel?.(from));
      // A driver that died may have left the export of an earlier end of the trial.
      await removeFolder(to);
      await copyFolder({ from, to });
      return undefined;
    } catch (error) {
      return messageOf(error);
    } finally {
      await removeFolder(from);
    }
  }

  #release(checkpoint: StagedCheckpoint | undefined, exportFailure?: string): ProcessEvent {
    return { type: "released", ...(checkpoint && { checkpoint }), ...(exportFailure !== undefined && { exportFailure }) };
  }
}

/** Runs a method of a class. `getContext` works there; classes return their metrics and have no `report`. */
export async function withinTrial<R>(spec: TrialSpec, run: () => R): Promise<Awaited<R>> {
  const close = openSessionOf(spec, () => Promise.reject(new Error("Cannot report in a class: return the metrics from step()")));
  try {
    return await run();
  } finally {
    close();
  }
}

function openSessionOf(spec: TrialSpec, report: TrialSession["report"]): () => void {
  const { checkpoint, trialId, trialName, trialDir, resources, experimentName } = spec;
  return openSession({
    context: { trialId, trialName, trialDir, trialResources: resources, experimentName },
    checkpoint: checkpoint === undefined ? undefined : Checkpoint.fromDirectory(checkpoint),
    report,
  });
}
