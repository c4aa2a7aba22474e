/**
 * The actor in which trials run, one after the other: functions share it freely, a class keeps its instance for the next trial where `resetConfig` takes the new configuration.
 *
 * The driver's `ActorProcesses` is its only caller: `begin`, then `next` until the trial has ended or left. An instance that makes room for
 * another is cleaned up before. An error of that cleanup is reported before the next trial begins, and is not the next trial's failure.
 */
import { getRuntimeContext } from "../../core/index.ts";
import { describeValue, isClass } from "../../core/internal.ts";
import {
  ClassTrial,
  type ClassTrainable,
  FunctionTrial,
  type TrainableClass,
  type TrainFunction,
  type TrialLoop,
  withinTrial,
} from "./trial-loop.ts";
import type { CleanupFailed, FirstEvent, ProcessAnswer, ProcessEvent, TrialSpec } from "./trial-protocol.ts";

export class TrialActor {
  readonly #trainable: TrainFunction | TrainableClass;
  readonly #parameters: Readonly<Record<string, unknown>> | undefined;
  #loop: TrialLoop | undefined;
  #instance: ClassTrainable | undefined;
  /** The last trial of the instance. */
  #spec: TrialSpec | undefined;

  /** @param names - names for `withParameters`; the values follow, as references are resolved only as arguments */
  constructor(trainable: TrainFunction | TrainableClass, names: readonly string[], ...values: readonly unknown[]) {
    this.#trainable = trainable;
    this.#parameters = names.length === 0 ? undefined : Object.fromEntries(names.map((name, i) => [name, values[i]]));
  }

  async begin(spec: TrialSpec): Promise<FirstEvent | CleanupFailed> {
    const trainable = this.#trainable;
    const parameters = this.#parameters;
    const cleanupFailure = await this.#makeRoom(spec);
    if (cleanupFailure !== undefined) return { cleanupFailure };
    this.#loop = isClass(trainable as never)
      ? new ClassTrial(spec, this.#instanceFor(trainable as TrainableClass, spec))
      : new FunctionTrial(trainable as TrainFunction, { spec, parameters });
    const { nodeId } = getRuntimeContext();
    const first = await this.next(undefined);
    return { ...first, process: { pid: process.pid, nodeId }, savesWhenAsked: this.#instance?.saveCheckpoint !== undefined };
  }

  async next(answer: ProcessAnswer): Promise<ProcessEvent> {
    if (this.#loop === undefined) throw new Error("Cannot go on with a trial: none was begun");
    return await this.#loop.next(answer);
  }

  /** Ends the instance of a class. @returns the error that `cleanup` threw: its trial has ended, and no other is to blame */
  async cleanUp(): Promise<string | undefined> {
    const instance = this.#instance;
    this.#instance = undefined;
    if (instance?.cleanup === undefined) return undefined;
    const { trialId } = this.#spec as TrialSpec;
    try {
      await withinTrial(this.#spec as TrialSpec, () => instance.cleanup?.());
      return undefined;
    } catch (error) {
      return `cleanup() after trial ${trialId} failed: ${error instanceof Error ? `${error.name}: ${error.message}` : describeValue(error)}`;
    }
  }

  /** Ends the instance of the last trial, unless it takes the new configuration. @returns the error that `cleanup` threw */
  async #makeRoom(spec: TrialSpec): Promise<string | undefined> {
    const before = this.#instance;
    const takes = before?.resetConfig !== undefined && (await withinTrial(spec, () => before.resetConfig?.(spec.config as never))) === true;
    return takes ? undefined : await this.cleanUp();
  }

  async #instanceFor(trainable: TrainableClass, spec: TrialSpec): Promise<ClassTrainable> {
    this.#spec = spec;
    if (this.#instance !== undefined) return this.#instance;
    const instance = await withinTrial(spec, () => new trainable());
    if (typeof instance.step !== "function") throw new TypeError(`Cannot run ${trainable.name}: a class of Tune has a method step()`);
    this.#instance = instance;
    await withinTrial(spec, () => instance.setup?.(spec.config as never, this.#parameters as never));
    return instance;
  }
}
