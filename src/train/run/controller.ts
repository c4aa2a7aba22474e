/**
 * Decides what a training run does next: its attempts, the barrier of reports, who is to blame for a failure, and whether the run goes on.
 *
 * A pure state machine: events in, effects out, without a clock, a process or a file. An attempt goes through starting → rendezvous → running → ending, and the run
 * goes to the next attempt or is done. `training-run.ts` carries out the effects and reports their outcomes. Four rules always hold. Reports are recorded one after
 * the other. A report is answered once: after all ranks have arrived and it is recorded; with an asynchronous upload and no stop due, after the earlier report is
 * recorded. The next attempt begins after the last group has ended and its reports are recorded. Events of earlier attempts change nothing.
 */
import type { PreemptionInfo } from "../../core/index.ts";
import { invariant } from "../../core/internal.ts";
import { describeArrivals } from "../ranks/arrivals.ts";
import type { Metrics } from "../../runs/metrics/metrics.ts";
import { SETTLE_AFTER_CAUSE_MS, SETTLE_MS } from "../limits.ts";
import type { RankFailure } from "../ranks/rank-failure.ts";
import type { Arrival, EndedRank, RankDecision, RankEvent, RankReport, StopReason, TrainPreemptionInfo } from "../ranks/rank-protocol.ts";

export interface ControllerOptions<C> {
  /** Failures of a group that are followed by another attempt; -1 is without end, here and below. */
  readonly maxFailures: number;
  /** Groups that could not start; undefined counts them as failures of `maxFailures`. */
  readonly controllerFailureLimit: number | undefined;
  /** Attempts that ended because nodes were drained. */
  readonly maxPreemptionFailures: number;
  /** Whether reports and barriers wait for the ranks of drained nodes. */
  readonly relaxCollectivesOnPreemption: boolean;
  /** How long other ranks may go on after ranks of a drained node are gone. */
  readonly preemptionGraceMs: number;
  /** How long a rank may be without a report; undefined is without limit. */
  readonly reportTimeoutMs: number | undefined;
  /** How often ranks are pinged, and how many rounds one may leave unanswered; undefined pings none. */
  readonly healthCheck: { readonly intervalMs: number; readonly rounds: number } | undefined;
  /** Interval of warnings that name the ranks for which others wait. */
  readonly collectiveWarnIntervalMs: number;
  /** How often an elastic run looks for room; undefined for one of fixed size. */
  readonly resizeIntervalMs: number | undefined;
  readonly maxWorkers: number;
  /** Checkpoint from which the run goes on. */
  readonly checkpoint: C | undefined;
}

/** `late N`: of the rank N, which waits for the others no longer than its call allows. */
export type TimerName = "settle" | "report" | "barrier" | "resize" | "health" | `late ${number}`;

export type ControllerEvent<C> =
  | { kind: "start" }
  /** All processes of the group are there, in their order. */
  | { kind: "started"; attempt: number; workers: number }
  /** The framework's processes have met. */
  | { kind: "met"; attempt: number }
  /** The group could not be made, or a rank failed before its loop began. Final: another attempt would fail in the same way. */
  | { kind: "notStarted"; attempt: number; failures: readonly RankFailure[]; isFinal: boolean }
  | { kind: "rank"; attempt: number; rank: number; event: RankEvent }
  | { kind: "failed"; attempt: number; failure: RankFailure }
  | { kind: "recorded"; report: number; checkpoint: C | undefined; decision: "continue" | "stop" }
  | { kind: "notRecorded"; report: number; failure: RankFailure }
  | { kind: "timer"; name: TimerName }
  /** A rank has answered a ping. */
  | { kind: "answered"; attempt: number; rank: number }
  | { kind: "probed"; attempt: number; silent: readonly number[] }
  /** For how many workers there is room, those of this run included. */
  | { kind: "room"; attempt: number; workers: number }
  /** A node is to go away, and these ranks with it; or the time of that is another. */
  | ({ kind: "preempted"; attempt: number; nodeId: string; ranks: readonly number[] } & PreemptionInfo)
  | { kind: "abort"; error: unknown }
  /** No process of the group is left. */
  | { kind: "ended"; attempt: number };

