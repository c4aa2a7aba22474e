/**
 * The shell of the trial machine: runs trials, asks the searcher, calls stoppers, and logs events.
 *
 * Every event is logged in the order in which the machine took it. Nothing that is slow holds the machine up: logs, files and callbacks have queues of their own. Calls of the searcher
 * are made one at a time, in the order of the machine's effects, so that the log is enough to repeat them: `replay` does so, and `run` goes on from there.
 */
import { availableResources, clusterResources, SerializationError, TaskError } from "../../core/index.ts";
import { asError, describeValue, isPlainObject, isSessionOpen, messageOf } from "../../core/internal.ts";
import { sessionLossOf } from "../../runs/errors.ts";
import { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import { completeCheckpoint, removeCheckpoint } from "../../runs/checkpoints/stored-checkpoints.ts";
import type { RunLog } from "../../runs/folder/run-log.ts";
import type { RunPaths } from "../../runs/folder/run-paths.ts";
import type { CallbackQueue } from "../options/callbacks.ts";
import type { ConfigCodec } from "../spaces/config-codec.ts";
import { TuneError } from "../errors.ts";
import { ASK_AGAIN_MS, CLUSTER_LOOK_MS, INTERRUPT_WITHIN_MS, LEAVE_WITHIN_MS, SNAPSHOT_AGAIN_MS, WAIT_TOLD_AFTER_MS } from "../limits.ts";
import type { DecisionRecorder } from "./recorded-decisions.ts";
import type { PolicyFiles } from "../policy-files.ts";
import type { Searcher, Suggestion } from "../searcher.ts";
import { SpentTime } from "./spent-time.ts";
import type { Stopper } from "../options/stoppers.ts";
import type { Config, JsonValue, Trial, TrialPlace, TrialResources, TrialResult } from "../trials/trial.ts";
import type { Answer, SessionLimits, TrialEffect, TrialEvent, TrialFailure } from "./trial-events.ts";
import type { TrialFiles } from "../trials/trial-files.ts";
import { causeOfDeath, deathOf, failureOf, trialError, unsentFailureOf } from "../trials/trial-failure.ts";
import { totalOf, type TrialMachine } from "./trial-machine.ts";
import { TrialPlaces } from "../trials/trial-places.ts";
import type { TrialProcess, TrialProcesses } from "../processes/trial-processes.ts";
import type { ProcessEvent, StagedCheckpoint, TrialSpec } from "../processes/trial-protocol.ts";

interface ExperimentParts {
  readonly name: string;
  readonly machine: TrialMachine;
  /** Records the scheduler's decisions if the log needs them. */
  readonly decisions: DecisionRecorder | undefined;
  readonly searcher: Searcher;
  readonly stopper: Stopper | undefined;
  readonly processes: TrialProcesses;
  readonly files: TrialFiles;
  readonly policies: PolicyFiles;
  readonly callbacks: CallbackQueue;
  readonly log: RunLog;
  readonly codec: ConfigCodec;
  readonly paths: RunPaths;
  readonly resourcesOf: (config: Config) => TrialResources;
  readonly nameOf: (trial: { trialId: string; config: Config }) => { name: string; dirname: string };
  /** Whether a process is as good as before when a trial has thrown in it. */
  readonly survivesErrors: boolean;
  readonly checkpointFrequency: number;
  readonly checkpointAtEnd: boolean;
  readonly failFast: boolean | "raise";
  /** A trial whose next report takes longer has failed. */
  readonly reportTimeoutMs: number | undefined;
  readonly timeBudgetMs: number | undefined;
  /** Returns a sentence for the user of a run that was cut short: the finished part, and how to continue. */
  readonly kept: () => string;
  readonly onProblem: (text: string) => void;
}

/** A trial that runs, to the shell. */
interface Running {
  process: TrialProcess | undefined;
  answer: Answer | undefined;
  killTimer: NodeJS.Timeout | undefined;
  /** Whether it has reported nothing for too long, and its process is ended. */
  isHung: boolean;
  /** Facts of the process that its first report tells the machine, until then. */
  origin: { readonly place: TrialPlace; readonly savesWhenAsked: boolean } | undefined;
  nodeId: string | undefined;
  /** Whether the trial was told to stop, or to pause where it need not save. */
  isLeaving: boolean;
  savesWhenAsked: boolean;
  /** Whether the trial was told to pause, and saves before. */
  isSaving: boolean;
}

type Report = Extract<ProcessEvent, { type: "report" }>;

/** A stopper's answers to a result. */
interface Verdict {
  readonly isStopped: boolean;
  readonly stopsAll: boolean;
}

export class Experiment {
  readonly #parts: ExperimentParts;
  readonly #running = new Map<string, Running>();
  readonly #drives = new Set<Promise<void>>();
  readonly #places = new TrialPlaces();
  readonly #over = Promise.withResolvers<void>();
  /** Calls of the searcher, one after the other. */
  #search: Promise<void> = Promise.resolve();
  #searching = 0;
  /** Results for which the stopper is being asked. */
  #judging = 0;
  #spent = new SpentTime();
  #isOver = false;
  /** Ended by an error or the caller's signal: the searcher hears of the rest in a restore. */
  #isBrokenOff = false;
  /** Resolves when the last event is in the log, or is known not to be. */
  #logged: Promise<void> = Promise.resolve();
  readonly #removals = new Set<Promise<void>>();
  #logFailed = false;
  #hasToldLack = false;
  #hasToldNoCheckpoint = false;
  #hasToldWait = false;
  /** Events of this session, for callbacks. */
  #step = 0;
  /** While the log cannot be written: when a snapshot is tried next. */
  #snapshotAgainMs = 0;
  /** The searcher's last suggestion in a replay, until a logged event uses it. */
  #suggestion: { readonly trialId: string; readonly suggestion: Suggestion } | undefined;
  /** The first failed trial's error, for `failFast: "raise"`. */
  #lastError: unknown;

  constructor(parts: ExperimentParts) {
    this.#parts = parts;
    this.#over.promise.catch(() => {});
  }

  /**
   * Runs until all trials have ended. @throws errors of the searcher or the scheduler, TuneError for `failFast`, the reason of the signal
   */
  async run(limits: SessionLimits, signal: AbortSignal): Promise<void> {
    const { machine, processes } = this.#parts;
    const abort = (): void => this.#end(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    const budget = this.#limitTime();
    const look = setInterval(() => void this.#lookAtCluster(), CLUSTER_LOOK_MS);
    try {
      const atMs = Date.now();
      this.#spent.see(atMs);
      this.#dispatch({ type: "begun", limits, atMs });
      if (machine.isFinished) this.#end();
      const { trialId, suggestion } = this.#suggestion ?? {};
      if (trialId !== undefined) await this.#suggested(trialId, suggestion as Suggestion);
      await this.#over.promise;
    } finally {
      this.#isOver = true;
      clearTimeout(budget);
      clearInterval(look);
      signal.removeEventListener("abort", abort);
      for (const { process } of this.#running.values()) process?.kill();
      // Instances of classes are cleaned up beside the last writes: an interrupted program has two seconds for both.
      await Promise.all([processes.close(), Promise.all(this.#drives).then(() => this.#writeAll())]);
    }
  }

  /** Earlier sessions have used their part of the budget. */
  #limitTime(): NodeJS.Timeout | undefined {
    const { machine, timeBudgetMs, onProblem } = this.#parts;
    if (timeBudgetMs === undefined) return undefined;
    const leftMs = timeBudgetMs - this.#spent.ms;
    if (leftMs > 0) return setTimeout(() => this.#dispatch({ type: "stoppedAll" }), leftMs);
    if (!machine.isFinished)
      onProblem(
        `the time budget of ${timeBudgetMs} ms is spent, so the unfinished trials end here: a larger timeBudgetMs of tuneConfig would have let them go on`,
      );
    this.#dispatch({ type: "stoppedAll" });
    return undefined;
  }

  /** Writes down how a new run begins: searchers and schedulers without seeds draw at random, and a restore repeats their calls from the same state. */
  async writeBeginning(): Promise<void> {
    await this.#snapshot().catch((error: unknown) => this.#logProblem(error));
  }

  /** Takes the state of a snapshot. */
  async restore(state: ExperimentState): Promise<void> {
    const { machine, searcher, stopper, policies, codec } = this.#parts;
    machine.restore(codec.readMachine(state.machine));
    await searcher.restore(state.searcher);
    if (state.stopper !== null) stopper?.restore?.(state.stopper);
    policies.restore(state.policies ?? []);
    this.#spent = new SpentTime(state.spentMs);
  }

  /** Repeats the events of earlier sessions: machine and searcher are then as they were. @returns the results that they reported, by trial */
  async replay(records: readonly JsonValue[]): Promise<ReadonlyMap<Trial, readonly TrialResult[]>> {
    const { machine, decisions, searcher, codec, policies } = this.#parts;
    const results = new Map<Trial, TrialResult[]>();
    for (const record of records) {
      const event = codec.readEvent(record);
      await this.#replayStopper(event);
      if (event.type === "searchDelayed" || event.type === "searchEnded" || event.type === "suggested") this.#suggestion = undefined;
      for (const effect of machine.apply(event)) {
        if (effect.type === "ask") this.#suggestion = { trialId: effect.trialId, suggestion: await this.#suggestionFor(effect.trialId) };
        else if (effect.type === "tellResult") await searcher.onTrialResult?.(effect.trialId, effect.result);
        else if (effect.type === "tellComplete") await searcher.onTrialComplete(effect.trialId, effect.result, effect.isError);
        else if (effect.type === "removeCheckpoints") this.#removeCheckpoints(effect.paths);
        else if (effect.type === "exploited") policies.add(effect);
        else if (effect.type === "notify" && effect.what === "result" && effect.result !== undefined) {
          const known = results.get(effect.trial);
          if (known === undefined) results.set(effect.trial, [effect.result]);
          else known.push(effect.result);
        }
      }
    }
    policies.write();
    decisions?.take();
    this.#endSession();
    return results;
  }

  /** Brings the stopper's state, and the time that is spent, to where they were after an event. The stopper's answers, and its errors, are in the log. */
  async #replayStopper(event: TrialEvent): Promise<void> {
    const { machine, stopper } = this.#parts;
    if (event.type === "begun" && event.atMs !== undefined) this.#spent.see(event.atMs);
    if (event.type === "opened") this.#endSession();
    if (event.type !== "reported") return;
    this.#spent.see(event.timestampMs);
    // Stoppers that cannot be restored begin anew.
    const preview = stopper?.restore && machine.preview(event.trialId, event);
    if (preview === undefined) return;
    try {
      await stopper?.shouldStop(event.trialId, preview);
      await stopper?.stopAll?.();
    } catch {
      // The report was taken. Another stopper than that of the run, which refuses it, refuses the next ones, too.
    }
  }

  /** Each session begins with a stopper that was restored. */
  #endSession(): void {
    const { stopper } = this.#parts;
    this.#spent.end();
    const state = stopper?.save?.() ?? null;
    if (state !== null) stopper?.restore?.(state);
  }

  /**
   * Applies an event of a restore, before the experiment runs. Its effects on trials and the searcher are done; the next work starts with
   * `run`.
   */
  prepare(event: TrialEvent): void {
    this.#guard(() => this.#takeStep(event));
  }

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#end(error);
    }
  }

  /** Ends the experiment with its present results. */
  #end(error?: unknown): void {
    this.#isOver = true;
    if (error === undefined) return void this.#searched().then(() => this.#over.resolve());
    this.#isBrokenOff = true;
    this.#over.reject(error);
  }

  /** The searcher has heard of all that was queued. Until then it may fail the experiment, and the caller may break it off. */
  async #searched(): Promise<void> {
    for (let known: Promise<void> | undefined; known !== this.#search; ) {
      known = this.#search;
      await known;
    }
  }

  #dispatch(event: TrialEvent): void {
    if (this.#isOver) return;
    this.#guard(() => this.#takeStep(event));
  }

  #takeStep(event: TrialEvent): void {
    this.#step += 1;
    this.#tellStep("onStepBegin");
    this.#performAll(this.#taken(event));
    this.#tellStep("onStepEnd");
  }

  /** The list of trials is made only where somebody wants it: there may be thousands of steps, and of trials. */
  #tellStep(hook: "onStepBegin" | "onStepEnd"): void {
    const { callbacks, machine } = this.#parts;
    if (callbacks.has(hook)) callbacks.call(hook, { iteration: this.#step, trials: [...machine.liveTrials.values()] });
  }

  #taken(event: TrialEvent): TrialEffect[] {
    const { log, codec, machine, decisions } = this.#parts;
    const record = codec.eventRecord(event);
    try {
      return machine.apply(event);
    } finally {
      const decided = decisions?.take();
      const whole = decided === undefined ? record : codec.withDecisions(record, decided);
      this.#logged = log.append(whole).catch((error: unknown) => this.#logProblem(error));
    }
  }

  #logProblem(error: unknown): void {
    if (!this.#logFailed)
      this.#parts.onProblem(`the state of the run cannot be written, and a restore would not have it: ${messageOf(error)}`);
    this.#logFailed = true;
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Effects

  #performAll(effects: readonly TrialEffect[]): void {
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: TrialEffect): void {
    const { searcher } = this.#parts;
    switch (effect.type) {
      case "ask":
        return this.#ask(effect.trialId);
      case "tellResult":
        if (searcher.onTrialResult !== undefined) this.#callSearcher(() => searcher.onTrialResult?.(effect.trialId, effect.result));
        return;
      case "tellComplete":
        return this.#callSearcher(() => searcher.onTrialComplete(effect.trialId, effect.result, effect.isError));
      case "start": {
        this.#tellLack(effect.trial);
        const drive = this.#drive(effect).finally(() => this.#drives.delete(drive));
        this.#drives.add(drive);
        return;
      }
      case "answer": {
        const running = this.#running.get(effect.trialId);
        if (running !== undefined) running.answer = effect.answer;
        return;
      }
      case "interrupt":
        return this.#interrupt(effect.trialId);
      case "removeCheckpoints":
        return this.#removeCheckpoints(effect.paths);
      case "exploited":
        this.#parts.policies.add(effect);
        void this.#logged.then(() => this.#parts.policies.write());
        return;
      case "notify":
        return this.#notify(effect);
      case "finished":
        return this.#end();
    }
  }

  /** A trial that the cluster has no room for, even empty, waits until the cluster grows: said once, as it may be a mistake. */
  #tellLack({ id, resources }: Trial): void {
    const { clusterResources: has } = this.#parts.machine;
    const lacking = Object.entries(totalOf(resources)).find(([name, amount]) => amount > (has[name] ?? 0));
    if (lacking === undefined || this.#hasToldLack) return;
    this.#hasToldLack = true;
    const [name, amount] = lacking;
    this.#parts.onProblem(
      `trial ${id} needs ${amount} ${name} and the whole cluster has ${has[name] ?? 0}: it waits until there is more: withResources(trainable, { … }) asks for less`,
    );
  }

  #callSearcher(call: () => unknown): void {
    this.#searching += 1;
    this.#search = this.#search
      .then(async () => {
        if (!this.#isBrokenOff) await call();
      })
      .catch((error: unknown) => this.#end(error))
      .finally(() => {
        this.#searching -= 1;
        if (this.#searching === 0) this.#snapshotIfDue();
      });
  }

  #ask(trialId: string): void {
    this.#callSearcher(async () => {
      if (this.#isOver) return;
      const suggestion = await this.#suggestionFor(trialId);
      // The next event must not be applied before this call counts as done: a snapshot would have it twice.
      queueMicrotask(() => void this.#suggested(trialId, suggestion));
    });
  }

  async #suggestionFor(trialId: string): Promise<Suggestion> {
    const suggestion = await this.#parts.searcher.suggest(trialId);
    if (suggestion === "later" || suggestion === "finished" || isPlainObject(suggestion)) return suggestion;
    throw new TypeError(
      `Cannot run trial ${trialId}: suggest() of the searcher must give a configuration, "later" or "finished": received ${describeValue(suggestion)}`,
    );
  }

  async #suggested(trialId: string, suggestion: Suggestion): Promise<void> {
    if (suggestion === "finished") return this.#dispatch({ type: "searchEnded" });
    if (suggestion === "later") {
      if (this.#parts.machine.liveTrials.size === 0) await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
      return this.#dispatch({ type: "searchDelayed" });
    }
    const config = suggestion;
    let resources: TrialResources = { bundles: [{}], strategy: "PACK" };
    let failure: TrialFailure | undefined;
    let names = { name: trialId, dirname: trialId };
    try {
      names = this.#parts.nameOf({ trialId, config });
      resources = this.#parts.resourcesOf(config);
    } catch (error) {
      failure = failureOf(error);
    }
    this.#dispatch({ type: "suggested", trialId, ...names, config, resources, ...(failure && { failure }) });
    this.#snapshotIfDue();
  }

  #interrupt(trialId: string): void {
    const running = this.#running.get(trialId);
    // A trial that leaves has `LEAVE_WITHIN_MS` for its last checkpoint and its export.
    if (running === undefined || running.isLeaving) return;
    running.killTimer ??= setTimeout(() => running.process?.kill(), running.isSaving ? LEAVE_WITHIN_MS : INTERRUPT_WITHIN_MS);
  }

  /**
   * Removes checkpoints once the log says that they are not needed: before, a restore would continue from them. Checkpoints outside the
   * run's folder stay, since they may be another run's, even if this run's log names them.
   */
  #removeCheckpoints(paths: readonly string[]): void {
    for (const path of paths) {
      const removing = this.#logged
        .then(async () => {
          if (await this.#parts.paths.isRemovable(path)) await removeCheckpoint(Checkpoint.fromDirectory(path));
        })
        .catch((error: unknown) => this.#parts.onProblem(`the checkpoint ${path} cannot be removed: ${messageOf(error)}`))
        .finally(() => this.#removals.delete(removing));
      this.#removals.add(removing);
    }
  }

  #notify({ what, trial, result, failure, checkpoint }: Extract<TrialEffect, { type: "notify" }>): void {
    const { callbacks, files, failFast } = this.#parts;
    switch (what) {
      case "start":
        files.start(trial);
        callbacks.call("onTrialStart", { trial });
        if (checkpoint !== undefined) callbacks.call("onTrialRestore", { trial, checkpoint: Checkpoint.fromDirectory(checkpoint) });
        return;
      case "result":
        if (result === undefined) return;
        files.log(trial, result);
        return callbacks.call("onTrialResult", { trial, result });
      case "checkpoint":
        return callbacks.call("onTrialCheckpoint", { trial, checkpoint: Checkpoint.fromDirectory(checkpoint as string) });
      case "complete":
        files.close(trial, undefined);
        return callbacks.call("onTrialComplete", { trial, ...(result && { result }) });
      case "error": {
        const error = trialError(trial, failure as TrialFailure);
        files.close(trial, error);
        callbacks.call("onTrialError", { trial, error, ...(result && { result }) });
        if (failFast !== false) this.#end(failFast === "raise" ? (this.#lastError ?? error) : error);
        return;
      }
      case "failure":
        return this.#tellRecovery(trial, failure as TrialFailure);
      case "paused":
        return files.flush(trial);
      case "lacksCheckpoint":
        return this.#tellNoCheckpoint(trial);
      case "added":
        return;
    }
  }

  /** Said once: it holds for all trials. */
  #tellNoCheckpoint({ id }: Trial): void {
    if (this.#hasToldNoCheckpoint) return;
    this.#hasToldNoCheckpoint = true;
    this.#parts.onProblem(
      `trial ${id} has no checkpoint, and the scheduler needs them: without, a trial that it pauses begins anew, and none goes on from another: ` +
        "a function calls report(metrics, { checkpoint }) and begins with getCheckpoint(), a class has saveCheckpoint and loadCheckpoint",
    );
  }

  #tellRecovery(trial: Trial, failure: TrialFailure): void {
    const error = trialError(trial, failure);
    this.#parts.onProblem(`trial ${trial.id} is tried again: ${error.message}`);
    this.#parts.callbacks.call("onTrialRecover", { trial, error });
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Driving a trial

  async #drive(start: Extract<TrialEffect, { type: "start" }>): Promise<void> {
    const { trial } = start;
    const running: Running = {
      process: undefined,
      answer: undefined,
      killTimer: undefined,
      isHung: false,
      origin: undefined,
      nodeId: undefined,
      isLeaving: false,
      savesWhenAsked: false,
      isSaving: false,
    };
    this.#running.set(trial.id, running);
    try {
      await Promise.all([this.#parts.files.pressure, this.#parts.callbacks.pressure]);
      const process = await this.#parts.processes.lease(trial.resources);
      running.process = process;
      await this.#untilReady(trial, process);
      await this.#parts.files.whenMade(trial);
      const first = await this.#untilReport(running, process.begin(this.#specOf(start)));
      running.nodeId = first.process.nodeId;
      running.savesWhenAsked = first.savesWhenAsked;
      running.origin = { place: await this.#places.of(first.process), savesWhenAsked: first.savesWhenAsked };
      let event: ProcessEvent = first;
      for (;;) {
        const isOver = await this.#take(trial, running, event);
        if (isOver) break;
        const { answer } = running;
        running.answer = undefined;
        event = await this.#next(trial, running, answer);
      }
    } catch (error) {
      this.#onError(trial, running, error);
    } finally {
      clearTimeout(running.killTimer);
      if (this.#running.get(trial.id) === running) this.#running.delete(trial.id);
    }
  }

  async #next(trial: Trial, running: Running, answer: Answer | undefined): Promise<ProcessEvent> {
    const process = running.process as TrialProcess;
    // The trial continues from the checkpoint that it saves as it is paused; that takes as long as any save.
    running.isSaving = answer?.action === "pause" && running.savesWhenAsked;
    if (answer !== undefined && answer.action !== "continue" && !running.isSaving) running.isLeaving = true;
    if (!running.isLeaving) return await this.#untilReport(running, process.next(answer));
    clearTimeout(running.killTimer);
    const timer = setTimeout(() => {
      this.#parts.onProblem(`trial ${trial.id} was told to stop and did not within ${LEAVE_WITHIN_MS} ms: its process is ended`);
      process.kill();
    }, LEAVE_WITHIN_MS);
    try {
      return await process.next(answer);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits for the trial's resources. The wait does not count as time of the trial, and a long one is told once. */
  async #untilReady(trial: Trial, process: TrialProcess): Promise<void> {
    const timer = setTimeout(() => void this.#tellWait(trial), WAIT_TOLD_AFTER_MS);
    try {
      await process.ready();
    } finally {
      clearTimeout(timer);
    }
  }

  async #tellWait({ id, resources }: Trial): Promise<void> {
    const free = await availableResources().catch(() => undefined);
    if (free === undefined || this.#isOver || this.#hasToldWait || this.#hasToldLack) return;
    const lacking = Object.entries(totalOf(resources)).find(([name, amount]) => amount > (free[name] ?? 0));
    if (lacking === undefined) return;
    this.#hasToldWait = true;
    const [name, amount] = lacking;
    this.#parts.onProblem(
      `trial ${id} waits for ${amount} ${name}, of which ${free[name] ?? 0} is free: other work of the cluster holds it: the trial begins when that ends`,
    );
  }

  /** The next event of a trial that computes. One that takes too long loses its process, and the event is an error. */
  async #untilReport<E extends ProcessEvent>(running: Running, event: Promise<E>): Promise<E> {
    const { reportTimeoutMs } = this.#parts;
    if (reportTimeoutMs === undefined) return await event;
    const timer = setTimeout(() => {
      running.isHung = true;
      running.process?.kill();
    }, reportTimeoutMs);
    try {
      return await event;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Takes an event of a process. @returns whether it was the last of this attempt */
  async #take(trial: Trial, running: Running, event: ProcessEvent): Promise<boolean> {
    const trialId = trial.id;
    const process = running.process as TrialProcess;
    switch (event.type) {
      case "report":
        return await this.#takeReport(trial, running, event);
      case "saved":
        this.#dispatch({ type: "saved", trialId, checkpoint: await this.#complete(trial, event.checkpoint) });
        return this.#isOver;
      case "ended":
        this.#free(process);
        this.#dispatch({ type: "ended", trialId });
        return true;
      case "released": {
        const { exportFailure } = event;
        if (exportFailure !== undefined) this.#parts.onProblem(`trial ${trialId} has ended, and its exportModel failed: ${exportFailure}`);
        const checkpoint = event.checkpoint === undefined ? undefined : await this.#complete(trial, event.checkpoint);
        this.#free(process);
        this.#dispatch({ type: "released", trialId, ...(checkpoint !== undefined && { checkpoint }) });
        return true;
      }
    }
  }

  async #takeReport(trial: Trial, running: Running, report: Report): Promise<boolean> {
    const { metrics, elapsedMs, timestampMs, isLast = false } = report;
    const checkpoint = report.checkpoint === undefined ? report.stored : await this.#complete(trial, report.checkpoint);
    const { stopper, machine } = this.#parts;
    const { origin } = running;
    running.origin = undefined;
    this.#spent.see(timestampMs);
    const preview = stopper && machine.preview(trial.id, { metrics, elapsedMs, timestampMs, place: origin?.place });
    const event = { type: "reported", trialId: trial.id, metrics, elapsedMs, timestampMs } as const;
    const take = ({ isStopped, stopsAll }: Verdict): void => {
      if (isLast) this.#free(running.process as TrialProcess);
      // A report that nobody answers is of a trial that is over.
      running.answer = { action: "stop" };
      this.#dispatch({
        ...event,
        ...(isLast && { isLast }),
        ...(isStopped && { isStopped }),
        ...(checkpoint !== undefined && { checkpoint }),
        ...origin,
      });
      if (stopsAll) this.#dispatch({ type: "stoppedAll" });
    };
    if (preview === undefined) take({ isStopped: false, stopsAll: false });
    else await this.#judge(preview, take);
    return isLast || this.#isOver;
  }

  /** Asks the stopper, and takes its verdict. There is no snapshot meanwhile: it would have a result in the stopper's state that is in the log behind it. */
  async #judge(result: TrialResult, take: (verdict: Verdict) => void): Promise<void> {
    const stopper = this.#parts.stopper as Stopper;
    this.#judging += 1;
    try {
      const isStopped = await stopper.shouldStop(result.trialId, result);
      take({ isStopped, stopsAll: (await stopper.stopAll?.()) === true });
    } finally {
      this.#judging -= 1;
    }
  }

  /** The trial has left: its process may take the next one, before the machine chooses that. */
  #free(process: TrialProcess): void {
    process.free().catch((error: unknown) => this.#parts.onProblem(`a trial's process did not end well: ${messageOf(error)}`));
  }

  async #complete(trial: Trial, { to, part }: StagedCheckpoint): Promise<string> {
    const metrics = trial.lastResult === undefined ? {} : { training_iteration: trial.lastResult.trainingIteration };
    await completeCheckpoint({ to, parts: [part], metrics });
    return to;
  }

  #onError(trial: Trial, { process, isHung, nodeId }: Running, error: unknown): void {
    if (this.#isOver) return;
    // No trial is to blame, and none could be tried again.
    if (!isSessionOpen()) return this.#end(this.#sessionLost(error));
    if (isHung) {
      const message = `Trial ${trial.id} has reported nothing for ${this.#parts.reportTimeoutMs} ms, the reportTimeoutMs of failureConfig: its process was ended`;
      return this.#dispatch({ type: "failed", trialId: trial.id, failure: { name: "TuneError", message, namesTrial: true } });
    }
    const isUsers = error instanceof TaskError;
    const cause = isUsers ? error.cause : causeOfDeath(error);
    this.#lastError = cause;
    // The process of a function is as good as before; an instance of a class is in no known state.
    if (isUsers && this.#parts.survivesErrors && process !== undefined) this.#free(process);
    else process?.kill();
    if (error instanceof SerializationError)
      return this.#dispatch({ type: "failed", trialId: trial.id, failure: unsentFailureOf(error), isFinal: true });
    const failure = (isUsers ? undefined : deathOf({ id: trial.id, nodeId }, asError(error))) ?? failureOf(cause);
    this.#dispatch({ type: "failed", trialId: trial.id, failure });
  }

  #sessionLost(error: unknown): TuneError {
    const reason = sessionLossOf(error);
    return new TuneError(`The run ${this.#parts.name} cannot go on: ${reason}`, { reason, hint: this.#parts.kept(), cause: error });
  }

  #specOf({ trial, checkpoint, nextCheckpoint }: Extract<TrialEffect, { type: "start" }>): TrialSpec {
    const { name, files, checkpointFrequency, checkpointAtEnd } = this.#parts;
    return {
      trialId: trial.id,
      trialName: trial.name,
      trialDir: files.folderOf(trial),
      experimentName: name,
      config: trial.config,
      resources: trial.resources,
      checkpoint: checkpoint?.path,
      iteration: checkpoint?.iteration ?? 0,
      timeTotalMs: checkpoint?.timeTotalMs ?? 0,
      nextCheckpoint,
      checkpointFrequency,
      checkpointAtEnd,
    };
  }

  // -------------------------------------------------------------------------------------------------------------------
  // State

  #snapshotIfDue(): void {
    const { log, machine } = this.#parts;
    if (this.#isOver || this.#isAsking || machine.askedFor !== undefined || !(log.isSnapshotDue || this.#logFailed)) return;
    const nowMs = performance.now();
    if (this.#logFailed && nowMs < this.#snapshotAgainMs) return;
    this.#snapshotAgainMs = nowMs + SNAPSHOT_AGAIN_MS;
    void this.#snapshot().then(
      () => (this.#logFailed = false),
      (error: unknown) => this.#logProblem(error),
    );
  }

  /** Whether searcher or stopper may be ahead of the machine. */
  get #isAsking(): boolean {
    return this.#searching > 0 || this.#judging > 0;
  }

  /** Replaces the log's events by the state that they led to. The searcher is idle then, so its state and the machine's are of the same moment. */
  async #snapshot(): Promise<void> {
    const { searcher, stopper, machine, policies, codec, log } = this.#parts;
    const search = searcher.save();
    const savedSearch = search instanceof Promise ? await search : search;
    // Calls that came meanwhile are in the log, or will be: the next idle moment is soon enough.
    if (search instanceof Promise && this.#isAsking) return;
    const state: ExperimentState = {
      machine: codec.machineRecord(machine.save()),
      searcher: savedSearch,
      stopper: stopper?.save?.() ?? null,
      policies: policies.save(),
      spentMs: this.#spent.ms,
    };
    await log.snapshot(state as unknown as JsonValue);
  }

  async #writeAll(): Promise<void> {
    const { files, policies, callbacks, log } = this.#parts;
    await this.#search;
    await files.closeAll();
    await this.#logged;
    await policies.close();
    await callbacks.settled();
    await Promise.all(this.#removals);
    try {
      if (this.#logFailed) await this.#snapshot();
    } catch (error) {
      this.#logProblem(error);
    }
    await log.close();
  }

  async #lookAtCluster(): Promise<void> {
    try {
      const resources = await clusterResources();
      if (JSON.stringify(resources) !== JSON.stringify(this.#parts.machine.clusterResources))
        this.#dispatch({ type: "resized", clusterResources: resources });
    } catch {
      // A cluster that is gone shows in the trials.
    }
  }
}

/** Content of a snapshot of the log. */
export interface ExperimentState {
  readonly machine: JsonValue;
  readonly searcher: JsonValue;
  readonly stopper: JsonValue;
  /** Snapshots of earlier versions have none. */
  readonly policies?: JsonValue;
  readonly spentMs?: number;
}
