/**
 * One module of a runner with many agents: lanes of agents, the forward pass, and rows for the learner.
 *
 * A lane is an agent of an environment. A step of a lane begins with an action and is complete when the agent's next observation arrives, or the agent has ended; rewards in between belong to it.
 * A step that a fragment's end finds incomplete goes into the next fragment.
 */
import { noGrad, type Random, type RandomState, scope, tensor } from "../../tensor/index.ts";
import type { Increments, Observer } from "../connectors/observation-pipeline.ts";
import type { Exploration } from "../distributions/action-distribution.ts";
import { checkMasks } from "../modules/masked-module.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import { actionInputs } from "../modules/rl-module.ts";
import { type Fragment, FragmentWriter, SEQUENCE_END } from "../sequences/fragment.ts";
import { columnLayout } from "../spaces/columns.ts";
import type { NumericArray } from "../spaces/dtype.ts";

/** The share of one agent in a step, on its way to the module. */
interface Arrival {
  readonly lane: number;
  /** `undefined` where an agent ended without one. */
  readonly observation: unknown;
  /** Whether the lane begins an episode. */
  readonly isFirst: boolean;
  /** How the agent ended, by `SEQUENCE_END`; `undefined` where it goes on. */
  readonly end: number | undefined;
}

/** The state of the lanes, in JSON. */
export interface LanesState {
  readonly noise: readonly RandomState[];
  readonly obs: readonly number[];
  readonly encoded: readonly number[];
  readonly actions: readonly number[];
  readonly inputs: readonly number[];
  readonly logp: readonly number[];
  readonly rewards: readonly number[];
  readonly pending: readonly number[];
  readonly drift: readonly number[];
  readonly acting: readonly number[];
  readonly states: readonly number[];
  readonly statesBefore: readonly number[];
  readonly memory: readonly unknown[];
}

export class ModuleLanes {
  readonly built: BuiltModule;
  readonly #lanes: number;
  readonly #firstLane: number;
  readonly #observer: Observer;
  /** Numbers of an action. */
  readonly #width: number;
  /** By lane: the modules' input of the last observation, and the action on it with its numbers. */
  readonly #obs: Float32Array;
  readonly #encoded: Float32Array;
  readonly #actions: NumericArray;
  readonly #inputs: Float32Array;
  readonly #logp: Float32Array;
  /** Rewards since the last action. */
  readonly #rewards: Float64Array;
  /** 1 where a step is under way. */
  readonly #pending: Uint8Array;
  /** The state of noise that drifts within an episode. */
  readonly #drift: Float64Array;
  /** States of a recurrent module: before the next actions, and before the last ones. */
  readonly #states: Float32Array;
  readonly #statesBefore: Float32Array;
  #acting: number[] = [];
  #arrivals: Arrival[] = [];
  #writer: FragmentWriter | undefined;

  constructor(built: BuiltModule, { lanes, firstLane, training }: { lanes: number; firstLane: number; training: boolean }) {
    const { encoder, distribution, memory } = built;
    this.built = built;
    this.#lanes = lanes;
    this.#firstLane = firstLane;
    this.#observer = encoder.observe(lanes, { training, firstEnv: firstLane });
    this.#actions = distribution.actions.allocate(lanes) as NumericArray;
    this.#width = this.#actions.length / lanes;
    this.#obs = new Float32Array(lanes * encoder.size);
    this.#encoded = new Float32Array(lanes * encoder.encoder.size);
    this.#inputs = new Float32Array(lanes * distribution.inputSize);
    this.#logp = new Float32Array(lanes);
    this.#rewards = new Float64Array(lanes);
    this.#pending = new Uint8Array(lanes);
    this.#drift = new Float64Array(this.#actions.length);
    this.#states = memory.allocate(lanes);
    this.#statesBefore = this.#states.slice();
  }