export type ControllerEffect<C> =
  | { kind: "startGroup"; attempt: number }
  | { kind: "meet" }
  | { kind: "begin"; checkpoint: C | undefined }
  | { kind: "record"; report: number; reports: readonly RankReport[] }
  | { kind: "answer"; ranks: readonly number[]; decision: RankDecision<C> }
  /** A report that was answered before its upload is recorded. `metrics`: by rank. */
  | { kind: "stored"; checkpoint: C; metrics: readonly Metrics[] }
  | { kind: "notify"; ranks: readonly number[]; preemption: TrainPreemptionInfo }
  | { kind: "tellEnd"; ranks: readonly number[]; ended: EndedRank }
  | { kind: "probe"; ranks: readonly number[] }
  | { kind: "ping"; ranks: readonly number[] }
  | { kind: "lookForRoom" }
  | { kind: "setTimer"; name: TimerName; ms: number }
  | { kind: "clearTimer"; name: TimerName }
  | { kind: "warn"; text: string }
  /** `gently`: the loops have ended, and frameworks may say goodbye. */
  | { kind: "endGroup"; gently: boolean }
  | { kind: "attemptFailed"; failures: readonly RankFailure[] }
  | { kind: "finish"; values: readonly unknown[] }
  | { kind: "fail"; failures: readonly RankFailure[]; attempts: number }
  | { kind: "aborted"; error: unknown };

type Phase = "new" | "starting" | "rendezvous" | "running" | "settling" | "ending" | "done";

/** Reason for which a group ends; it decides what comes next. */
type Ending =
  | { kind: "finished"; values: readonly unknown[] }
  | { kind: "failed"; failures: readonly RankFailure[]; isFinal: boolean }
  /** The ranks have stopped as they were told. */
  | { kind: "again" }
  | { kind: "aborted"; error: unknown };

/** A report that is being recorded. */
interface Recording {
  readonly report: number;
  readonly reports: readonly RankReport[];
  /** The ranks wait for it. */
  readonly isAwaited: boolean;
}

/** Stands for the report of a rank that the others did not wait for. */
const NO_REPORT: RankReport = { type: "report", metrics: {}, checkpoint: null, uploadMode: "sync" };

export class TrainingController<C> {
  readonly #options: ControllerOptions<C>;
  #effects: ControllerEffect<C>[] = [];
  #phase: Phase = "new";
  #attempt = 0;
  #failures = 0;
  #startFailures = 0;
  #preemptions = 0;
  #workers = 0;
  #checkpoint: C | undefined;
  /** The point where each rank waits, by rank; finished ranks stay in the map. */
  readonly #arrivals = new Map<number, Arrival>();
  readonly #failed: RankFailure[] = [];
  /** After a failure that a death may have caused: the ranks that have not yet shown that they live. Undefined before they are asked. */
  #suspects: Set<number> | undefined;
  /** Ranks that owe the answer of a ping, with the rounds since. */
  readonly #unanswered = new Map<number, number>();
  /** The last notice of each node that is to go away, with the ranks there. */
  readonly #leaving = new Map<string, PreemptionInfo & { readonly ranks: readonly number[] }>();
  /** All of them together. */
  #preemption: TrainPreemptionInfo | undefined;
  #ending: Ending | undefined;
  #groupHasEnded = false;
  /** The loops of this attempt have begun. */
  #hasBegun = false;
  /** Reports so far, of all attempts. */
  #reports = 0;
  #recording: Recording | undefined;
  #stop: StopReason | undefined;
  /** The stop was told to the ranks. */
  #isStopping = false;

  constructor(options: ControllerOptions<C>) {
    this.#options = options;
    this.#checkpoint = options.checkpoint;
  }

  get phase(): Phase {
    return this.#phase;
  }

