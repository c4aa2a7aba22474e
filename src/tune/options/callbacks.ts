/**
 * The queue of calls to the user's callbacks: one at a time, in the order of the events, beside the loop. The loop waits only when thousands of calls are queued.
 *
 * The first error of each callback is reported. Errors of callbacks do not affect the experiment.
 * `experiment.ts` calls them by the notices of the machine.
 */
import { describeValue, Fifo, messageOf } from "../../core/internal.ts";
import type { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import { CALLBACKS_WAITING_MAX } from "../limits.ts";
import type { Trial, TrialResult } from "../trials/trial.ts";

/** The experiment, for `setup`. */
export interface ExperimentInfo {
  readonly experimentName: string;
  /** The run's folder. */
  readonly experimentPath: string;
  readonly numSamples: number;
  /** How many trials there will be, grids counted; Infinity where nobody knows. */
  readonly totalNumSamples: number;
  /** `stop` of `runConfig`, as it was given. */
  readonly stop: unknown;
}

/** A step of the experiment's loop. */
export interface StepInfo {
  /** Counts the steps of the session from 1. */
  readonly iteration: number;
  /** Trials that have not ended. */
  readonly trials: readonly Trial[];
}

/** Hooks for the events of trials and of the experiment. All may be async. */
export interface TuneCallback {
  /** The session begins, before anything else. */
  setup?(info: ExperimentInfo): unknown;
  /** Something has happened: a trial reported, ended or failed, or a configuration was suggested. `onStepEnd` follows, and between the two come the calls about it. */
  onStepBegin?(info: StepInfo): unknown;
  onStepEnd?(info: StepInfo): unknown;
  onTrialStart?(info: { readonly trial: Trial }): unknown;
  /** The trial has started from a checkpoint: its own, or another's that it exploits. Follows `onTrialStart`. */
  onTrialRestore?(info: { readonly trial: Trial; readonly checkpoint: Checkpoint }): unknown;
  onTrialResult?(info: { readonly trial: Trial; readonly result: TrialResult }): unknown;
  /** The trial has ended well. */
  onTrialComplete?(info: { readonly trial: Trial; readonly result?: TrialResult }): unknown;
  /** The trial has failed and is tried again, from its last checkpoint. */
  onTrialRecover?(info: { readonly trial: Trial; readonly error: Error }): unknown;
  /** The trial has failed and is not tried again. */
  onTrialError?(info: { readonly trial: Trial; readonly error: Error; readonly result?: TrialResult }): unknown;
  onTrialCheckpoint?(info: { readonly trial: Trial; readonly checkpoint: Checkpoint }): unknown;
  /** All trials have ended. */
  onExperimentEnd?(info: { readonly trials: readonly Trial[] }): unknown;
}

const HOOKS = [
  "setup",
  "onStepBegin",
  "onStepEnd",
  "onTrialStart",
  "onTrialRestore",
  "onTrialResult",
  "onTrialComplete",
  "onTrialRecover",
  "onTrialError",
  "onTrialCheckpoint",
  "onExperimentEnd",
] as const;
type Hook = (typeof HOOKS)[number];

/** @throws TypeError for an object without any method of a callback */
export function checkCallback(value: object): asserts value is TuneCallback {
  if (HOOKS.some((hook) => typeof (value as TuneCallback)[hook] === "function")) return;
  throw new TypeError(
    `Cannot use a callback: it has none of the methods ${HOOKS.join(", ")}, and no open() of a tracker: received ${describeValue(value)}`,
  );
}

export class CallbackQueue {
  readonly #callbacks: readonly TuneCallback[];
  readonly #onProblem: (text: string) => void;
  readonly #failed = new Set<TuneCallback>();
  readonly #waiting = new Fifo<readonly [Hook, object]>();
  #work: Promise<void> | undefined;

  constructor(callbacks: readonly TuneCallback[], onProblem: (text: string) => void) {
    this.#callbacks = callbacks;
    this.#onProblem = onProblem;
  }

  call(hook: Hook, info: object): void {
    if (this.#callbacks.length === 0) return;
    this.#waiting.push([hook, info]);
    this.#work ??= this.#drainAll();
  }

  /** Whether there is somebody to call. */
  has(hook: Hook): boolean {
    return this.#callbacks.some((callback) => typeof callback[hook] === "function");
  }

  /** Undefined while the loop may go on. */
  get pressure(): Promise<void> | undefined {
    return this.#waiting.size > CALLBACKS_WAITING_MAX ? this.#work : undefined;
  }

  /** Resolves when all calls are made. */
  async settled(): Promise<void> {
    await this.#work;
  }

  /** Ends `#work` in a later turn than it begins: a callback that throws synchronously drains the queue before `#work` is set. */
  #drainAll(): Promise<void> {
    return this.#drain().then(() => {
      this.#work = this.#waiting.size > 0 ? this.#drainAll() : undefined;
      return this.#work;
    });
  }

  async #drain(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const [hook, info] = next;
      for (const callback of this.#callbacks) {
        try {
          await callback[hook]?.(info as never);
        } catch (error) {
          if (this.#failed.has(callback)) continue;
          this.#failed.add(callback);
          const text = messageOf(error);
          // Objects without a class have no name of their own.
          const { name } = callback.constructor;
          this.#onProblem(`${name === "Object" ? "a callback" : name}.${hook} threw, and goes on being called: ${text}`);
        }
      }
    }
  }
}
