/**
 * The experiment as a state machine: owns the trials, decides about each, and picks the next one to run.
 *
 * Pure: events in, effects out (`trial-events.ts`), with no clock, no I/O and no promise, and with the scheduler inside. `experiment.ts` is
 * its shell. A trial is pending, running or paused, and at last terminated or errored; `isReleasing` marks one whose status has changed and
 * whose process is not free yet. Invariants: the trials of `#held`, and they alone, occupy resources. Each suggested trial ends once,
 * unless it is revived, and the searcher is told of each end once. The same events give the same effects, so the log of events is the run's
 * state.
 */
import { invariant } from "../../core/internal.ts";
import { type KeptCheckpointsConfig, metricAt } from "../../runs/checkpoints/kept-checkpoints.ts";
import { type FinishedTrial, LiveTrial, type SavedTrial, type TrialReport } from "../trials/live-trial.ts";
import type { Decision, SchedulerAction, SchedulerView, TrialScheduler } from "../scheduler.ts";
import type { Config, JsonValue, Metrics, Trial, TrialResources, TrialResult } from "../trials/trial.ts";
import { failureOf } from "../trials/trial-failure.ts";
import type { Answer, Notice, SessionLimits, TrialCheckpoint, TrialEffect, TrialEvent, TrialFailure } from "./trial-events.ts";

export interface MachineOptions {
  /** Begins the ids of trials. */
  readonly runId: string;
  /** Metrics to optimize: each result must have them, as numbers. */
  readonly metrics: readonly string[];
  readonly keep: KeptCheckpointsConfig;
  readonly scheduler: TrialScheduler;
}

const NO_LIMITS: SessionLimits = { samplesMax: 0, concurrentMax: 0, maxFailures: 0, clusterResources: {} };

/** Amounts are sums of decimals: 0.1 + 0.2 must fit into 0.3. */
const AMOUNT_TOLERANCE = 1e-9;

export interface SavedMachine {
  readonly live: readonly SavedTrial[];
  readonly finished: readonly FinishedTrial[];
  readonly asked: number;
  readonly askedFor: string | null;
  readonly searchEnded: boolean;
  readonly searchDelayed: boolean;
  readonly typicalResources: TrialResources | null;
  readonly isStopping: boolean;
  readonly isBegun: boolean;
  readonly limits: SessionLimits;
  readonly isFinished: boolean;
  readonly scheduler: JsonValue;
}

export class TrialMachine {
  readonly #options: MachineOptions;
  readonly #scheduler: TrialScheduler;
  /** Trials that have not ended, and ended ones whose process is not free. */
  readonly #live = new Map<string, LiveTrial>();
  /** The part of `#live` that has not ended, as schedulers see it. */
  readonly #open = new Map<string, LiveTrial>();
  readonly #finished: FinishedTrial[] = [];
  /** Trials that occupy resources, and which. */
  readonly #held = new Map<string, TrialResources>();
  readonly #inUse = new Map<string, number>();
  readonly #view: SchedulerView;
  #limits: SessionLimits = NO_LIMITS;
  #asked = 0;
  /** The trial that the next suggestion is for. */
  #askedFor: string | undefined;
  #searchEnded = false;
  #searchDelayed = false;
  #isStopping = false;
  #isBegun = false;
  #isFinished = false;
  /** Number of trials that wait to be started, without paused ones. */
  #pending = 0;
  /** Resources of the last trial that was suggested. */
  #typicalResources: TrialResources | undefined;
  #effects: TrialEffect[] = [];