  get attempt(): number {
    return this.#attempt;
  }

  /** Attempts that failed; those that could not start where `controllerFailureLimit` counts them, and those that drained nodes ended, are not among them. */
  get failures(): number {
    return this.#failures;
  }

  handle(event: ControllerEvent<C>): ControllerEffect<C>[] {
    this.#effects = [];
    const isOld = "attempt" in event && event.attempt !== this.#attempt;
    if (!isOld && this.#phase !== "done") this.#take(event);
    return this.#effects;
  }

  /** @throws Error for a state that no event may lead to */
  checkInvariants(): void {
    const phase = this.#phase;
    const ranks = [...this.#arrivals.keys(), ...this.#unanswered.keys(), ...(this.#suspects ?? [])];
    for (const rank of ranks) invariant(rank >= 0 && rank < this.#workers, `rank ${rank} is none of ${this.#workers}`);
    invariant(this.#suspects === undefined || this.#failed.length > 0, "ranks are suspected without a failure");
    invariant(phase !== "settling" || this.#failed.length > 0, "the run waits for further failures without a first one");
    invariant(phase !== "ending" || this.#ending !== undefined, "the group ends without a reason");
    invariant(!this.#groupHasEnded || phase === "ending" || phase === "done", `the group has ended, and the run is ${phase}`);
    const { report } = this.#recording ?? { report: this.#reports };
    invariant(report === this.#reports, `report ${report} is being recorded, and the last one is ${this.#reports}`);
    invariant(!this.#isStopping || this.#stop !== undefined, "ranks were told to stop without a reason");
  }

  #take(event: ControllerEvent<C>): void {
    switch (event.kind) {
      case "start":
        return this.#startAttempt();
      case "started":
        return this.#started(event.workers);
      case "met":
        return this.#met();
      case "notStarted":
        return this.#notStarted(event.failures, event.isFinal);
      case "rank":
        return this.#rankCame(event.rank, event.event);
      case "failed":
        return this.#rankFailed([event.failure]);
      case "recorded":
        return this.#recorded(event);
      case "notRecorded":
        return this.#notRecorded(event.report, event.failure);
      case "timer":
        return this.#timeIsUp(event.name);
      case "answered":
        this.#unanswered.delete(event.rank);
        return this.#clearedOfSuspicion([event.rank]);
      case "probed":
        return this.#probed(event.silent);
      case "room":
        return this.#thereIsRoom(event.workers);
      case "preempted":
        return this.#preempted(event);
      case "abort":
        return this.#abort(event.error);
      case "ended":
        this.#groupHasEnded = true;
        return this.#goOnWhenQuiet();
    }
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Attempts

  #startAttempt(): void {
    this.#attempt += 1;
    this.#phase = "starting";
    this.#arrivals.clear();
    this.#failed.length = 0;
    this.#suspects = undefined;
    this.#unanswered.clear();
    this.#leaving.clear();
    this.#preemption = undefined;
    this.#ending = undefined;
    this.#groupHasEnded = false;
    this.#hasBegun = false;
    this.#stop = undefined;
    this.#isStopping = false;
    this.#emit({ kind: "startGroup", attempt: this.#attempt });
  }

  #started(workers: number): void {
    if (this.#phase !== "starting") return;
    this.#workers = workers;
    this.#phase = "rendezvous";
    this.#emit({ kind: "meet" });
  }

  #met(): void {
    if (this.#phase !== "rendezvous") return;
    this.#phase = "running";
    this.#hasBegun = true;
    this.#emit({ kind: "begin", checkpoint: this.#checkpoint });
    this.#awaitReports();
    const { resizeIntervalMs, maxWorkers, healthCheck } = this.#options;
    if (healthCheck !== undefined) this.#emit({ kind: "setTimer", name: "health", ms: healthCheck.intervalMs });
    if (resizeIntervalMs !== undefined && this.#workers < maxWorkers)
      this.#emit({ kind: "setTimer", name: "resize", ms: resizeIntervalMs });
    if (this.#preemption !== undefined) this.#leaveSoon(this.#preemption);
  }

  #notStarted(failures: readonly RankFailure[], isFinal: boolean): void {
    if (this.#phase !== "starting" && this.#phase !== "rendezvous") return;
    this.#end({ kind: "failed", failures, isFinal }, { gently: false });
  }

  /** Ends the group; `#goOnWhenQuiet` decides what follows. */
  #end(ending: Ending, { gently }: { gently: boolean }): void {
    if (this.#phase === "ending") return;
    this.#phase = "ending";
    this.#ending = ending;
    this.#clearTimers("settle", "report", "barrier", "resize", "health");
    this.#emit({ kind: "endGroup", gently });
  }

  /** Once the group is gone and everything that it reported is recorded, or lost. */
  #goOnWhenQuiet(): void {
    if (this.#phase !== "ending" || !this.#groupHasEnded || this.#recording !== undefined) return;
    const ending = this.#ending as Ending;
    if (ending.kind === "finished" || ending.kind === "aborted") {
      this.#phase = "done";
      return this.#emit(ending.kind === "finished" ? { kind: "finish", values: ending.values } : { kind: "aborted", error: ending.error });
    }
    if (ending.kind === "failed") this.#emit({ kind: "attemptFailed", failures: ending.failures });
    const refusal = this.#refusalOfAnother(ending);
    if (refusal === undefined) return this.#startAttempt();
    // Ranks that left because their node was announced to go away are failures only where no other attempt may follow.
    if (ending.kind === "again") this.#emit({ kind: "attemptFailed", failures: refusal });
    this.#phase = "done";
    this.#emit({ kind: "fail", failures: refusal, attempts: this.#attempt });
  }

  /** Counts the end of an attempt. The failures that the run ends with where no other attempt may follow, else undefined. */
  #refusalOfAnother(ending: Extract<Ending, { kind: "again" | "failed" }>): readonly RankFailure[] | undefined {
    const { maxFailures, controllerFailureLimit, maxPreemptionFailures } = this.#options;
    if (ending.kind === "again" && this.#stop !== "preempted") return undefined;
    if (ending.kind === "again" || ending.failures.some((failure) => this.#isOfPreemption(failure))) {
      this.#preemptions += 1;
      if (isWithin(this.#preemptions, maxPreemptionFailures)) return undefined;
      return ending.kind === "again"
        ? (this.#preemption?.preemptedRanks ?? []).map(preemptionOf)
        : ending.failures.map((each) => this.#asPreemption(each));
    }
    if (ending.isFinal) return ending.failures;
    if (!this.#hasBegun && controllerFailureLimit !== undefined) {
      this.#startFailures += 1;
      return isWithin(this.#startFailures, controllerFailureLimit) ? undefined : ending.failures;
    }
    this.#failures += 1;
    return isWithin(this.#failures, maxFailures) ? undefined : ending.failures;
  }

  /** A node that was announced to go away took its ranks along. Errors of other ranks then follow from it. */
  #isOfPreemption({ rank, cause }: RankFailure): boolean {
    return rank !== undefined && this.#preemption?.preemptedRanks.includes(rank) === true && cause === "died";
  }

  #asPreemption(failure: RankFailure): RankFailure {
    return this.#isOfPreemption(failure) ? { ...failure, cause: "preempted" } : failure;
  }

  #abort(error: unknown): void {
    if (this.#phase === "new") {
      this.#phase = "done";
      this.#emit({ kind: "aborted", error });
    } else if (this.#phase === "ending") this.#ending = { kind: "aborted", error };
    else this.#end({ kind: "aborted", error }, { gently: false });
  }

  // -------------------------------------------------------------------------------------------------------------------
  // The barrier

  #rankCame(rank: number, event: RankEvent): void {
    if (event.type === "failed") return this.#rankFailed([{ rank, cause: event.cause, error: event.error }]);
    if (this.#phase !== "running") return;
    // A loop that is told to stop ends in its own way, be it with a result.
    const hasEnded = event.type === "stopped" || event.type === "finished";
    this.#arrivals.set(rank, hasEnded ? { type: "finished", value: event.type === "finished" ? event.value : undefined } : event);
    if (hasEnded && event.operations !== undefined) this.#tellEnd({ rank, operations: event.operations });
    const arrivals = [...this.#arrivals.values()];
    const isOne = new Set(arrivals.map((each) => (each.type === "barrier" ? each.name : each.type))).size === 1;
    if (!isOne && !this.#isStopping) return this.#disagree();
    if (this.#missing().length > 0) {
      if (event.type === "barrier" && event.timeoutMs !== undefined)
        this.#emit({ kind: "setTimer", name: `late ${rank}`, ms: event.timeoutMs });
      if (this.#arrivals.size === 1) this.#emit({ kind: "setTimer", name: "barrier", ms: this.#options.collectiveWarnIntervalMs });
      return;
    }
    this.#emit({ kind: "clearTimer", name: "barrier" });
    this.#complete();
  }

  /** Ranks that wait for this one in an operation on arrays would wait for ever. */
  #tellEnd(ended: EndedRank): void {
    const ranks = this.#missing();
    if (ranks.length > 0) this.#emit({ kind: "tellEnd", ranks, ended });
  }

  /** Called when all awaited ranks have arrived. */
  #complete(): void {
    const awaited = this.#ranks().filter((rank) => this.#isAwaited(rank));
    const came = awaited.map((rank) => this.#arrivals.get(rank) as Arrival);
    if (came.every(({ type }) => type === "finished")) return this.#allFinished();
    // After a stop some ranks may end and others report once more: those are told again.
    if (this.#isStopping) return this.#answer({ action: "stop", reason: this.#stop as StopReason });
    const [first] = came as [Arrival];
    if (first.type === "barrier") return this.#answer({ action: "continue", value: first.value });
    this.#emit({ kind: "clearTimer", name: "report" });
    // An upload goes on: `#recorded` comes back here. So at most one lasts longer than its report.
    if (this.#recording !== undefined) return;
    // The scheduler has decided on an earlier report after that was answered: the loop would not have come here.
    if (this.#stop === "scheduler") return this.#answer({ action: "stop", reason: "scheduler" });
    this.#record(this.#ranks().map((rank) => this.#reportOf(rank)));
  }

  #record(reports: readonly RankReport[]): void {
    this.#reports += 1;
    const report = this.#reports;
    const isUploading = reports.some(({ uploadMode, checkpoint }) => checkpoint !== null && uploadMode === "async");
    // A move needs the checkpoint, so a report that may be followed by one is waited for.
    const isAwaited = !isUploading || this.#stop !== undefined;
    this.#recording = { report, reports, isAwaited };
    this.#emit({ kind: "record", report, reports });
    if (!isAwaited) this.#answer({ action: "continue", isUploading: true });
  }

  #reportOf(rank: number): RankReport {
    const arrival = this.#arrivals.get(rank);
    return arrival?.type === "report" ? arrival : NO_REPORT;
  }

  #allFinished(): void {
    if (this.#isStopping && this.#stop !== "scheduler") return this.#end({ kind: "again" }, { gently: this.#failed.length === 0 });
    const values = this.#ranks().map((rank) => {
      const arrival = this.#arrivals.get(rank);
      return arrival?.type === "finished" ? arrival.value : undefined;
    });
    this.#end({ kind: "finished", values }, { gently: true });
  }

  #disagree(): void {
    const error = new Error(describeArrivals(this.#arrivals));
    this.#rankFailed([...this.#arrivals.keys()].map((rank) => ({ rank, cause: "disagreement", error })));
  }

  /** Lets the ranks that wait go on. */
  #answer(decision: RankDecision<C>): void {
    const ranks = [...this.#arrivals].filter(([, { type }]) => type !== "finished").map(([rank]) => rank);
    this.#clearTimers(...this.#limitedRanks());
    for (const rank of ranks) this.#arrivals.delete(rank);
    if (decision.action === "stop") this.#isStopping = true;
    this.#emit({ kind: "answer", ranks, decision });
    this.#awaitReports();
  }

  /** Lets one rank go on without the others: its call has waited for as long as it was to. */
  #isLate(rank: number): void {
    const arrival = this.#arrivals.get(rank);
    if (arrival?.type !== "barrier" || arrival.timeoutMs === undefined) return;
    const missing = this.#missing();
    this.#arrivals.delete(rank);
    this.#emit({ kind: "answer", ranks: [rank], decision: { action: "late", timeoutMs: arrival.timeoutMs, missing } });
  }

  /** The timers of the ranks that wait for a limited time. */
  #limitedRanks(): TimerName[] {
    const isLimited = (arrival: Arrival): boolean => arrival.type === "barrier" && arrival.timeoutMs !== undefined;
    return [...this.#arrivals].filter(([, arrival]) => isLimited(arrival)).map(([rank]): TimerName => `late ${rank}`);
  }

  #clearTimers(...names: readonly TimerName[]): void {
    for (const name of names) this.#emit({ kind: "clearTimer", name });
  }

  #awaitReports(): void {
    const { reportTimeoutMs } = this.#options;
    if (reportTimeoutMs !== undefined) this.#emit({ kind: "setTimer", name: "report", ms: reportTimeoutMs });
  }

  #recorded({ report, checkpoint, decision }: Extract<ControllerEvent<C>, { kind: "recorded" }>): void {
    const recording = this.#recording;
    if (recording?.report !== report) return;
    this.#recording = undefined;
    if (checkpoint !== undefined) this.#checkpoint = checkpoint;
    if (decision === "stop") this.#stop = "scheduler";
    if (this.#phase !== "running") return this.#goOnWhenQuiet();
    if (!recording.isAwaited) {
      const metrics = recording.reports.map((each) => each.metrics);
      if (checkpoint !== undefined) this.#emit({ kind: "stored", checkpoint, metrics });
      // The ranks may have come to the next report meanwhile.
      if (this.#arrivals.size > 0 && this.#missing().length === 0) this.#complete();
      return;
    }
    // A scheduler may stop the run at any report; preemption and resizing wait for a report with a checkpoint, so that no progress is lost.
    const stops = this.#stop === "scheduler" || (this.#stop !== undefined && checkpoint !== undefined);
    this.#answer(stops ? { action: "stop", reason: this.#stop as StopReason, checkpoint } : { action: "continue", checkpoint });
  }

  #notRecorded(report: number, failure: RankFailure): void {
    if (this.#recording?.report !== report) return;
    this.#recording = undefined;
    if (this.#phase === "ending") {
      // The run must not count as a success without its reports.
      if (this.#ending?.kind === "finished") this.#ending = { kind: "failed", failures: [failure], isFinal: false };
      return this.#goOnWhenQuiet();
    }
    this.#rankFailed([failure]);
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Failures

  /** Handles ranks' failures. Waits shortly for further ones, because ranks often fail from another rank's end before that end is known. */
  #rankFailed(failures: readonly RankFailure[]): void {
    if (this.#phase === "starting" || this.#phase === "rendezvous") return this.#notStarted(failures, false);
    if (this.#phase !== "running" && this.#phase !== "settling") return;
    const knewCause = this.#failed.some(({ cause }) => cause !== "communication");
    const knewLoss = this.#failed.some((each) => this.#isOfPreemption(each));
    for (const failure of failures)
      if (failure.rank === undefined || !this.#failed.some(({ rank }) => rank === failure.rank)) this.#failed.push(failure);
    const knowsCause = this.#failed.some(({ cause }) => cause !== "communication");
    const knowsLoss = this.#failed.some((each) => this.#isOfPreemption(each));
    const hasGrace = this.#phase === "running" && this.#preemption !== undefined && this.#options.preemptionGraceMs > 0;
    if (!hasGrace) this.#phase = "settling";
    this.#clearTimers("report", "barrier", "resize", "health", ...this.#limitedRanks());
    const areAll = this.#ranks().every((rank) => this.#hasFailed(rank));
    if (areAll && knowsCause) this.#settled();
    else if (hasGrace && knowsLoss) {
      // A report of a rank that is gone cannot be stored.
      for (const { rank } of this.#failed) if (rank !== undefined) this.#arrivals.delete(rank);
      if (!knewLoss) this.#emit({ kind: "setTimer", name: "settle", ms: this.#options.preemptionGraceMs });
      // The other ranks may have waited for those that are gone.
      if (this.#recording?.isAwaited !== true && this.#arrivals.size > 0 && this.#missing().length === 0) this.#complete();
    } else if (this.#suspects !== undefined) this.#clearedOfSuspicion(failures.flatMap(({ rank }) => rank ?? []));
    else if (!knewCause) this.#emit({ kind: "setTimer", name: "settle", ms: knowsCause ? SETTLE_AFTER_CAUSE_MS : SETTLE_MS });
  }

  /**
   * The time for other failures is over. A death that nobody has reported may still have caused those that are known: a rank that waits for a
   * decision has no call open, and the news of a death may be slow. So the other ranks are asked whether they live.
   */
  #settle(): void {
    const knowsEnd = this.#failed.some(({ cause }) => cause === "died" || cause === "hung" || cause === "storage");
    const alive = this.#ranks().filter((rank) => !this.#hasFailed(rank));
    if (knowsEnd || alive.length === 0 || this.#suspects !== undefined) return this.#settled();
    this.#phase = "settling";
    this.#suspects = new Set(alive);
    this.#emit({ kind: "ping", ranks: alive });
    this.#emit({ kind: "setTimer", name: "settle", ms: SETTLE_MS });
  }

  #clearedOfSuspicion(ranks: readonly number[]): void {
    if (this.#suspects === undefined || this.#phase !== "settling") return;
    for (const rank of ranks) this.#suspects.delete(rank);
    if (this.#suspects.size === 0) this.#settled();
  }

  #settled(): void {
    this.#end({ kind: "failed", failures: [...this.#failed], isFinal: false }, { gently: false });
  }

  #timeIsUp(name: TimerName): void {
    if (name === "settle" && this.#failed.length > 0) return this.#settle();
    if (this.#phase !== "running") return;
    if (name.startsWith("late ")) this.#isLate(Number(name.slice("late ".length)));
    if (name === "health") this.#checkHealth();
    if (name === "resize") this.#emit({ kind: "lookForRoom" });
    if (name === "report") this.#emit({ kind: "probe", ranks: this.#missing() });
    if (name === "barrier") {
      const text = describeArrivals(this.#arrivals, { missing: this.#missing(), ms: this.#options.collectiveWarnIntervalMs });
      this.#emit({ kind: "warn", text });
      this.#emit({ kind: "setTimer", name: "barrier", ms: this.#options.collectiveWarnIntervalMs });
    }
  }

  /** Counts a round of pings, and begins the next. Rounds, as a controller that was frozen itself has made none meanwhile. */
  #checkHealth(): void {
    const { healthCheck } = this.#options;
    if (healthCheck === undefined) return;
    const { intervalMs, rounds } = healthCheck;
    const alive = this.#ranks().filter((rank) => !this.#hasFailed(rank));
    const free = alive.filter((rank) => !this.#unanswered.has(rank));
    for (const [rank, count] of this.#unanswered) this.#unanswered.set(rank, count + 1);
    for (const rank of free) this.#unanswered.set(rank, 0);
    const silent = alive.filter((rank) => (this.#unanswered.get(rank) ?? 0) >= rounds);
    if (silent.length > 0) {
      const error = (): Error =>
        new Error(`its process has not answered for ${rounds * intervalMs} ms (healthCheckTimeoutMs of failureConfig)`);
      return this.#rankFailed(silent.map((rank) => ({ rank, cause: "hung", error: error() })));
    }
    if (free.length > 0) this.#emit({ kind: "ping", ranks: free });
    this.#emit({ kind: "setTimer", name: "health", ms: intervalMs });
  }

  /** Blames the late ranks whose process does not answer; where all processes answer, all late ranks. */
  #probed(silent: readonly number[]): void {
    if (this.#phase !== "running") return;
    const late = this.#missing();
    const hung = silent.filter((rank) => late.includes(rank));
    const { reportTimeoutMs } = this.#options;
    const blamed = hung.length > 0 ? hung : late;
    if (blamed.length === 0) return;
    this.#rankFailed(
      blamed.map((rank) => ({
        rank,
        cause: "hung",
        error: new Error(
          `rank ${rank} has not reported for ${reportTimeoutMs} ms (reportTimeoutMs)${hung.length > 0 ? ", and its process does not answer" : ""}`,
        ),
      })),
    );
  }

  #missing(): number[] {
    return this.#ranks().filter((rank) => !this.#arrivals.has(rank) && this.#isAwaited(rank));
  }

  #ranks(): number[] {
    return Array.from({ length: this.#workers }, (_, rank) => rank);
  }

  #hasFailed(rank: number): boolean {
    return this.#failed.some((failure) => failure.rank === rank);
  }

  /** Within the grace after a preemption, loops that are told to end do so without the ranks that failed, and reports are made without those that are gone, where that was asked for. */
  #isAwaited(rank: number): boolean {
    const gone = this.#failed.filter((failure) => this.#isOfPreemption(failure)).map((failure) => failure.rank);
    if (this.#isStopping && gone.length > 0) return !this.#hasFailed(rank);
    // The metrics of a run are those of rank 0.
    return !this.#options.relaxCollectivesOnPreemption || gone.includes(0) || !gone.includes(rank);
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Moves

  #thereIsRoom(workers: number): void {
    const { resizeIntervalMs, maxWorkers } = this.#options;
    if (this.#phase !== "running" || resizeIntervalMs === undefined) return;
    if (Math.min(workers, maxWorkers) > this.#workers) this.#stop ??= "resize";
    else this.#emit({ kind: "setTimer", name: "resize", ms: resizeIntervalMs });
  }

  /** A node that is drained again has another deadline, be it sooner or later. */
  #preempted({ nodeId, ranks, reason, deadlineMs }: Extract<ControllerEvent<C>, { kind: "preempted" }>): void {
    this.#leaving.set(nodeId, { ranks, reason, deadlineMs });
    const notices = [...this.#leaving.values()];
    const deadlines = notices.flatMap((notice) => notice.deadlineMs ?? []);
    this.#preemption = {
      reason,
      deadlineMs: deadlines.length === 0 ? undefined : Math.min(...deadlines),
      preemptedNodeToRanks: Object.fromEntries(Array.from(this.#leaving, ([id, notice]) => [id, notice.ranks])),
      preemptedRanks: notices.flatMap((notice) => notice.ranks).sort((a, b) => a - b),
    };
    // Before the loops begin nobody listens: they are told then.
    if (this.#phase === "running") this.#leaveSoon(this.#preemption);
  }

  #leaveSoon(preemption: TrainPreemptionInfo): void {
    if (this.#stop === undefined || this.#stop === "resize") this.#stop = "preempted";
    // All ranks are told: they stop together.
    this.#emit({ kind: "notify", ranks: this.#ranks(), preemption });
  }

  #emit(effect: ControllerEffect<C>): void {
    this.#effects.push(effect);
  }
}

/** Whether so many are allowed; -1 is without end. */
function isWithin(count: number, max: number): boolean {
  return max === -1 || count <= max;
}

/** The failure of a rank that stopped in time, where no other attempt may follow. */
function preemptionOf(rank: number): RankFailure {
  return { rank, cause: "preempted", error: new Error("its node is drained") };
}
