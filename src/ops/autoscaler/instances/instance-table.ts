/**
 * The table of instances in the head, and the right to change it: one autoscaler acts at a time.
 *
 * An autoscaler that begins to act gets a number greater than all before (the fence). Each step carries the number, and a step with
 * an older one is refused, so an autoscaler that was away for a while changes nothing. Pure but for the tables that it is given.
 */
import type { DurableTable } from "../../../runtime/extension/extension.ts";
import { ENDED_KEPT_MAX } from "../limits.ts";
import { type Instance, isEnded } from "./instance.ts";

/** Facts that outlive the head: the fence, and the cluster file that `shoal up` gave last. */
export interface AutoscalerState {
  readonly fence: number;
  /** Counts the cluster files. */
  readonly configVersion: number;
  readonly configText: string;
}

/** Refuses a step, because another autoscaler acts. */
class FencedError extends Error {
  override readonly name = "FencedError";
}

const KEY = "state";
const NONE: AutoscalerState = { fence: 0, configVersion: 0, configText: "" };

export class InstanceTable {
  readonly #instances: DurableTable<Instance>;
  readonly #states: DurableTable<AutoscalerState>;
  readonly #actsForMs: number;
  #owner: string | undefined;
  #heardMs = 0;

  constructor(tables: { instances: DurableTable<Instance>; states: DurableTable<AutoscalerState> }, { actsForMs }: { actsForMs: number }) {
    this.#instances = tables.instances;
    this.#states = tables.states;
    this.#actsForMs = actsForMs;
  }

  get state(): AutoscalerState {
    return this.#states.get(KEY) ?? NONE;
  }

  /** Gives the right to act, unless another owner was heard lately. @returns the fence; undefined while another acts */
  acquire(owner: string, nowMs: number): number | undefined {
    const isOther = this.#owner !== undefined && this.#owner !== owner;
    if (isOther && nowMs - this.#heardMs < this.#actsForMs) return undefined;
    const fence = this.state.fence + 1;
    this.#states.set(KEY, { ...this.state, fence });
    this.#owner = owner;
    this.#heardMs = nowMs;
    return fence;
  }

  /** @throws FencedError for the step of an autoscaler that acts no more */
  commit(fence: number, steps: readonly Instance[], nowMs: number): void {
    const { fence: current } = this.state;
    if (fence !== current) throw new FencedError(`another autoscaler acts: received fence ${fence}, and the present one is ${current}`);
    this.#heardMs = nowMs;
    for (const step of steps) this.#instances.set(step.id, step);
    this.#forgetEnded();
  }

  configure(configText: string): number {
    const configVersion = this.state.configVersion + 1;
    this.#states.set(KEY, { ...this.state, configText, configVersion });
    return configVersion;
  }

  /** Returns instances in the order of their ids, from the one after `after` on. */
  page(after: string, limit: number): Instance[] {
    return Array.from(this.#instances.entries(), ([, instance]) => instance)
      .filter(({ id }) => id > after)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit);
  }

  #forgetEnded(): void {
    const ended = Array.from(this.#instances.entries(), ([, instance]) => instance).filter(isEnded);
    if (ended.length <= ENDED_KEPT_MAX) return;
    ended.sort((a, b) => a.sinceMs - b.sinceMs);
    for (const { id } of ended.slice(0, ended.length - ENDED_KEPT_MAX)) this.#instances.delete(id);
  }
}