  constructor(options: MachineOptions) {
    this.#options = options;
    this.#scheduler = options.scheduler;
    const machine = this;
    this.#view = {
      liveTrials: this.#open,
      get isSearching() {
        return !machine.#searchEnded;
      },
      get clusterResources() {
        return machine.#limits.clusterResources;
      },
      fits: (trial) => this.#canBegin(trial as LiveTrial),
    };
  }

  /** Trials that have not ended. */
  get liveTrials(): ReadonlyMap<string, Trial> {
    return this.#open;
  }

  /** Trials that have ended, and whose processes have not been released yet. */
  get endingTrials(): readonly LiveTrial[] {
    return [...this.#live.values()].filter(({ id }) => !this.#open.has(id));
  }

  get finishedTrials(): readonly FinishedTrial[] {
    return this.#finished;
  }

  get clusterResources(): Readonly<Record<string, number>> {
    return this.#limits.clusterResources;
  }

  /** Trials that occupy resources. */
  get heldTrials(): readonly string[] {
    return [...this.#held.keys()];
  }

  get runningCount(): number {
    return this.#held.size;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** The trial that waits for its configuration. */
  get askedFor(): string | undefined {
    return this.#askedFor;
  }

  /** The result that a report would become. Stoppers decide by it before the machine takes the report. */
  preview(trialId: string, report: TrialReport): TrialResult | undefined {
    const trial = this.#open.get(trialId);
    return trial === undefined || trial.isReleasing ? undefined : trial.preview(report);
  }

  /** @throws errors of a user's scheduler */
  apply(event: TrialEvent): TrialEffect[] {
    if (this.#isFinished && event.type !== "opened" && event.type !== "revived") return [];
    this.#react(event);
    this.#advance();
    return this.#taken();
  }

  /** @throws Error for a state that no event may lead to */
  checkInvariants(): void {
    for (const trial of this.#live.values()) this.#checkTrial(trial);
    for (const id of this.#open.keys()) invariant(this.#live.has(id), `trial ${id} is open, and not among the live ones`);
    const pending = Array.from(this.#open.values()).filter(({ status }) => status === "pending");
    invariant(pending.length === this.#pending, `${pending.length} trials are pending, and ${this.#pending} are counted`);
    for (const { id } of this.#finished) invariant(!this.#open.has(id), `trial ${id} has finished, and is open`);
    const inUse = new Map<string, number>();
    for (const resources of this.#held.values())
      for (const [name, amount] of Object.entries(totalOf(resources))) inUse.set(name, (inUse.get(name) ?? 0) + amount);
    for (const [name, amount] of this.#inUse)
      invariant(
        Math.abs(amount - (inUse.get(name) ?? 0)) < AMOUNT_TOLERANCE,
        `trials hold ${inUse.get(name) ?? 0} ${name}, and ${amount} are counted`,
      );
  }

  #checkTrial({ id, status, isReleasing }: LiveTrial): void {
    const isOpen = this.#open.has(id);
    invariant(isOpen !== (status === "terminated" || status === "errored"), `trial ${id} is ${status}, and the open trials say otherwise`);
    invariant(isOpen || isReleasing, `trial ${id} has ended and left its process, and is still live`);
    invariant(this.#held.has(id) === (status === "running" || isReleasing), `trial ${id} is ${status}, and its resources say otherwise`);
  }

  #react(event: TrialEvent): void {
    switch (event.type) {
      case "opened":
        this.#isBegun = false;
        return;
      case "begun":
        this.#isBegun = true;
        this.#limits = event.limits;
        return;
      case "suggested":
        return this.#onSuggested(event);
      case "searchDelayed":
        this.#askedFor = undefined;
        this.#asked -= 1;
        this.#searchDelayed = this.#open.size > 0;
        return;
      case "searchEnded":
        this.#askedFor = undefined;
        this.#searchEnded = true;
        return;
      case "reported":
        return this.#onReported(event);
      case "saved":
        return this.#onSaved(event.trialId, event.checkpoint);
      case "released":
        return this.#onReleased(event.trialId, event.checkpoint);
      case "ended":
        return this.#onEnded(event.trialId);
      case "failed":
        return this.#onFailed(event.trialId, event.failure, event.isFinal === true);
      case "interrupted":
        return this.#onInterrupted(event.trialId);
      case "revived":
        return this.#onRevived(event.trialId, event.fromCheckpoint);
      case "givenUp":
        return this.#giveUp(event.trialId);
      case "stoppedAll":
        return this.#stopAll();
      case "resized":
        this.#limits = { ...this.#limits, clusterResources: event.clusterResources };
        return;
    }
  }

  save(): SavedMachine {
    return {
      live: [...this.#live.values()].map((trial) => trial.save()),
      finished: [...this.#finished],
      asked: this.#asked,
      askedFor: this.#askedFor ?? null,
      searchEnded: this.#searchEnded,
      searchDelayed: this.#searchDelayed,
      typicalResources: this.#typicalResources ?? null,
      isStopping: this.#isStopping,
      isBegun: this.#isBegun,
      limits: this.#limits,
      isFinished: this.#isFinished,
      scheduler: this.#scheduler.save(),
    };
  }

  restore(saved: SavedMachine): void {
    for (const state of saved.live) {
      const trial = LiveTrial.restore(state, this.#options.keep);
      this.#live.set(trial.id, trial);
      if (!state.hasEnded) this.#open.set(trial.id, trial);
      if (trial.status === "running" || trial.isReleasing) this.#hold(trial);
      if (trial.status === "pending") this.#pending += 1;
    }
    for (const trial of this.#open.values())
      if (trial.start !== undefined) for (const donor of this.#live.values()) donor.use(trial.start.path);
    for (const trial of saved.finished) this.#finished.push(trial);
    this.#asked = saved.asked;
    this.#askedFor = saved.askedFor ?? undefined;
    this.#searchEnded = saved.searchEnded;
    this.#searchDelayed = saved.searchDelayed;
    this.#typicalResources = saved.typicalResources ?? undefined;
    this.#isStopping = saved.isStopping;
    this.#isBegun = saved.isBegun;
    this.#limits = saved.limits;
    this.#isFinished = saved.isFinished;
    this.#scheduler.restore(saved.scheduler);
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Events

  #onSuggested({ trialId, name, dirname, config, resources, failure }: Extract<TrialEvent, { type: "suggested" }>): void {
    this.#askedFor = undefined;
    if (this.#isStopping) return;
    this.#typicalResources = resources;
    const trial = new LiveTrial({ id: trialId, index: this.#asked - 1, name, dirname, config, resources }, this.#options.keep);
    this.#add(trial);
    if (failure !== undefined) this.#fail(trial, { failure, isReleased: true });
  }

  #add(trial: LiveTrial): void {
    this.#live.set(trial.id, trial);
    this.#open.set(trial.id, trial);
    this.#pending += 1;
    const fixed = this.#scheduler.onTrialAdd(trial, this.#view);
    if (fixed !== undefined) trial.config = fixed;
    this.#notify("added", trial);
  }

  #onReported(event: Extract<TrialEvent, { type: "reported" }>): void {
    const trial = this.#live.get(event.trialId);
    if (trial === undefined) return;
    this.#searchDelayed = false;
    if (event.savesWhenAsked !== undefined) trial.savesWhenAsked = event.savesWhenAsked;
    if (trial.isReleasing) return this.#onLateReport(trial, event);
    if (trial.status !== "running") return;
    const { metrics } = event;
    const result = trial.record(event, this.#options.metrics);
    const fault = this.#faultOf(trial, metrics);
    if (fault !== undefined) {
      this.#fail(trial, { failure: fault, isReleased: event.isLast === true });
      return;
    }
    if (event.checkpoint !== undefined) this.#keep(trial, event.checkpoint);
    if (event.isLast === true || event.isStopped === true || metrics.done === true) {
      this.#complete(trial, { isReleased: event.isLast === true });
      return;
    }
    this.#decide(trial, result);
  }

  /** Handles the report of a trial that was told to leave while it computed. */
  #onLateReport(trial: LiveTrial, { isLast, checkpoint, place }: Extract<TrialEvent, { type: "reported" }>): void {
    if (place !== undefined) trial.place = place;
    if (checkpoint !== undefined) this.#keep(trial, checkpoint);
    if (isLast === true) this.#onReleased(trial.id, undefined);
    else this.#answerLeaving(trial);
  }

  #decide(trial: LiveTrial, result: TrialResult): void {
    let decision: Decision;
    trial.canBeAsked = trial.savesWhenAsked === true;
    try {
      decision = this.#scheduler.onTrialResult(trial, result, this.#view);
    } catch (error) {
      this.#fail(trial, { failure: failureOf(error), isReleased: false });
      return;
    } finally {
      trial.canBeAsked = false;
    }
    const { verdict, actions } = typeof decision === "string" ? { verdict: decision, actions: [] } : decision;
    let save = false;
    for (const action of actions) {
      if (action.type === "checkpoint" && action.trialId === trial.id) {
        save = this.#savesWhenAsked(trial);
        trial.isSaving = save;
      } else this.#act(action);
    }
    // An action may have ended or interrupted the trial itself.
    if (trial.isReleasing || trial.status !== "running") {
      // The searcher already knows of an end, and gets all other results: a trial that takes over a checkpoint continues.
      if (this.#open.has(trial.id)) this.#effects.push({ type: "tellResult", trialId: trial.id, result });
      this.#notify("result", trial, { result });
      this.#answerLeaving(trial);
      return;
    }
    if (verdict === "stop") {
      const last = this.#markDone(trial);
      this.#notify("result", trial, { result: last ?? result });
      this.#tellComplete(trial, false);
      this.#leave(trial, "terminated");
      return;
    }
    this.#effects.push({ type: "tellResult", trialId: trial.id, result });
    this.#notify("result", trial, { result });
    if (verdict === "pause") this.#leave(trial, "paused");
    else this.#answer(trial, save ? { action: "continue", save } : { action: "continue" });
  }

  /** A trial is over by itself or by a stopper. */
  #complete(trial: LiveTrial, { isReleased }: { isReleased: boolean }): void {
    const result = this.#markDone(trial);
    if (result !== undefined) this.#notify("result", trial, { result });
    const status = "terminated";
    this.#close(trial, status);
    this.#actAll(this.#scheduler.onTrialComplete(trial, result, this.#view));
    this.#tellComplete(trial, false);
    if (isReleased) this.#settle(trial);
    else this.#leave(trial, status);
  }

  #onEnded(trialId: string): void {
    const trial = this.#live.get(trialId);
    if (trial === undefined) return;
    this.#searchDelayed = false;
    if (trial.isReleasing) return this.#onReleased(trialId, undefined);
    if (trial.status !== "running") return;
    const { metrics } = this.#options;
    if (trial.lastResult === undefined && metrics.length > 0) {
      const names = metrics.map((name) => JSON.stringify(name)).join(" and ");
      const example = `{ ${metrics[0]}: … }`;
      const message = `Trial ${trialId} ended without reporting ${names}: call await report(${example}), or return ${example}`;
      this.#fail(trial, { failure: { name: "TuneError", message, namesTrial: true }, isReleased: true });
      return;
    }
    const result = this.#markDone(trial);
    this.#close(trial, "terminated");
    this.#actAll(this.#scheduler.onTrialComplete(trial, result, this.#view));
    this.#tellComplete(trial, false);
    this.#settle(trial);
  }

  #onSaved(trialId: string, path: string): void {
    const trial = this.#live.get(trialId);
    if (trial === undefined) return;
    this.#keep(trial, path);
  }

  #onReleased(trialId: string, path: string | undefined): void {
    const trial = this.#live.get(trialId);
    if (trial === undefined || !trial.isReleasing) return;
    this.#searchDelayed = false;
    if (path !== undefined) this.#keep(trial, path);
    this.#saveFailed(trial);
    this.#settle(trial);
  }

  #onFailed(trialId: string, failure: TrialFailure, isFinal: boolean): void {
    const trial = this.#live.get(trialId);
    if (trial === undefined) return;
    this.#searchDelayed = false;
    const isLost = trial.isSaving && trial.goesOnFromItself && this.#open.has(trial.id);
    this.#saveFailed(trial);
    // The trial was told to leave its process anyway, and its attempt has ended. That is a failure if it should have saved before, to
    // continue from there.
    if (trial.isReleasing && !isLost) return this.#settle(trial);
    if (trial.status !== "running" && !isLost) return;
    trial.failures += 1;
    const { maxFailures } = this.#limits;
    if (isFinal || (maxFailures !== -1 && trial.failures > maxFailures)) {
      this.#fail(trial, { failure, isReleased: true });
      return;
    }
    this.#notify("failure", trial, { failure });
    if (trial.isReleasing) return this.#settle(trial);
    this.#free(trial);
    this.#setPending(trial);
  }

  #onInterrupted(trialId: string): void {
    const trial = this.#live.get(trialId);
    if (trial === undefined || !this.#held.has(trialId)) return;
    this.#saveFailed(trial);
    if (trial.isReleasing) return this.#settle(trial);
    this.#free(trial);
    this.#setPending(trial);
  }

  #onRevived(trialId: string, fromCheckpoint: boolean): void {
    const at = this.#finished.findIndex(({ id }) => id === trialId);
    const [finished] = at < 0 ? [] : this.#finished.splice(at, 1);
    if (finished === undefined) return;
    this.#isFinished = false;
    this.#isStopping = false;
    // The last report stays the trial's result until the next one.
    const { iteration, timeThisIterMs = 0, timeTotalMs, timestampMs } = finished;
    const lastResult = { trainingIteration: iteration, timeThisIterMs, timeTotalMs, timestampMs, done: false };
    const state = { lastResult, start: null, awaitedDonor: null, isSaving: false, isReleasing: false, hasEnded: false } as const;
    const trial = fromCheckpoint
      ? LiveTrial.restore({ ...finished, status: "pending", failure: undefined, failures: 0, ...state }, this.#options.keep)
      : new LiveTrial(finished, this.#options.keep);
    trial.nextCheckpoint = finished.nextCheckpoint;
    trial.rewind();
    this.#add(trial);
  }

  #giveUp(trialId: string): void {
    const trial = this.#open.get(trialId);
    if (trial === undefined) return;
    this.#end(trial);
  }

  #stopAll(): void {
    this.#isStopping = true;
    this.#searchEnded = true;
    for (const trial of this.#open.values()) this.#end(trial);
    for (const trialId of this.#held.keys()) this.#effects.push({ type: "interrupt", trialId });
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Actions of schedulers

  #actAll(actions: readonly SchedulerAction[] | void): void {
    for (const action of actions ?? []) this.#act(action);
  }

  #act(action: SchedulerAction): void {
    const trial = this.#open.get(action.trialId);
    if (trial === undefined) return;
    switch (action.type) {
      case "stop":
        return this.#end(trial);
      case "pause":
        if (trial.status === "running" && !trial.isReleasing) this.#depart(trial, "paused");
        return;
      case "checkpoint":
        // A trial that computes cannot be asked; its next report delivers a requested checkpoint.
        return;
      case "exploit":
        return this.#exploit(trial, action);
      case "lacksCheckpoint":
        return this.#notify("lacksCheckpoint", trial);
      case "resources":
        trial.resources = action.resources;
        if (trial.status === "running" && !trial.isReleasing) this.#depart(trial, "pending");
        return;
    }
  }

  #exploit(trial: LiveTrial, { donorId, config, isLogged }: Extract<SchedulerAction, { type: "exploit" }>): void {
    const donor = this.#live.get(donorId);
    if (donor === undefined || !donor.hasCheckpoint) return;
    if (isLogged === true) this.#logExploit(trial, { donor, config });
    this.#dropStart(trial);
    trial.config = config;
    if (donor.isSaving) trial.awaitedDonor = donorId;
    else this.#startFrom(trial, donor);
    if (trial.status === "running" && !trial.isReleasing) this.#depart(trial, "paused");
  }

  /** The donor may be ahead of the checkpoint: a replay has to change the configuration where the trial really continues. */
  #logExploit(trial: LiveTrial, { donor, config }: { donor: LiveTrial; config: Config }): void {
    const { isSaving, newestCheckpoint, iteration } = donor;
    this.#effects.push({
      type: "exploited",
      trialId: trial.id,
      donorId: donor.id,
      iteration: trial.lastResult?.trainingIteration ?? 0,
      donorIteration: isSaving ? iteration : (newestCheckpoint?.iteration ?? 0),
      before: donor.config,
      config,
    });
  }

  #startFrom(trial: LiveTrial, donor: LiveTrial): void {
    const { newestCheckpoint } = donor;
    trial.awaitedDonor = undefined;
    if (newestCheckpoint === undefined) return;
    trial.start = newestCheckpoint;
    trial.hasBegunFromStart = false;
    donor.use(newestCheckpoint.path);
  }

  /** The trial does not continue from a donor's checkpoint any more, or has done so. */
  #dropStart(trial: LiveTrial): void {
    const { start } = trial;
    trial.awaitedDonor = undefined;
    trial.hasBegunFromStart = false;
    if (start === undefined) return;
    trial.start = undefined;
    for (const donor of this.#live.values()) {
      const paths = donor.release(start.path);
      if (paths.length > 0) this.#effects.push({ type: "removeCheckpoints", paths });
    }
  }

  /** Ends a trial from outside, in any state. */
  #end(trial: LiveTrial): void {
    const isRunning = trial.status === "running";
    const before = trial.status;
    const result = this.#markDone(trial);
    this.#close(trial, "terminated");
    if (before === "running") this.#actAll(this.#scheduler.onTrialComplete(trial, result, this.#view));
    else this.#actAll(this.#scheduler.onTrialRemove(trial, this.#view));
    this.#tellComplete(trial, false);
    if (isRunning) this.#depart(trial, "terminated");
    else if (!trial.isReleasing) this.#settle(trial);
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Changes of state

  /** A trial that has reported leaves its process. */
  #leave(trial: LiveTrial, status: "paused" | "terminated" | "errored"): void {
    this.#depart(trial, status);
    this.#answerLeaving(trial);
  }

  /** Makes a trial leave its process: its next report gets that answer. */
  #depart(trial: LiveTrial, status: "pending" | "paused" | "terminated" | "errored"): void {
    trial.isReleasing = true;
    if (status === "pending") this.#pending += 1;
    trial.status = status;
    if (status === "terminated" || status === "errored") this.#open.delete(trial.id);
  }

  /** A trial has ended; it stays among the live ones until its process is free. */
  #close(trial: LiveTrial, status: "terminated" | "errored"): void {
    if (trial.status === "pending") this.#pending -= 1;
    trial.status = status;
    this.#open.delete(trial.id);
  }

  #fail(trial: LiveTrial, { failure, isReleased }: { failure: TrialFailure; isReleased: boolean }): void {
    trial.failure = failure;
    this.#close(trial, "errored");
    this.#actAll(this.#scheduler.onTrialError(trial, this.#view));
    this.#tellComplete(trial, true);
    if (isReleased) this.#settle(trial);
    else this.#leave(trial, "errored");
  }

  #setPending(trial: LiveTrial): void {
    trial.status = "pending";
    this.#pending += 1;
    trial.rewind();
  }

  /** A trial has left its process. */
  #settle(trial: LiveTrial): void {
    this.#free(trial);
    trial.isReleasing = false;
    if (trial.status === "pending" || trial.status === "paused") {
      // A class that saves was cut short.
      if (trial.iteration > 0 && trial.goesOnFromItself && trial.checkpointToStartFrom === undefined && trial.savesWhenAsked !== true)
        this.#notify("lacksCheckpoint", trial);
      trial.rewind();
      if (trial.status === "paused") this.#notify("paused", trial);
      return;
    }
    this.#saveFailed(trial);
    this.#dropStart(trial);
    this.#live.delete(trial.id);
    const { status } = trial;
    if (status !== "terminated" && status !== "errored") throw new Error(`Trial ${trial.id} ended as ${status}`);
    this.#finished.push(trial.finished(status));
    this.#notify(status === "errored" ? "error" : "complete", trial, {
      ...(trial.lastResult && { result: trial.lastResult }),
      ...(trial.failure && { failure: trial.failure }),
    });
  }

  #keep(trial: LiveTrial, path: string): void {
    const { iteration, timeTotalMs, lastResult } = trial;
    trial.isSaving = false;
    trial.nextCheckpoint += 1;
    const checkpoint: TrialCheckpoint = { path, iteration, timeTotalMs, metrics: scoreOf(lastResult, this.#options.keep) };
    const paths = trial.keep(checkpoint);
    // The trial's own checkpoint is newer than the donor's from which it began; a checkpoint that it saves when it ends is older than one
    // from which it has to begin.
    if (trial.hasBegunFromStart) this.#dropStart(trial);
    if (paths.length > 0) this.#effects.push({ type: "removeCheckpoints", paths });
    this.#notify("checkpoint", trial, { checkpoint: path });
    for (const waiting of this.#open.values()) if (waiting.awaitedDonor === trial.id) this.#startFrom(waiting, trial);
  }

  /** The trial will save no new checkpoint: trials that wait for one start from the newest before it. */
  #saveFailed(trial: LiveTrial): void {
    if (!trial.isSaving) return;
    trial.isSaving = false;
    for (const waiting of this.#open.values()) if (waiting.awaitedDonor === trial.id) this.#startFrom(waiting, trial);
  }

  #markDone(trial: LiveTrial): TrialResult | undefined {
    if (trial.lastResult !== undefined) trial.lastResult = { ...trial.lastResult, done: true };
    return trial.lastResult;
  }

  #faultOf(trial: LiveTrial, metrics: Metrics): TrialFailure | undefined {
    for (const name of this.#options.metrics) {
      const value = metricAt(metrics, name);
      if (typeof value === "number") continue;
      const reported = Object.keys(metrics).map((key) => JSON.stringify(key));
      const reason =
        value === undefined
          ? `its report lacks the metric ${JSON.stringify(name)}: it has ${reported.length === 0 ? "nothing" : reported.join(", ")}`
          : `the metric ${JSON.stringify(name)} must be a number: received ${JSON.stringify(value)?.slice(0, 100)}`;
      return {
        name: "TuneError",
        namesTrial: true,
        message: `Trial ${trial.id} cannot be compared in iteration ${trial.iteration}: ${reason}`,
      };
    }
    return undefined;
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Choosing the next step

  #advance(): void {
    while (this.#isBegun && !this.#isFinished && this.#step());
  }

  /** Takes one step that is due now. @returns whether there may be another */
  #step(): boolean {
    if (this.#isStopping) return this.#finishIfEmpty();
    if (this.#askedFor === undefined && this.#wantsTrial()) return this.#ask();
    if (this.#held.size < this.#limits.concurrentMax && this.#askedFor === undefined) {
      const id = this.#open.size === 0 ? undefined : this.#scheduler.chooseTrialToRun(this.#view);
      const chosen = id === undefined ? undefined : this.#open.get(id);
      if (chosen !== undefined && this.#canBegin(chosen)) {
        this.#start(chosen);
        return true;
      }
    }
    if (this.#held.size > 0 || this.#askedFor !== undefined) return false;
    if (this.#searchDelayed && this.#open.size === 0) this.#searchDelayed = false;
    return this.#open.size === 0 ? this.#finishIfEmpty() : this.#wakeUp();
  }

  #wantsTrial(): boolean {
    const { asksAhead } = this.#scheduler;
    const aheadMax = Math.max(1, Math.min(Number(asksAhead ?? 0), this.#limits.aheadMax ?? 1));
    if (this.#searchEnded || this.#searchDelayed || this.#pending >= aheadMax) return false;
    if (this.#asked >= this.#limits.samplesMax) {
      this.#searchEnded = true;
      return false;
    }
    if (Number(asksAhead ?? 0) > 0) return true;
    if (this.#held.size >= this.#limits.concurrentMax) return false;
    // The next trial's resources are unknown until it is suggested. Those of the last trial are the best guess.
    return this.#held.size === 0 || this.#typicalResources === undefined || this.#hasRoom(this.#typicalResources);
  }

  #ask(): boolean {
    const trialId = `${this.#options.runId}_${String(this.#asked).padStart(5, "0")}`;
    this.#asked += 1;
    this.#askedFor = trialId;
    this.#effects.push({ type: "ask", trialId });
    return false;
  }

  #start(trial: LiveTrial): void {
    if (trial.status === "pending") this.#pending -= 1;
    trial.status = "running";
    this.#hold(trial);
    const checkpoint = trial.checkpointToStartFrom;
    trial.hasBegunFromStart = trial.start !== undefined;
    trial.rewind();
    this.#effects.push({ type: "start", trial, checkpoint, nextCheckpoint: trial.nextCheckpoint });
    this.#notify("start", trial, checkpoint && { checkpoint: checkpoint.path });
  }

  /** Nothing runs, nothing can be chosen, and trials are paused: the scheduler may free some, else they end. */
  #wakeUp(): boolean {
    this.#actAll(this.#scheduler.onIdle?.(this.#view));
    const id = this.#open.size === 0 ? undefined : this.#scheduler.chooseTrialToRun(this.#view);
    const chosen = id === undefined ? undefined : this.#open.get(id);
    if (chosen !== undefined && this.#canBegin(chosen)) return true;
    if (this.#wantsTrial()) return true;
    for (const trial of this.#open.values()) this.#end(trial);
    return true;
  }

  #finishIfEmpty(): boolean {
    if (this.#live.size > 0) return false;
    if (!this.#searchEnded) return true;
    this.#isFinished = true;
    this.#effects.push({ type: "finished" });
    return false;
  }

  #canBegin(trial: LiveTrial): boolean {
    if (trial.isReleasing || trial.awaitedDonor !== undefined || (trial.status !== "pending" && trial.status !== "paused")) return false;
    // A trial that needs more than there is waits for the cluster to grow, not for trials that would end for it.
    return this.#held.size === 0 || this.#hasRoom(trial.resources);
  }

  #hasRoom(resources: TrialResources): boolean {
    return Object.entries(totalOf(resources)).every(
      ([name, amount]) =>
        amount === 0 || (this.#inUse.get(name) ?? 0) + amount <= (this.#limits.clusterResources[name] ?? 0) + AMOUNT_TOLERANCE,
    );
  }

  #hold(trial: LiveTrial): void {
    this.#held.set(trial.id, trial.resources);
    for (const [name, amount] of Object.entries(totalOf(trial.resources))) this.#inUse.set(name, (this.#inUse.get(name) ?? 0) + amount);
  }

  #free(trial: LiveTrial): void {
    const resources = this.#held.get(trial.id);
    if (resources === undefined) return;
    this.#held.delete(trial.id);
    for (const [name, amount] of Object.entries(totalOf(resources))) this.#inUse.set(name, (this.#inUse.get(name) ?? 0) - amount);
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Effects

  #answer(trial: LiveTrial, answer: Answer): void {
    this.#effects.push({ type: "answer", trialId: trial.id, answer });
  }

  /** Answers the report of a trial that has to leave its process. */
  #answerLeaving(trial: LiveTrial): void {
    // A trial that gets other resources continues like a paused one: it saves first.
    if (trial.status === "paused" || trial.status === "pending") {
      trial.isSaving = this.#savesWhenAsked(trial);
      this.#answer(trial, { action: "pause" });
    } else this.#answer(trial, { action: "stop", ...(trial.status === "terminated" && { hasEnded: true }) });
  }

  #savesWhenAsked(trial: LiveTrial): boolean {
    return trial.savesWhenAsked ?? this.#limits.savesWhenAsked !== false;
  }

  #tellComplete(trial: LiveTrial, isError: boolean): void {
    this.#effects.push({ type: "tellComplete", trialId: trial.id, result: trial.lastResult, isError });
  }

  #notify(what: Notice, trial: LiveTrial, more: Partial<Extract<TrialEffect, { type: "notify" }>> = {}): void {
    this.#effects.push({ ...more, type: "notify", what, trial });
  }

  #taken(): TrialEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }
}

/** Resources of all bundles together. */
export function totalOf({ bundles }: TrialResources): Readonly<Record<string, number>> {
  const [only] = bundles;
  if (only !== undefined && bundles.length === 1) return only;
  const total: Record<string, number> = {};
  for (const bundle of bundles) for (const [name, amount] of Object.entries(bundle)) total[name] = (total[name] ?? 0) + amount;
  return total;
}

/** The metric by which a checkpoint is kept, out of the metrics reported with it. */
function scoreOf(result: TrialResult | undefined, { checkpointScoreAttribute: name }: KeptCheckpointsConfig): Metrics {
  if (result === undefined || name === undefined) return {};
  const score = metricAt(result as Metrics, name);
  return score === undefined ? {} : { [name]: score };
}
