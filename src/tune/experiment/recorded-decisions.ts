/**
 * Records the decisions of schedulers that a run's folder cannot rebuild: those of a user's class, or with functions or domains among their
 * options.
 *
 * `DecisionRecorder` wraps the scheduler of a run. Its decisions on an event are written to the log with that event, so that a program that
 * only looks at the run sees the trials as its driver does. There `RecordedScheduler` gives the same decisions again. `Tuner.restore` has
 * the scheduler itself and ignores them. Decisions are kept in the order of the machine's calls, which follow from the events; the usual
 * ones (go on, nobody, nothing) are null.
 */
import type { Decision, SchedulerAction, SchedulerView, TrialScheduler } from "../scheduler.ts";
import type { Config, JsonValue, Mode, Trial, TrialResult } from "../trials/trial.ts";
import type { TrialFailure } from "./trial-events.ts";
import { failureOf } from "../trials/trial-failure.ts";

/** An error that a scheduler threw. */
interface Thrown {
  readonly threw: TrialFailure;
}

export class DecisionRecorder implements TrialScheduler {
  readonly #scheduler: TrialScheduler;
  #made: unknown[] = [];

  constructor(scheduler: TrialScheduler) {
    this.#scheduler = scheduler;
  }

  get asksAhead(): number {
    return Number(this.#scheduler.asksAhead ?? 0);
  }

  /** The decisions since the last call; undefined where all are the usual ones. */
  take(): unknown[] | undefined {
    const made = this.#made;
    this.#made = [];
    while (made.length > 0 && made.at(-1) === null) made.pop();
    return made.length === 0 ? undefined : made;
  }

  setSearchProperties(metric: string | undefined, mode: Mode | undefined): void {
    this.#scheduler.setSearchProperties(metric, mode);
  }

  onTrialAdd(trial: Trial, view: SchedulerView): void | Config {
    return this.#record(() => this.#scheduler.onTrialAdd(trial, view));
  }

  onTrialResult(trial: Trial, result: TrialResult, view: SchedulerView): Decision {
    return this.#record(() => this.#scheduler.onTrialResult(trial, result, view));
  }

  onTrialComplete(trial: Trial, result: TrialResult | undefined, view: SchedulerView): readonly SchedulerAction[] | void {
    return this.#record(() => this.#scheduler.onTrialComplete(trial, result, view));
  }

  onTrialError(trial: Trial, view: SchedulerView): readonly SchedulerAction[] | void {
    return this.#record(() => this.#scheduler.onTrialError(trial, view));
  }

  onTrialRemove(trial: Trial, view: SchedulerView): readonly SchedulerAction[] | void {
    return this.#record(() => this.#scheduler.onTrialRemove(trial, view));
  }

  chooseTrialToRun(view: SchedulerView): string | undefined {
    return this.#record(() => this.#scheduler.chooseTrialToRun(view));
  }

  onIdle(view: SchedulerView): readonly SchedulerAction[] | void {
    return this.#record(() => this.#scheduler.onIdle?.(view));
  }

  save(): JsonValue {
    return this.#scheduler.save();
  }

  restore(state: JsonValue): void {
    this.#scheduler.restore(state);
  }

  #record<T>(decide: () => T): T {
    // A decision takes its call's place: a scheduler's actions may make the machine call it again before it is done.
    const at = this.#made.push(null) - 1;
    try {
      const decision = decide();
      if (!isUsual(decision)) this.#made[at] = decision;
      return decision;
    } catch (error) {
      this.#made[at] = { threw: failureOf(error) } satisfies Thrown;
      throw error;
    }
  }
}

function isUsual(decision: unknown): boolean {
  return decision === undefined || decision === "continue" || (Array.isArray(decision) && decision.length === 0);
}

/** Replaces a missing scheduler and repeats its recorded decisions. */
export class RecordedScheduler implements TrialScheduler {
  readonly asksAhead: number | boolean;
  #decisions: readonly JsonValue[] = [];
  #next = 0;

  constructor({ asksAhead }: { asksAhead: number | boolean }) {
    this.asksAhead = asksAhead;
  }

  /** Sets the decisions on the machine's next event. */
  expect(decisions: readonly JsonValue[]): void {
    this.#decisions = decisions;
    this.#next = 0;
  }

  setSearchProperties(): void {}

  onTrialAdd(): void | Config {
    return this.#give() as Config | undefined;
  }

  onTrialResult(): Decision {
    return (this.#give() as Decision | undefined) ?? "continue";
  }

  onTrialComplete(): readonly SchedulerAction[] | void {
    return this.#give() as readonly SchedulerAction[] | undefined;
  }

  onTrialError(): readonly SchedulerAction[] | void {
    return this.#give() as readonly SchedulerAction[] | undefined;
  }

  onTrialRemove(): readonly SchedulerAction[] | void {
    return this.#give() as readonly SchedulerAction[] | undefined;
  }

  chooseTrialToRun(): string | undefined {
    return this.#give() as string | undefined;
  }

  onIdle(): readonly SchedulerAction[] | void {
    return this.#give() as readonly SchedulerAction[] | undefined;
  }

  save(): JsonValue {
    return null;
  }

  restore(): void {}

  /** @throws the error that the scheduler threw there */
  #give(): unknown {
    const decision = this.#decisions[this.#next] ?? undefined;
    this.#next += 1;
    if (typeof decision === "object" && !Array.isArray(decision) && "threw" in decision) {
      const { message, ...others } = (decision as unknown as Thrown).threw;
      throw Object.assign(new Error(message), others);
    }
    return decision;
  }
}
