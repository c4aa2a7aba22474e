/**
 * Carries out the controller's decisions: starts groups, passes on ranks' events, stores reports, keeps timers, and ends with the result.
 *
 * Each `fit` has a training run in the calling program; under Tune each trial has one. All steps are asynchronous, and each reports its end as an event. The ranks
 * die with the program, which owns their actors. The run's folder has everything that the next program needs to continue.
 */
import { PlacementGroupRemovedError } from "../../core/index.ts";
import { asError, isSessionOpen } from "../../core/internal.ts";
import type { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import { RunError, sessionLossOf } from "../../runs/errors.ts";
import type { Metrics } from "../../runs/metrics/metrics.ts";
import type { ResolvedRunConfig } from "../../runs/run-config.ts";
import { type ControllerEffect, type ControllerEvent, type ControllerOptions, type TimerName, TrainingController } from "./controller.ts";
import { type DatasetShards, type TrainDatasets, splitDatasets } from "../datasets.ts";
import { trainingFailed } from "../errors.ts";
import { HEALTH_CHECK_TIMEOUT_MS } from "../limits.ts";
import { NodeAgents } from "../group/node-agents.ts";
import { NoRoomError, roomForMore, shortageOfData } from "../group/placement.ts";
import type { RankFailure } from "../ranks/rank-failure.ts";
import type { RankDecision, RankReport } from "../ranks/rank-protocol.ts";
import { RankFolders } from "../ranks/rank-folders.ts";
import { placedByRanks } from "../ranks/rank-uploads.ts";
import type { RunStore } from "./run-store.ts";
import { GroupNotStarted, type GroupRequest, lostRank, WorkerGroup } from "../group/worker-group.ts";

interface TrainingRunOptions {
  readonly name: string;
  readonly group: Omit<GroupRequest, "context" | "expected" | "warn" | "signal"> & {
    readonly context: Omit<GroupRequest["context"], "attempt">;
  };
  readonly config: unknown;
  readonly datasets: TrainDatasets;
  /** Whether each rank works in its own folder. */
  readonly hasRankFolders: boolean;
  readonly failureConfig: ResolvedRunConfig["failureConfig"];
  readonly checkpoint: Checkpoint | undefined;
  readonly store: RunStore;
  readonly observer: RunObserver;
  readonly signal: AbortSignal;
}

/** Receives the events of a run, for progress, trackers, callbacks and Tune. An error in it ends the run. */
export interface RunObserver {
  /** The ranks of an attempt are there. */
  started(attempt: number, workers: number): void;
  /** A report is recorded. The answer of `stop` ends the run well. */
  reported(report: RecordedReport): Promise<"continue" | "stop">;
  /** Called after a failed attempt or run. The next step waits for the promise. */
  failed(failures: readonly RankFailure[]): Promise<void>;
  warn(text: string): void;
}

export interface RecordedReport {
  /** By rank. */
  readonly metrics: readonly Metrics[];
  readonly checkpoint: Checkpoint | undefined;
}

/** Results of a run that ended well. */
interface TrainingOutcome {
  /** The last report of rank 0; empty where nothing was reported. */
  readonly metrics: Metrics;
  readonly checkpoint: Checkpoint | undefined;
  /** Return values of the loops, by rank. */
  readonly values: readonly unknown[];
}

type Effect = ControllerEffect<Checkpoint>;

/** Makes the parts of an attempt. */
export interface TrainingParts {
  newGroup(request: GroupRequest): WorkerGroup;
  newAgents(...options: ConstructorParameters<typeof NodeAgents>): NodeAgents;
  readonly splitDatasets: typeof splitDatasets;
  readonly shortageOfData: typeof shortageOfData;
}

const PARTS: TrainingParts = {
  newGroup: (request) => new WorkerGroup(request),
  newAgents: (...options) => new NodeAgents(...options),
  splitDatasets,
  shortageOfData,
};

export class TrainingRun {
  readonly #options: TrainingRunOptions;
  readonly #parts: TrainingParts;
  readonly #controller: TrainingController<Checkpoint>;
  #group: WorkerGroup | undefined;
  #shards: DatasetShards | undefined;
  #agents: NodeAgents | undefined;
  #folders: RankFolders | undefined;
  /** Reports that are being stored. */
  readonly #recording = new Set<Promise<void>>();
  readonly #timers = new Map<TimerName, NodeJS.Timeout>();
  readonly #done = Promise.withResolvers<TrainingOutcome>();
  readonly #aborted = Promise.withResolvers<void>();
  /** Settles when the observer has been told of the failures of the last attempt. */
  #told: Promise<void> = Promise.resolve();
  /** The number of ranks for which there was room at the last look. The first attempt assumes the whole cluster. */
  #room = Number.POSITIVE_INFINITY;
  #metrics: Metrics = {};
  #checkpoint: Checkpoint | undefined;

  constructor(options: TrainingRunOptions, parts: TrainingParts = PARTS) {
    this.#options = options;
    this.#parts = parts;
    this.#checkpoint = options.checkpoint;
    const { scaling } = options.group;
    this.#controller = new TrainingController({
      ...options.failureConfig,
      healthCheck: healthCheckOf(options),
      resizeIntervalMs: scaling.min === scaling.max ? undefined : scaling.resizeIntervalMs,
      maxWorkers: scaling.max,
      checkpoint: options.checkpoint,
    });
  }

  /** @throws TrainingFailedError, RunError where the session ends, and the signal's reason */
  async run(): Promise<TrainingOutcome> {
    const { signal } = this.#options;
    const abort = (): void => {
      this.#aborted.resolve();
      this.#handle({ kind: "abort", error: signal.reason });
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      this.#handle({ kind: "start" });
      if (signal.aborted) abort();
      return await this.#done.promise;
    } finally {
      signal.removeEventListener("abort", abort);
      for (const timer of this.#timers.values()) clearTimeout(timer);
    }
  }

  #handle(event: ControllerEvent<Checkpoint>): void {
    const ofSession = isSessionOpen() ? undefined : this.#sessionLoss(event);
    for (const effect of this.#controller.handle(ofSession ?? event)) this.#carryOut(effect);
  }

  /** Without a session no rank is to blame for its failure, and none could be started. */
  #sessionLoss(event: ControllerEvent<Checkpoint>): ControllerEvent<Checkpoint> | undefined {
    if (event.kind !== "failed" && event.kind !== "notStarted") return undefined;
    const cause = event.kind === "failed" ? event.failure.error : event.failures[0]?.error;
    const reason = sessionLossOf(cause);
    const hint = "Start the run again by the same name and storagePath: it goes on from its newest checkpoint.";
    return {
      kind: "abort",
      error: new RunError(`The training run ${this.#options.name} cannot go on: ${reason}`, { reason, hint, cause }),
    };
  }

  #carryOut(effect: Effect): void {
    switch (effect.kind) {
      case "startGroup":
        return void this.#start(effect.attempt);
      case "meet":
        return void this.#meet(this.#group as WorkerGroup, this.#controller.attempt);
      case "begin":
        return this.#begin(this.#group as WorkerGroup, effect.checkpoint);
      case "answer":
        for (const rank of effect.ranks) void this.#follow({ group: this.#group as WorkerGroup, rank, decision: effect.decision });
        return;
      case "record":
        return this.#keepRecording(this.#record(effect.report, effect.reports));
      case "tellEnd":
        for (const rank of effect.ranks) this.#group?.notify(rank, { type: "ended", ...effect.ended });
        return;
      case "notify":
        for (const rank of effect.ranks) this.#group?.notify(rank, { type: "preemption", ...effect.preemption });
        return;
      case "stored":
        for (const [rank, metrics] of effect.metrics.entries())
          this.#group?.notify(rank, { type: "stored", checkpoint: effect.checkpoint, metrics });
        return;
      case "ping":
        return this.#ping(this.#group as WorkerGroup, effect.ranks);
      case "probe":
        return void this.#probe(effect.ranks);
      case "lookForRoom":
        return void this.#lookForRoom();
      case "setTimer":
        return this.#setTimer(effect.name, effect.ms);
      case "clearTimer":
        clearTimeout(this.#timers.get(effect.name));
        return;
      case "warn":
        return this.#options.observer.warn(effect.text);
      case "attemptFailed":
        this.#told = this.#options.observer.failed(effect.failures);
        return void this.#told.catch(() => {});
      case "endGroup":
        return void this.#endGroup(effect.gently);
      default:
        return this.#finish(effect);
    }
  }

  #finish(effect: Extract<Effect, { kind: "finish" | "fail" | "aborted" }>): void {
    if (effect.kind === "finish") this.#done.resolve({ metrics: this.#metrics, checkpoint: this.#checkpoint, values: effect.values });
    else if (effect.kind === "aborted") this.#done.reject(effect.error);
    else this.#told.then(() => this.#done.reject(trainingFailed(this.#options.name, effect.failures, effect.attempts)), this.#done.reject);
  }

  async #start(attempt: number): Promise<void> {
    const { group: request, observer, signal } = this.#options;
    try {
      await this.#told;
    } catch (error) {
      this.#handle({ kind: "abort", error });
    }
    if (this.#controller.phase !== "starting") return;
    const context = { ...request.context, attempt };
    const group = this.#parts.newGroup({ ...request, expected: this.#room, context, warn: (text) => observer.warn(text), signal });
    this.#group = group;
    try {
      await group.start();
    } catch (error) {
      return this.#handle({ kind: "notStarted", attempt, ...reasonOf(error) });
    }
    this.#room = group.size;
    observer.started(attempt, group.size);
    const placed = group.places.map(({ facts, rank }) => ({ nodeId: facts.nodeId, rank }));
    this.#agents = this.#parts.newAgents(
      placed.map(({ nodeId }) => nodeId),
      (nodeId, notice) => {
        const ranks = placed.filter((each) => each.nodeId === nodeId).map(({ rank }) => rank);
        this.#handle({ kind: "preempted", attempt, nodeId, ranks, ...notice });
      },
    );
    this.#handle({ kind: "started", attempt, workers: group.size });
  }

  async #meet(group: WorkerGroup, attempt: number): Promise<void> {
    void this.#warnOfShortage(group).catch(() => {});
    try {
      const nodeIds = group.places.map(({ facts }) => facts.nodeId);
      const shards = await this.#parts.splitDatasets(this.#options.datasets, nodeIds);
      // An attempt that has ended meanwhile closes no shards any more.
      if (this.#group !== group || this.#controller.phase !== "rendezvous") return await shards.close();
      this.#shards = shards;
      await Promise.all([group.meet(), this.#agents?.ready()]);
      await this.#openFolders(group, nodeIds);
    } catch (error) {
      return this.#handle({ kind: "notStarted", attempt, ...reasonOf(error) });
    }
    this.#handle({ kind: "met", attempt });
  }

  async #openFolders(group: WorkerGroup, nodeIds: readonly string[]): Promise<void> {
    const agents = this.#agents;
    if (!this.#options.hasRankFolders || agents === undefined || this.#group !== group) return;
    this.#folders = new RankFolders({ runPath: this.#options.group.context.runPath, nodeIds, agents });
    await this.#folders.open();
  }

  /** Looks twice, half a second apart where others hold the CPUs, so the ranks do not wait for it. */
  async #warnOfShortage(group: WorkerGroup): Promise<void> {
    const { datasets, group: request, observer } = this.#options;
    const isLocal = request.scaling.max === 0;
    if (isLocal || Object.keys(datasets.datasets).length === 0) return;
    const haveBegun = (): boolean => this.#group !== group || this.#controller.phase !== "rendezvous";
    const text = await this.#parts.shortageOfData(group.size, request.scaling, { haveBegun });
    if (text !== undefined && this.#group === group) observer.warn(text);
  }

  #begin(group: WorkerGroup, checkpoint: Checkpoint | undefined): void {
    const { attempt } = this.#controller;
    group.begin({
      config: this.#options.config,
      checkpoint,
      reported: this.#options.store.all,
      datasets: this.#shards?.byRank ?? [],
      folders: this.#folders?.byRank ?? [],
      onFailure: (failure) => this.#handle({ kind: "failed", attempt, failure }),
    });
    for (let rank = 0; rank < group.size; rank += 1) void this.#follow({ group, rank, decision: undefined });
  }

  /** Sends a rank the decision and waits for its next event. */
  async #follow({
    group,
    rank,
    decision,
  }: {
    group: WorkerGroup;
    rank: number;
    decision: RankDecision<Checkpoint> | undefined;
  }): Promise<void> {
    const { attempt } = this.#controller;
    try {
      const event = await group.nextEvent(rank, decision);
      this.#handle({ kind: "rank", attempt, rank, event });
    } catch (error) {
      this.#handle({ kind: "failed", attempt, failure: lostRank(rank, asError(error)) });
    }
  }

  #keepRecording(recording: Promise<void>): void {
    this.#recording.add(recording);
    void recording.finally(() => this.#recording.delete(recording));
  }

  async #record(report: number, reports: readonly RankReport[]): Promise<void> {
    const { store, observer } = this.#options;
    const group = this.#group as WorkerGroup;
    const agents = this.#agents as NodeAgents;
    const nodeIds = group.places.map(({ facts }) => facts.nodeId);
    const { reportTimeoutMs, collectiveWarnIntervalMs } = this.#options.failureConfig;
    const warn = (text: string): void => observer.warn(text);
    const placed = await placedByRanks(group, reports, { reportTimeoutMs, collectiveWarnIntervalMs, warn });
    if ("failure" in placed) return this.#handle({ kind: "notRecorded", report, failure: placed.failure });
    try {
      const checkpoint = await store.record({ reports: placed.reports, nodeIds, agents });
      const metrics = reports.map((each) => each.metrics);
      if (checkpoint !== undefined) this.#checkpoint = checkpoint;
      this.#metrics = metrics[0] as Metrics;
      let decision: "continue" | "stop" = "continue";
      try {
        decision = await observer.reported({ metrics, checkpoint });
      } catch (error) {
        // The report is stored, and no rank is to blame.
        this.#handle({ kind: "abort", error });
      }
      this.#handle({ kind: "recorded", report, checkpoint, decision });
    } catch (error) {
      const rank = reports.findIndex(({ checkpoint }) => checkpoint !== null);
      this.#handle({ kind: "notRecorded", report, failure: { rank: Math.max(0, rank), cause: "storage", error: asError(error) } });
    }
  }

  #ping(group: WorkerGroup, ranks: readonly number[]): void {
    const { attempt } = this.#controller;
    for (const rank of ranks)
      group.ping(rank).then(
        () => this.#handle({ kind: "answered", attempt, rank }),
        // A rank that waits for a decision has no other call that would fail with its process.
        (error: Error) => this.#handle({ kind: "failed", attempt, failure: lostRank(rank, error) }),
      );
  }

  async #probe(ranks: readonly number[]): Promise<void> {
    const { attempt } = this.#controller;
    const silent = (await this.#group?.silentAmong(ranks)) ?? [];
    this.#handle({ kind: "probed", attempt, silent });
  }

  async #lookForRoom(): Promise<void> {
    const { attempt } = this.#controller;
    const group = this.#group as WorkerGroup;
    const { group: request, signal } = this.#options;
    const nodeIds = group.places.map(({ facts }) => facts.nodeId);
    const more = await roomForMore(nodeIds, request.scaling, signal).catch(() => 0);
    this.#room = group.size + more;
    this.#handle({ kind: "room", attempt, workers: this.#room });
  }

  async #endGroup(gently: boolean): Promise<void> {
    const { attempt } = this.#controller;
    // Pending uploads read folders that a rank may remove at its end. After an abort their failure does no harm.
    if (gently) await Promise.race([Promise.allSettled(this.#recording), this.#aborted.promise]);
    const saysGoodbye = gently && !this.#options.signal.aborted;
    await Promise.allSettled([this.#group?.end({ gently: saysGoodbye }), this.#shards?.close()]);
    await Promise.allSettled(this.#recording);
    await this.#folders?.close();
    await this.#agents?.close();
    this.#folders = undefined;
    this.#group = undefined;
    this.#shards = undefined;
    this.#handle({ kind: "ended", attempt });
  }

  #setTimer(name: TimerName, ms: number): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.set(
      name,
      setTimeout(() => this.#handle({ kind: "timer", name }), ms),
    );
  }
}

/** A loop of TypeScript that computes answers nothing, so its processes are pinged only where that is asked for. */
function healthCheckOf({ failureConfig, group }: TrainingRunOptions): ControllerOptions<Checkpoint>["healthCheck"] {
  const { healthCheckIntervalMs: intervalMs, healthCheckTimeoutMs } = failureConfig;
  const timeoutMs = healthCheckTimeoutMs ?? (group.loop.kind === "python" ? HEALTH_CHECK_TIMEOUT_MS : undefined);
  return timeoutMs === undefined ? undefined : { intervalMs, rounds: Math.ceil(timeoutMs / intervalMs) };
}

function reasonOf(error: unknown): { failures: readonly RankFailure[]; isFinal: boolean } {
  if (error instanceof GroupNotStarted) return { failures: error.failures, isFinal: error.isFinal };
  const isFinal = !(error instanceof PlacementGroupRemovedError);
  return { failures: [{ rank: undefined, cause: error instanceof NoRoomError ? "died" : "user", error: asError(error) }], isFinal };
}
