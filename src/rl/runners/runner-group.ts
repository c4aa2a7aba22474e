/**
 * The runners of an algorithm: one in this process, or some in actors.
 *
 * An iteration costs one call a runner: the weights go there by a reference, the columns come back by one. Answers are taken in the order of the runners.
 * A runner is replaced after a pause when the process has died or gives no answer in time. The iteration goes on with the others.
 */
import {
  ActorDiedError,
  type ActorHandle,
  ActorUnavailableError,
  kill,
  NodeDiedError,
  type ObjectRef,
  OutOfMemoryError,
  put,
  ready,
  remote,
  TaskError,
  TaskTimeoutError,
  terminate,
} from "../../core/index.ts";
import { messageOf, nameUnsent } from "../../core/internal.ts";
import type { RunnerView } from "../callbacks/runner-callbacks.ts";
import { EnvironmentDiedError, RLError } from "../errors.ts";
import { FAILURES_IN_A_ROW_MAX, LEAVE_WITHIN_MS } from "../limits.ts";
import type { Runner, RunnerPolicies, RunnerSpec, Sample, SampleRequest, Weights } from "./env-runner.ts";
import { cutOff } from "./cut-off.ts";
import { makeRunner } from "./make-runner.ts";
import { RunnerActor } from "./runner-actor.ts";

interface GroupOptions {
  /** 0: this process samples. */
  readonly numEnvRunners: number;
  /** Whether anybody samples at all. */
  readonly isSampling: boolean;
  readonly numCpusPerEnvRunner: number;
  readonly sampleTimeoutMs: number;
  readonly restartFailedEnvRunners: boolean;
  readonly ignoreEnvRunnerFailures: boolean;
  readonly maxNumEnvRunnerRestarts: number;
  readonly delayBetweenEnvRunnerRestartsMs: number;
  /** The spec of a runner, by its place from 0. */
  readonly specOf: (place: number) => RunnerSpec;
}

/** The place of a runner in its group. */
interface Slot {
  readonly place: number;
  handle: ActorHandle<RunnerActor> | undefined;
  /** Failures since the last answer. */
  failures: number;
  /** Resolves when a replacement may be started. */
  pause: Promise<void> | undefined;
}

/** Where a slot has nobody for good. */
const isOut = ({ handle, pause }: Slot): boolean => handle === undefined && pause === undefined;

export class RunnerGroup {
  readonly #options: GroupOptions;
  readonly #local: Runner | undefined;
  readonly #slots: Slot[] = [];
  #restarts = 0;
  #isStopped = false;

  /** Starts the runners. @throws EnvironmentError where the environments of this process cannot be made */
  constructor(options: GroupOptions) {
    this.#options = options;
    if (options.numEnvRunners === 0 && options.isSampling) this.#local = makeRunner(options.specOf(0));
    for (let place = 0; place < options.numEnvRunners; place += 1)
      this.#slots.push({ place, handle: this.#start(place), failures: 0, pause: undefined });
  }

  /** Runners that were replaced. */
  get restarts(): number {
    return this.#restarts;
  }

