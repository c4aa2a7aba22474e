/**
 * Connectors: steps that change encoded observations and rewards between an environment and a module.
 *
 * A connector takes the columns of a step, one row an environment, and returns others. It may remember something of each environment, such as its last frames, and it may learn
 * something of all of them, such as a mean. Increments are kept by environment and are merged in their order, so a run does not depend on the number of runners.
 */
import type { Box } from "../spaces/box.ts";

export interface ConnectorColumns {
  readonly rows: number;
  /** Encoded observations, `[rows x size]`. */
  readonly obs: Float32Array;
  /** The actions that led to them, choices as one-hot numbers; zeros where an episode begins. */
  readonly actions: Float32Array;
  /** The rewards of these actions. */
  readonly rewards: Float64Array;
}

export interface ConnectorContext {
  /** Whether the steps are learnt from. Else nothing is learnt of them here, either. */
  readonly training: boolean;
  /** By row: 1 where an episode begins. */
  readonly episodeStarts: Uint8Array;
  /** By row: the environment. */
  readonly environments: Int32Array;
}

/** Everything that a connector knows before its first call. */
export interface ConnectorSetup {
  /** The encoded observations that come in. */
  readonly space: Box;
  /** Numbers of an encoded action. */
  readonly actionSize: number;
}

/** A connector in a checkpoint: class name, options and state. */
export interface SavedConnector {
  readonly name: string;
  readonly options: unknown;
  readonly state: unknown;
}

export abstract class Connector {
  /** Called once, before all others. @returns the space of the observations that `call` returns */
  prepare(setup: ConnectorSetup): Box {
    return setup.space;
  }

  abstract call(columns: ConnectorColumns, context: ConnectorContext): ConnectorColumns;

  /** Returns the knowledge of all environments, such as means, in JSON. */
  getState(): unknown {
    return undefined;
  }

  setState(_state: never): void {}

  /** Takes the increments since the last call, by environment, in JSON. */
  increments(): readonly (readonly [environment: number, increment: unknown])[] {
    return [];
  }

  /** Adds increments to the knowledge. */
  merge(_increments: readonly (readonly [environment: number, increment: never])[]): void {}

  /** Returns the memory of single environments, in JSON. */
  getMemory(): unknown {
    return undefined;
  }

  setMemory(_memory: never): void {}
}

/** Numbers by environment, for connectors that remember some. */
export class EnvironmentMemory {
  readonly #numbers = new Map<number, Float32Array>();

  /** The numbers of an environment: zeros at first. */
  of(environment: number, size: number): Float32Array {
    const known = this.#numbers.get(environment);
    if (known !== undefined) return known;
    const made = new Float32Array(size);
    this.#numbers.set(environment, made);
    return made;
  }

  getState(): [number, number[]][] {
    return Array.from(this.#numbers, ([environment, numbers]) => [environment, Array.from(numbers)]);
  }

  setState(state: readonly (readonly [number, readonly number[]])[]): void {
    this.#numbers.clear();
    for (const [environment, numbers] of state) this.#numbers.set(environment, Float32Array.from(numbers));
  }
}
