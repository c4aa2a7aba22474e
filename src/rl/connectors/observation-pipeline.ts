/**
 * The way of observations from an environment to a module: the encoder, then the connectors.
 *
 * A pipeline belongs to a module, and has its connectors' knowledge. Each vector of environments has an `Observer`, which remembers earlier steps.
 * Action masks pass by the connectors, and are the last numbers of a row.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { RLError } from "../errors.ts";
import { Box } from "../spaces/box.ts";
import type { ColumnData } from "../spaces/columns.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { MultiDiscrete } from "../spaces/multi-discrete.ts";
import { isBytePicture, ObservationEncoder, type PicturePlace } from "../spaces/observation-encoder.ts";
import type { Space } from "../spaces/space.ts";
import { madeConnectors } from "./built-in-connectors.ts";
import { ClipRewards } from "./clip-rewards.ts";
import { Connector, type ConnectorColumns, type ConnectorContext, type SavedConnector } from "./connector.ts";
import { PreviousActions } from "./previous-actions.ts";

/** Makes the connectors of one vector of environments. */
export type ConnectorMaker = () => Connector | readonly Connector[];

export interface PipelineOptions {
  /** A maker, or the data of built-in connectors. */
  readonly connectors?: ConnectorMaker | readonly SavedConnector[] | undefined;
  readonly clipRewards?: boolean | number | undefined;
  /** Whether the action before stands behind each observation, as modules that predict the world need it. Default: false. */
  readonly hasActionBefore?: boolean | undefined;
}

/** Increments of each connector, by environment. */
export type Increments = readonly (readonly (readonly [number, unknown])[])[];

const ACTION_BEFORE = { actions: 1, rewards: 0 };

/** Whether a connector adds the action before: those of a checkpoint have it already. */
function isActionBefore(connector: Connector | undefined): boolean {
  return connector instanceof PreviousActions && connector.options.actions === 1 && connector.options.rewards === 0;
}

export class ObservationPipeline {
  /** Numbers of a row, those of a mask among them. */
  readonly size: number;
  readonly maskSize: number;
  /** The observations that modules get. */
  readonly space: Box;
  readonly encoder: ObservationEncoder;
  readonly actionEncoder: ObservationEncoder;
  readonly connectors: readonly Connector[];
  readonly #options: PipelineOptions;
  readonly #encoded: Box;

  constructor({ observationSpace, actionSpace }: { observationSpace: Space; actionSpace: Space }, options: PipelineOptions) {
    this.encoder = new ObservationEncoder(observationSpace);
    this.actionEncoder = new ObservationEncoder(inPolicyRange(actionSpace));
    this.maskSize = this.encoder.maskSize;
    this.#options = options;
    this.#encoded = encodedSpace(observationSpace, this.encoder.size - this.maskSize);
    const { connectors, space } = this.#make();
    this.connectors = connectors;
    this.space = space;
    this.size = space.size + this.maskSize;
  }