  #start(place: number): ActorHandle<RunnerActor> {
    try {
      return remote(RunnerActor, { numCpus: this.#options.numCpusPerEnvRunner }).remote(this.#options.specOf(place));
    } catch (error) {
      throw nameUnsent(error, () => "the environment or the module");
    }
  }

  /** Samples with all runners. @param request - the steps of each runner */
  async sample(weights: Weights, request: SampleRequest, signal?: AbortSignal): Promise<Sample[]> {
    signal?.throwIfAborted();
    if (this.#local !== undefined) {
      this.#local.setWeights(weights);
      return [await this.#local.sample(request, signal)];
    }
    const reference = put(weights);
    try {
      for (;;) {
        const answers = await Promise.all(this.#slots.map((slot) => this.#sampleWith(slot, reference, { request, signal })));
        const samples = answers.filter((answer) => answer !== undefined);
        if (samples.length > 0) return samples;
        if (this.#slots.every(isOut)) throw new RLError("Cannot sample: all runners have ended. restartFailedEnvRunners replaces them");
        // A replacement is on the way: without a sample there is nothing to learn from.
        await cutOff(Promise.race(this.#slots.map(({ pause }) => pause ?? new Promise<void>(() => {}))), signal);
      }
    } finally {
      reference[Symbol.dispose]();
    }
  }

  /** The places of runners in processes; none where this process samples. */
  get places(): readonly number[] {
    return this.#slots.map(({ place }) => place);
  }

  /** Waits until there is a runner at a place. @returns false where there is none for good */
  async waitFor(place: number): Promise<boolean> {
    const slot = this.#slotAt(place);
    while (slot.pause !== undefined) await slot.pause;
    return slot.handle !== undefined && !this.#isStopped;
  }

  /** Samples with one runner. @returns nothing where the runner is away */
  async sampleAt(place: number, weights: ObjectRef<Weights>, request: SampleRequest): Promise<Sample | undefined> {
    return await this.#sampleWith(this.#slotAt(place), weights, { request, signal: undefined });
  }

  #slotAt(place: number): Slot {
    const slot = this.#slots[place];
    if (slot === undefined) throw new RangeError(`Cannot sample: there is no runner ${place}`);
    return slot;
  }

  /** @returns nothing where the runner is away */
  async #sampleWith(
    slot: Slot,
    weights: ObjectRef<Weights>,
    { request, signal }: { request: SampleRequest; signal: AbortSignal | undefined },
  ): Promise<Sample | undefined> {
    const { handle } = slot;
    if (handle === undefined) return undefined;
    const { sampleTimeoutMs } = this.#options;
    const limits = { timeoutMs: sampleTimeoutMs, ...(signal === undefined ? {} : { signal }) };
    try {
      const sample = await handle.sample.options(limits).remote(weights, request);
      slot.failures = 0;
      return sample;
    } catch (error) {
      signal?.throwIfAborted();
      await this.#failed(slot, handle, error);
      return undefined;
    }
  }

  /** Ends a failed runner, and has another started after a pause. @throws where none is started again */
  async #failed(slot: Slot, handle: ActorHandle<RunnerActor>, error: unknown): Promise<void> {
    const { restartFailedEnvRunners, ignoreEnvRunnerFailures, maxNumEnvRunnerRestarts, delayBetweenEnvRunnerRestartsMs } = this.#options;
    // A call to the same process has failed before this one.
    if (slot.handle !== handle) return;
    slot.handle = undefined;
    slot.failures += 1;
    await kill(handle).catch(() => {});
    if (this.#isStopped) throw error;
    const isFault = isOfProcess(error);
    const mayRestart =
      restartFailedEnvRunners && isFault && this.#restarts < maxNumEnvRunnerRestarts && slot.failures < FAILURES_IN_A_ROW_MAX;
    if (!mayRestart) {
      if (ignoreEnvRunnerFailures) return;
      throw isFault
        ? new RLError(`Cannot sample: runner ${slot.place + 1} ended: ${messageOf(error)}`, { cause: error })
        : userError(error);
    }
    this.#restarts += 1;
    slot.pause = new Promise<void>((resolve) => setTimeout(resolve, delayBetweenEnvRunnerRestartsMs)).then(() => {
      slot.pause = undefined;
      if (!this.#isStopped) slot.handle = this.#start(slot.place);
    });
  }

  /** Lets all runners go on with other policies. A runner that is lost meanwhile is replaced by one of the new spec. */
  async setPolicies(policies: RunnerPolicies): Promise<void> {
    await this.#local?.setPolicies?.(policies);
    await this.#withAll(async (handle) => await handle.setPolicies.options({ timeoutMs: this.#options.sampleTimeoutMs }).remote(policies));
  }

  /** Calls a function in each runner that lives. @returns its answers, in the runners' order */
  async forEach<R>(run: (runner: RunnerView) => R | Promise<R>): Promise<R[]> {
    if (this.#local !== undefined) return [await run({ env: this.#local.env, workerIndex: 0 })];
    const { sampleTimeoutMs: timeoutMs } = this.#options;
    return await this.#withAll(
      async (handle) => (await handle.apply.options({ timeoutMs }).remote(run as (runner: RunnerView) => never)) as R,
    );
  }

  async #withAll<R>(call: (handle: ActorHandle<RunnerActor>) => Promise<R>): Promise<R[]> {
    const answers = await Promise.all(
      this.#slots.map(async (slot) => {
        const { handle } = slot;
        if (handle === undefined) return [];
        try {
          return [await call(handle)];
        } catch (error) {
          await this.#failed(slot, handle, error);
          return [];
        }
      }),
    );
    return answers.flat();
  }

  /** The states of all runners, in their order. */
  async getStates(): Promise<(object | undefined)[]> {
    if (this.#local !== undefined) return [this.#local.getState()];
    return await Promise.all(
      this.#slots.map(async ({ handle }) => {
        try {
          return await handle?.getState.options({ timeoutMs: this.#options.sampleTimeoutMs }).remote();
        } catch (error) {
          // A runner that is lost begins new episodes, in a restored run as in this one.
          if (isOfProcess(error)) return undefined;
          throw error;
        }
      }),
    );
  }

  async setStates(states: readonly (object | null | undefined)[]): Promise<void> {
    if (this.#local !== undefined && states[0] != null) this.#local.setState(states[0] as never);
    await Promise.all(
      this.#slots.map(async ({ handle, place }) => {
        const state = states[place];
        if (handle !== undefined && state != null) await handle.setState.remote(state);
      }),
    );
  }

  /** Waits until all runners have made their environments. @throws the error of the first that could not */
  async ready(): Promise<void> {
    try {
      await this.#local?.ready?.();
      await Promise.all(this.#slots.map(async ({ handle }) => (handle === undefined ? undefined : await ready(handle))));
    } catch (error) {
      throw userError(error);
    }
  }

  /** Ends all runners. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#local?.close();
    await Promise.all(
      this.#slots.map(async (slot) => {
        const { handle } = slot;
        slot.handle = undefined;
        if (handle === undefined) return;
        try {
          await handle.close.options({ timeoutMs: LEAVE_WITHIN_MS }).remote();
          await terminate(handle);
        } catch {
          await kill(handle).catch(() => {});
        }
      }),
    );
  }
}

/** Whether an error says that the process is gone, or that it stands still. */
export function isOfProcess(error: unknown): boolean {
  const types = [ActorDiedError, ActorUnavailableError, EnvironmentDiedError, NodeDiedError, OutOfMemoryError, TaskTimeoutError];
  return types.some((type) => error instanceof type);
}

/** The error of the user's code behind that of a call. */
export function userError(error: unknown): unknown {
  return error instanceof TaskError || error instanceof ActorDiedError ? (error.cause ?? error) : error;
}