  /** Begins a fragment. */
  open(rows: number): void {
    const { encoder, distribution, memory } = this.built;
    this.#writer = new FragmentWriter(this.#lanes, rows, {
      sizes: { obs: encoder.size, actions: this.#width, actionDistInputs: distribution.inputSize },
      memory,
      makeActions: (count) => distribution.actions.allocate(count) as NumericArray,
      firstEnv: this.#firstLane,
    });
  }

  /** Ends the fragment. Sequences under way are cut, with the last observation behind them. */
  close(): { fragment: Fragment; increments: Increments } {
    const writer = this.#writer as FragmentWriter;
    for (let lane = 0; lane < this.#lanes; lane += 1) writer.close(lane, SEQUENCE_END.CUT, this.#obs, lane * this.built.encoder.size);
    return { fragment: writer.finish(), increments: this.#observer.increments() };
  }

  setStates(connectors: readonly unknown[]): void {
    this.#observer.setStates(connectors);
  }

  /** Forgets the episodes of lanes, with the steps under way. Only between two fragments. */
  drop(lanes: readonly number[]): void {
    this.#acting = this.#acting.filter((lane) => !lanes.includes(lane));
    for (const lane of lanes) {
      this.#pending[lane] = 0;
      this.#rewards[lane] = 0;
      this.#drift.fill(0, lane * this.#width, (lane + 1) * this.#width);
      this.built.memory.begin(this.#states, lane);
    }
  }

  /** Adds a reward to the step that is under way. One before the first action follows from none, and is not learnt from. */
  reward(lane: number, reward: number): void {
    if (this.#pending[lane] !== 0) this.#rewards[lane] = (this.#rewards[lane] as number) + reward;
  }

  /** Queues the share of an agent. `settle` takes all at once. */
  arrive(arrival: Arrival): void {
    this.#arrivals.push(arrival);
  }

  /** Takes the arrivals: completes the steps of their lanes, and lets those act next that go on. */
  settle(): void {
    const arrivals = this.#arrivals;
    if (arrivals.length === 0) return;
    this.#arrivals = [];
    const rows = arrivals.length;
    const { encoder, distribution } = this.built;
    const raw = encoder.encoder.size;
    const encoded = new Float32Array(rows * raw);
    const actions = distribution.actions.allocate(rows) as NumericArray;
    const rewards = new Float64Array(rows);
    for (const [row, { lane, observation }] of arrivals.entries()) {
      if (observation !== undefined) encoder.encoder.encode(observation, this.#encoded, lane * raw);
      encoded.set(this.#encoded.subarray(lane * raw, (lane + 1) * raw), row * raw);
      actions.set(this.#actions.subarray(lane * this.#width, (lane + 1) * this.#width), row * this.#width);
      rewards[row] = this.#rewards[lane] as number;
      this.#rewards[lane] = 0;
    }
    const seen = new Float32Array(rows * encoder.size);
    const starts = Uint8Array.from(arrivals, ({ isFirst }) => Number(isFirst));
    const envs = arrivals.map(({ lane }) => lane);
    const learnt = this.#observer.observeSome({ envs, encoded, actions, rewards, starts }, seen);
    for (const [row, arrival] of arrivals.entries()) this.#take(arrival, { learnt: learnt[row] as number, seen, at: row * encoder.size });
  }

  #take({ lane, end }: Arrival, { learnt, seen, at }: { learnt: number; seen: Float32Array; at: number }): void {
    const { size } = this.built.encoder;
    const writer = this.#writer;
    // Cut without a last observation: the step under way is never completed, and those before it end with the observation that it began with.
    const isIncomplete = end === SEQUENCE_END.CUT;
    if (writer !== undefined && this.#pending[lane] !== 0 && !isIncomplete) {
      const logp = this.#logp[lane] as number;
      writer.addRow(lane, { obs: this.#obs, actions: this.#actions, inputs: this.#inputs, logp, states: this.#statesBefore });
      writer.reward(lane, learnt);
    }
    this.#pending[lane] = 0;
    if (end === undefined) {
      this.#obs.set(seen.subarray(at, at + size), lane * size);
      this.#acting.push(lane);
      return;
    }
    if (isIncomplete) this.#end(lane, SEQUENCE_END.TRUNCATED, { from: this.#obs, at: lane * size });
    else this.#end(lane, end, { from: seen, at });
  }

  /** Forgets the step under way of an agent that has left in the middle of an episode. The steps before it end as those of a truncated one. */
  leave(lane: number): void {
    this.#arrivals = this.#arrivals.filter((arrival) => arrival.lane !== lane);
    this.#end(lane, SEQUENCE_END.TRUNCATED, { from: this.#obs, at: lane * this.built.encoder.size });
    this.drop([lane]);
  }

  #end(lane: number, end: number, last: { from: Float32Array; at: number }): void {
    this.#writer?.close(lane, end, last.from, last.at);
    this.#drift.fill(0, lane * this.#width, (lane + 1) * this.#width);
    this.built.memory.begin(this.#states, lane);
  }

  /** Chooses the actions of all agents that act now. @returns the lane and the environment's action of each */
  act(
    explore: boolean,
    { exploration, streams }: { exploration: Exploration | undefined; streams: readonly Random[] },
  ): [lane: number, action: unknown][] {
    const acting = this.#acting;
    if (acting.length === 0) return [];
    this.#acting = [];
    const { encoder, distribution, maskedChoices, actionSpace } = this.built;
    const rows = acting.length;
    const obs = new Float32Array(rows * encoder.size);
    for (const [row, lane] of acting.entries())
      obs.set(this.#obs.subarray(lane * encoder.size, (lane + 1) * encoder.size), row * encoder.size);
    checkMasks(obs, { rows, choices: maskedChoices });
    const inputs = this.#forward(obs, acting, explore);
    const actions = distribution.actions.allocate(rows) as NumericArray;
    const noise = new Float64Array(actions.length);
    for (const [row, lane] of acting.entries())
      noise.set(this.#drift.subarray(lane * this.#width, (lane + 1) * this.#width), row * this.#width);
    for (const [row, lane] of acting.entries()) {
      const draw = { inputs, row, actions, noise };
      if (explore) this.#logp[lane] = distribution.sample(draw, streams[lane] as Random, exploration);
      else distribution.choose(draw);
      this.#actions.set(actions.subarray(row * this.#width, (row + 1) * this.#width), lane * this.#width);
      this.#drift.set(noise.subarray(row * this.#width, (row + 1) * this.#width), lane * this.#width);
      this.#inputs.set(inputs.subarray(row * distribution.inputSize, (row + 1) * distribution.inputSize), lane * distribution.inputSize);
      this.#pending[lane] = 1;
    }
    const layout = columnLayout(actionSpace);
    const given = layout.allocate(rows);
    distribution.toEnvironment(actions, given);
    return acting.map((lane, row) => [lane, layout.read(given, row)]);
  }

  /** Runs the module for the lanes that act, and takes the states behind the pass. @returns the numbers of the action distribution */
  #forward(obs: Float32Array, acting: readonly number[], explore: boolean): Float32Array {
    const { module, encoder, memory } = this.built;
    const rows = acting.length;
    const { size } = memory;
    const states = new Float32Array(rows * size);
    for (const [row, lane] of acting.entries()) states.set(this.#states.subarray(lane * size, (lane + 1) * size), row * size);
    const before = states.slice();
    const inputs = scope(() =>
      noGrad(() => {
        const output = module.forward({ obs: tensor(obs, { shape: [rows, encoder.size] }), explore, ...memory.toTensors(states, rows) });
        memory.take(output.stateOut, states);
        return actionInputs(output).toArray();
      }),
    );
    for (const [row, lane] of acting.entries()) {
      this.#states.set(states.subarray(row * size, (row + 1) * size), lane * size);
      this.#statesBefore.set(before.subarray(row * size, (row + 1) * size), lane * size);
    }
    return inputs;
  }

  getState(): LanesState {
    return {
      noise: this.built.module.noise.map((stream) => stream.getState()),
      obs: Array.from(this.#obs),
      encoded: Array.from(this.#encoded),
      actions: Array.from(this.#actions),
      inputs: Array.from(this.#inputs),
      logp: Array.from(this.#logp),
      rewards: Array.from(this.#rewards),
      pending: Array.from(this.#pending),
      drift: Array.from(this.#drift),
      acting: [...this.#acting],
      states: Array.from(this.#states),
      statesBefore: Array.from(this.#statesBefore),
      memory: this.#observer.getMemory(),
    };
  }

  /** Goes on from a state; the lanes only where `isInside` the episodes. */
  setState(state: LanesState, isInside: boolean): void {
    for (const [index, stream] of state.noise.entries()) this.built.module.noise[index]?.setState(stream);
    if (!isInside) return;
    this.#obs.set(state.obs);
    this.#encoded.set(state.encoded);
    this.#actions.set(state.actions);
    this.#inputs.set(state.inputs);
    this.#logp.set(state.logp);
    this.#rewards.set(state.rewards);
    this.#pending.set(state.pending);
    this.#drift.set(state.drift);
    this.#acting = [...state.acting];
    this.#states.set(state.states);
    this.#statesBefore.set(state.statesBefore);
    this.#observer.setMemory(state.memory);
  }
}