  #make(): { connectors: readonly Connector[]; space: Box } {
    const { connectors: make, clipRewards = false, hasActionBefore = false } = this.#options;
    const given = typeof make === "function" ? make() : madeConnectors(make ?? []);
    const listed = (Array.isArray(given) ? given : [given]) as readonly Connector[];
    const own = hasActionBefore && !isActionBefore(listed.at(-1)) ? [...listed, new PreviousActions(ACTION_BEFORE)] : listed;
    for (const connector of own)
      if (!(connector instanceof Connector))
        throw new TypeError(
          `Cannot use envToModuleConnector: it returns a connector such as new MeanStdFilter(), or a list of them: received ${describeValue(connector)}`,
        );
    const clipping = clipRewards === false ? [] : [new ClipRewards(clipRewards === true ? {} : { limit: clipRewards })];
    const connectors = [...clipping, ...own];
    const space = connectors.reduce(
      (incoming, connector) => connector.prepare({ space: incoming, actionSize: this.actionEncoder.size }),
      this.#encoded,
    );
    return { connectors, space };
  }

  /** The pictures in a row, where connectors left them as such. */
  get pictures(): readonly PicturePlace[] {
    const { shape, size } = this.space;
    if (shape.length === 3) return [{ at: 0, shape: shape as unknown as PicturePlace["shape"] }];
    return size === this.encoder.size - this.maskSize ? this.encoder.pictures : [];
  }

  /** An observer of some environments. `firstEnv` is the place of the first one among all of the algorithm. */
  observe(numEnvs: number, options: { training: boolean; firstEnv?: number }): Observer {
    const { connectors } = this.#make();
    const observer = new Observer(this, connectors, { numEnvs, firstEnv: 0, ...options });
    observer.setStates(this.getStates());
    return observer;
  }

  /** Returns the knowledge of all connectors. */
  getStates(): readonly unknown[] {
    return this.connectors.map((connector) => connector.getState());
  }

  setStates(states: readonly unknown[]): void {
    setAll(this.connectors, states);
  }

  /** The connectors with all that they have learnt, for a checkpoint. That of `clipRewards` has nothing. */
  toSaved(): SavedConnector[] {
    const own = this.connectors.slice(this.#clipping);
    return own.map((connector) => ({
      name: connector.constructor.name,
      options: (connector as { options?: unknown }).options ?? {},
      state: connector.getState() ?? null,
    }));
  }

  fromSaved(saved: readonly SavedConnector[]): void {
    setAll(
      this.connectors.slice(this.#clipping),
      saved.map(({ state }) => state),
    );
  }

  /** Connectors that `clipRewards` has put before the others. */
  get #clipping(): number {
    return (this.#options.clipRewards ?? false) === false ? 0 : 1;
  }

  merge(increments: Increments): void {
    for (const [index, connector] of this.connectors.entries()) connector.merge((increments[index] ?? []) as never);
  }
}

/** A step of a vector of environments. */
interface ObservedStep {
  /** In the policy's range. */
  readonly actions: NumericArray;
  readonly rewards: Float64Array;
  /** By environment: not 0 where the observation begins an episode, and no step led to it. */
  readonly starts: Uint8Array;
  /** Environments that have ended and begun in this step, with the last observations of the ended episodes. */
  readonly finals: readonly { readonly env: number; readonly observation: unknown }[];
}

/** Observations of some environments, one a row, with the action and the reward that led there. */
interface ObservedRows {
  readonly envs: readonly number[];
  readonly encoded: Float32Array;
  /** In the policy's range. */
  readonly actions: NumericArray;
  readonly rewards: Float64Array;
  /** By row: not 0 where an episode begins. */
  readonly starts: Uint8Array;
}

export class Observer {
  /** Rows of the last observations of ended episodes, by environment. */
  readonly finals: Float32Array;
  readonly #pipeline: ObservationPipeline;
  readonly #connectors: readonly Connector[];
  readonly #options: { readonly numEnvs: number; readonly firstEnv: number; readonly training: boolean };

  constructor(
    pipeline: ObservationPipeline,
    connectors: readonly Connector[],
    options: { numEnvs: number; firstEnv: number; training: boolean },
  ) {
    this.#pipeline = pipeline;
    this.#connectors = connectors;
    this.#options = options;
    this.finals = new Float32Array(options.numEnvs * pipeline.size);
  }

  /** Takes the first observations of all environments. */
  begin(observations: ColumnData, into: Float32Array): void {
    const { numEnvs } = this.#options;
    const { encoder, actionEncoder } = this.#pipeline;
    if (this.#connectors.length === 0) return encoder.encodeColumn(observations, numEnvs, into);
    const encoded = new Float32Array(numEnvs * encoder.size);
    encoder.encodeColumn(observations, numEnvs, encoded);
    const actions = new Float32Array(numEnvs * actionEncoder.size);
    const starts = new Uint8Array(numEnvs).fill(1);
    this.#connect({ encoded, actions, rewards: new Float64Array(numEnvs), starts, envs: range(numEnvs) }, into);
  }

  /** Takes a step: writes the rows on which the next actions are taken, and `finals`. @returns the rewards to learn from */
  step(observations: ColumnData, { actions, rewards, starts, finals }: ObservedStep, into: Float32Array): Float64Array {
    const { numEnvs } = this.#options;
    const { encoder, size } = this.#pipeline;
    if (this.#connectors.length === 0) {
      encoder.encodeColumn(observations, numEnvs, into);
      for (const { env, observation } of finals) encoder.encode(observation, this.finals, env * size);
      return rewards;
    }
    const encoded = new Float32Array(numEnvs * encoder.size);
    encoder.encodeColumn(observations, numEnvs, encoded);
    const begun = finals.map(({ env }) => encoded.slice(env * encoder.size, (env + 1) * encoder.size));
    for (const { env, observation } of finals) encoder.encode(observation, encoded, env * encoder.size);
    const learnt = this.#connect({ encoded, actions: this.#encodeActions(actions, starts), rewards, starts, envs: range(numEnvs) }, into);
    for (const [index, { env }] of finals.entries()) {
      this.finals.set(into.subarray(env * size, (env + 1) * size), env * size);
      const none = new Float32Array(this.#pipeline.actionEncoder.size);
      const first = {
        encoded: begun[index] as Float32Array,
        actions: none,
        rewards: new Float64Array(1),
        starts: Uint8Array.of(1),
        envs: [env],
      };
      this.#connect(first, into.subarray(env * size, (env + 1) * size));
    }
    return learnt;
  }

  /** Takes encoded observations of some environments, row by row, and writes the modules' input likewise. @returns the rewards to learn from */
  observeSome({ envs, encoded, actions, rewards, starts }: ObservedRows, into: Float32Array): Float64Array {
    if (this.#connectors.length > 0)
      return this.#connect({ encoded, actions: this.#encodeActions(actions, starts), rewards, starts, envs }, into);
    into.set(encoded);
    return rewards;
  }

  #encodeActions(actions: NumericArray, starts: Uint8Array): Float32Array {
    const { actionEncoder } = this.#pipeline;
    const encoded = new Float32Array(starts.length * actionEncoder.size);
    actionEncoder.encodeColumn(actions, starts.length, encoded);
    for (const [env, start] of starts.entries()) if (start !== 0) encoded.fill(0, env * actionEncoder.size, (env + 1) * actionEncoder.size);
    return encoded;
  }

  /** Runs the connectors over rows, and writes the modules' input. @returns the rewards */
  #connect(
    given: { encoded: Float32Array; actions: Float32Array; rewards: Float64Array; starts: Uint8Array; envs: readonly number[] },
    into: Float32Array,
  ): Float64Array {
    const { encoded, envs, starts } = given;
    const { encoder, maskSize, size } = this.#pipeline;
    const { firstEnv, training } = this.#options;
    const rows = envs.length;
    const features = encoder.size - maskSize;
    const obs = new Float32Array(rows * features);
    for (let row = 0; row < rows; row += 1) obs.set(encoded.subarray(row * encoder.size, row * encoder.size + features), row * features);
    const rewards = given.rewards.map((reward, row) => (starts[row] === 0 ? reward : 0));
    const context: ConnectorContext = { training, episodeStarts: starts, environments: Int32Array.from(envs, (env) => firstEnv + env) };
    let columns: ConnectorColumns = { rows, obs, actions: given.actions, rewards };
    for (const connector of this.#connectors) columns = connector.call(columns, context);
    const width = size - maskSize;
    if (columns.obs.length !== rows * width)
      throw new RLError(
        `Cannot use the connectors ${this.#connectors.map(({ constructor: { name } }) => name).join(", ")}: ${rows} rows of ${width} numbers are needed, as prepare() says: received ${columns.obs.length} numbers`,
      );
    for (let row = 0; row < rows; row += 1) {
      into.set(columns.obs.subarray(row * width, (row + 1) * width), row * size);
      into.set(encoded.subarray(row * encoder.size + features, (row + 1) * encoder.size), row * size + width);
    }
    return columns.rewards;
  }

  setStates(states: readonly unknown[]): void {
    setAll(this.#connectors, states);
  }

  increments(): Increments {
    return this.#connectors.map((connector) => connector.increments());
  }

  getMemory(): readonly unknown[] {
    return this.#connectors.map((connector) => connector.getMemory());
  }

  setMemory(memory: readonly unknown[]): void {
    for (const [index, connector] of this.#connectors.entries()) if (memory[index] != null) connector.setMemory(memory[index] as never);
  }
}

function setAll(connectors: readonly Connector[], states: readonly unknown[]): void {
  for (const [index, connector] of connectors.entries()) if (states[index] != null) connector.setState(states[index] as never);
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Encoded observations as a space: a `Box` keeps its shape, and others are flat. */
function encodedSpace(space: Space, size: number): Box {
  if (space instanceof Box && isBytePicture(space)) return new Box({ low: 0, high: 1, shape: space.shape });
  if (space instanceof Box) return new Box({ low: space.low, high: space.high, shape: space.shape });
  return new Box({ low: -Infinity, high: Infinity, shape: [size] });
}

/** Actions as distributions draw them: choices begin at 0. */
function inPolicyRange(space: Space): Space {
  if (space instanceof Discrete) return new Discrete(space.n);
  if (space instanceof MultiDiscrete) return space;
  return space;
}
