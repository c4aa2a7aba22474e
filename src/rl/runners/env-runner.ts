/**
 * Samples steps: a vector of environments, a copy of the module, and the columns that come of both.
 *
 * Runs in the algorithm's process or inside of an actor. Each environment has a random stream, derived from the seed and the place in the algorithm.
 * So the same steps are sampled in any process. A fragment may end in the middle of episodes, which the next one continues.
 */
import { isThenable } from "../../core/internal.ts";
import { noGrad, Random, type RandomState, scope, tensor } from "../../tensor/index.ts";
import type { Increments, Observer } from "../connectors/observation-pipeline.ts";
import { RLError } from "../errors.ts";
import { EpisodeEvents } from "../callbacks/episode-events.ts";
import type { LoggedValues } from "../callbacks/metrics-logger.ts";
import type { RunnerCallbackSource, RunnerEnvironment } from "../callbacks/runner-callbacks.ts";
import type { Info, VectorEnv, VectorStepResult } from "../environments/env.ts";
import type { VectorChecks } from "../environments/check-vector-env.ts";
import { vectorChecks, vectorEnvOf } from "../environments/make-env.ts";
import type { EnvSpec } from "../environments/registry.ts";
import { BREATH_MS } from "../limits.ts";
import { type Exploration, explorationAt } from "../distributions/action-distribution.ts";
import type { Digest, RunnerLearning } from "../learners/learner.ts";
import { checkMasks } from "../modules/masked-module.ts";
import { type BuiltModule, buildModule, type ModuleSpec } from "../modules/module-spec.ts";
import { DEFAULT_MODULE_ID, type PolicyTable } from "../modules/policy-mapping.ts";
import { actionInputs } from "../modules/rl-module.ts";
import { EpisodeRecorder, type RecordedEpisode } from "../offline/episodes/episode-recorder.ts";
import { type ColumnData, columnLayout } from "../spaces/columns.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { type Fragment, FragmentWriter, SEQUENCE_END } from "../sequences/fragment.ts";

export interface RunnerSpec {
  readonly env: EnvSpec;
  readonly envConfig: object;
  readonly numEnvs: number;
  /** 0 in the algorithm's process, from 1 in actors. */
  readonly workerIndex: number;
  /** The place of the first environment among all of the algorithm. */
  readonly firstEnv: number;
  readonly seed: number;
  readonly isChecked: boolean;
  readonly module: ModuleSpec;
  /** The policies of several agents; `undefined` where the environment has one. */
  readonly policies?: PolicyTable | undefined;
  readonly callbacks?: RunnerCallbackSource | undefined;
  /** The learner that works on samples here; `undefined` where the runner only samples. */
  readonly learning?: RunnerLearning | undefined;
  /** Whether samples have the episodes that ended, for `output`. */
  readonly isRecorded?: boolean | undefined;
}

/** The weights of modules, by id. */
export type Weights = Readonly<Record<string, Float32Array>>;

/** The parts of a spec that change with the policies of an algorithm. */
export type RunnerPolicies = Required<Pick<RunnerSpec, "policies" | "learning">>;

/** A process, or a part of one, that samples. */
export interface Runner {
  readonly modules: ReadonlyMap<string, BuiltModule>;
  readonly env: RunnerEnvironment;
  /** Goes on with other policies. Missing where the environment has one agent. */
  setPolicies?(policies: RunnerPolicies): Promise<void>;
  /** Waits for what cannot be begun at once. @throws where it fails */
  ready?(): Promise<void>;
  setWeights(weights: Weights): void;
  sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample>;
  /** Returns everything from which the runner goes on, in JSON. */
  getState(): object;
  setState(state: never): void;
  close(): Promise<void>;
}

export interface SampleRequest {
  /** Steps to sample, over all environments. */
  readonly steps: number;
  /** Whether actions are drawn, or the likeliest ones taken. */
  readonly explore: boolean;
  readonly exploration?: Exploration;
  /** Steps that the algorithm has sampled before, for schedules. */
  readonly envSteps?: number;
  /** By module: the states of connectors, merged over all runners. */
  readonly connectors?: Readonly<Record<string, readonly unknown[]>>;
  /** Whether `steps` are those of agents. Default: those of environments. */
  readonly countsAgentSteps?: boolean;
}

/** The share of a module in a sample. */
export interface ModuleSample extends Digest {
  readonly fragment: Fragment;
  /** New numbers of connectors. */
  readonly increments: Increments;
}

/** The return of an agent in an episode. */
export type AgentReturn = readonly [agent: string, moduleId: string, earned: number];

/** A fragment for each module, with the episodes that ended in it. */
export interface Sample {
  readonly modules: Readonly<Record<string, ModuleSample>>;
  /** Steps of environments. */
  readonly steps: number;
  readonly returns: Float64Array;
  readonly lengths: Int32Array;
  /** Values of callbacks. */
  readonly logged?: readonly LoggedValues[];
  /** By episode; `undefined` where the environment has one agent. */
  readonly agents?: readonly (readonly AgentReturn[])[];
  /** The episodes that ended, where they are recorded. */
  readonly recorded?: readonly RecordedEpisode[] | undefined;
}

/** Everything from which a runner goes on as if it had not stopped, in JSON. */
interface RunnerState {
  /** `undefined` where environments have no `getState`. */
  readonly environment: unknown;
  readonly streams: readonly RandomState[];
  /** Streams of the module's noise. */
  readonly noise?: readonly RandomState[];
  readonly observations: readonly number[];
  readonly ended: readonly number[];
  readonly returns: readonly number[];
  readonly lengths: readonly number[];
  /** The memory of connectors. */
  readonly memory?: readonly unknown[];
  /** The state of noise that drifts. */
  readonly drift?: readonly number[];
  /** The state of a recurrent module. */
  readonly moduleState?: readonly number[];
}

export class EnvRunner implements Runner {
  readonly modules: ReadonlyMap<string, BuiltModule>;
  readonly env: VectorEnv;
  readonly built: BuiltModule;
  readonly #spec: RunnerSpec;
  readonly #streams: Random[];
  /** Encoded observations on which the next actions are taken. */
  readonly #obs: Float32Array;
  /** Environments whose next step only resets them. */
  readonly #ended: Uint8Array;
  readonly #returns: Float64Array;
  readonly #lengths: Int32Array;
  readonly #actions: NumericArray;
  readonly #envActions: ColumnData;
  readonly #logp: Float32Array;
  readonly #observer: Observer;
  /** The state of noise that drifts within an episode. */
  readonly #noise: Float64Array;
  /** States of a recurrent module: before the next actions, and before the last ones. */
  readonly #states: Float32Array;
  readonly #statesBefore: Float32Array;
  readonly #events: EpisodeEvents;
  readonly #checks: VectorChecks | undefined;
  readonly #recorder: EpisodeRecorder | undefined;
  #isBegun = false;

  /** @throws EnvironmentError where the environments cannot be made */
  constructor(spec: RunnerSpec) {
    const { numEnvs, firstEnv, seed, workerIndex, isChecked, envConfig } = spec;
    this.#spec = spec;
    this.env = vectorEnvOf(spec.env, { envConfig, numEnvs, autoresetMode: "sameStep", workerIndex, isChecked });
    this.#checks = isChecked ? vectorChecks(spec.env, this.env) : undefined;
    if (this.env.autoresetMode === "disabled")
      throw new RLError(`Cannot sample from ${spec.env.name}: its autoresetMode is "disabled". Give it "nextStep" or "sameStep"`);
    this.built = buildModule(spec.module, this.env, seed);
    this.modules = new Map([[DEFAULT_MODULE_ID, this.built]]);
    const { encoder, distribution, memory } = this.built;
    this.#states = memory.allocate(numEnvs);
    this.#statesBefore = this.#states.slice();
    this.#streams = Array.from({ length: numEnvs }, (_, index) => new Random(seed, "actions", firstEnv + index));
    this.#obs = new Float32Array(numEnvs * encoder.size);
    this.#observer = encoder.observe(numEnvs, { training: true, firstEnv });
    this.#ended = new Uint8Array(numEnvs);
    this.#returns = new Float64Array(numEnvs);
    this.#lengths = new Int32Array(numEnvs);
    this.#actions = distribution.actions.allocate(numEnvs) as NumericArray;
    this.#noise = new Float64Array(this.#actions.length);
    this.#envActions = columnLayout(this.env.actionSpace).allocate(numEnvs);
    this.#logp = new Float32Array(numEnvs);
    this.#events = new EpisodeEvents({ ...spec, env: this.env });
    this.#recorder = spec.isRecorded === true ? new EpisodeRecorder(this.env, this.built, numEnvs) : undefined;
  }

  setWeights(weights: Weights): void {
    this.built.module.parameters.data.set(weights[DEFAULT_MODULE_ID] as Float32Array);
  }

  /** Samples at least so many steps. Lets other work of the process go on now and then. */
  async sample({ steps, explore, exploration, connectors }: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    const { encoder, distribution, memory } = this.built;
    const { numEnvs, firstEnv } = this.#spec;
    if (connectors?.[DEFAULT_MODULE_ID] !== undefined) this.#observer.setStates(connectors[DEFAULT_MODULE_ID]);
    await this.#events.created();
    await this.#begin();
    const writer = new FragmentWriter(numEnvs, steps, {
      sizes: { obs: encoder.size, actions: this.#actions.length / numEnvs, actionDistInputs: distribution.inputSize },
      memory,
      makeActions: (rows) => distribution.actions.allocate(rows) as NumericArray,
      firstEnv,
    });
    const over: Over = Array.from({ length: numEnvs }, () => []);
    let breathedAt = performance.now();
    while (writer.rows < steps) {
      const inputs = this.#act(explore, exploration);
      for (let env = 0; env < numEnvs; env += 1)
        if (this.#ended[env] === 0) {
          const row = { obs: this.#obs, actions: this.#actions, inputs, logp: this.#logp[env] as number, states: this.#statesBefore };
          writer.addRow(env, row);
        }
      distribution.toEnvironment(this.#actions, this.#envActions);
      const stepped = this.env.step(this.#envActions);
      const result = isThenable(stepped) ? await stepped : stepped;
      this.#checks?.step(result);
      this.#recorder?.take(result, { ...this.#acted, explore, exploration }, { ended: this.#ended });
      this.#take(result, writer, over);
      if (this.#events.isWaiting) await this.#events.settle();
      if (performance.now() - breathedAt < BREATH_MS) continue;
      await new Promise((resolve) => void setImmediate(resolve));
      signal?.throwIfAborted();
      breathedAt = performance.now();
    }
    const episodes = over.flat();
    for (let env = 0; env < numEnvs; env += 1) writer.close(env, SEQUENCE_END.CUT, this.#obs, env * encoder.size);
    const fragment = writer.finish();
    const logged = await this.#events.sampled({ steps: fragment.rows, episodes: episodes.length });
    return {
      logged,
      modules: { [DEFAULT_MODULE_ID]: { fragment, increments: this.#observer.increments() } },
      steps: fragment.rows,
      returns: Float64Array.from(episodes, (episode) => episode.return),
      lengths: Int32Array.from(episodes, ({ length }) => length),
      recorded: this.#recorder?.finished(),
    };
  }

  get #acted(): { actions: NumericArray; envActions: ColumnData; logp: Float32Array } {
    return { actions: this.#actions, envActions: this.#envActions, logp: this.#logp };
  }

  /** Resets all environments, once. */
  async #begin(): Promise<void> {
    if (this.#isBegun) return;
    const { seed, firstEnv } = this.#spec;
    const base = new Random(seed, "environments").integer(2 ** 31);
    const result = await this.env.reset({ seed: base + firstEnv });
    this.#checks?.reset(result);
    const { observations, infos } = result;
    this.#observer.begin(observations, this.#obs);
    this.#recorder?.begin(observations);
    for (let env = 0; env < this.#spec.numEnvs; env += 1) this.#events.begin(env, infos[env]);
    this.#isBegun = true;
  }

  /** Chooses actions and their log-probabilities. @returns the numbers of the network */
  #act(explore: boolean, exploration?: Exploration): Float32Array {
    const { module, encoder, distribution, maskedChoices, memory } = this.built;
    const { numEnvs } = this.#spec;
    this.#statesBefore.set(this.#states);
    checkMasks(this.#obs, { rows: numEnvs, choices: maskedChoices }, (env) => this.#ended[env] === 0);
    const inputs = scope(() =>
      noGrad(() => {
        const obs = tensor(this.#obs, { shape: [numEnvs, encoder.size] });
        const output = module.forward({ obs, explore, ...memory.toTensors(this.#states, numEnvs) });
        memory.take(output.stateOut, this.#states);
        return actionInputs(output).toArray();
      }),
    );
    for (let env = 0; env < numEnvs; env += 1) {
      const draw = { inputs, row: env, actions: this.#actions, noise: this.#noise };
      if (explore)
        this.#logp[env] = distribution.sample(draw, this.#streams[env] as Random, explorationAt(exploration, this.#spec.firstEnv + env));
      else distribution.choose(draw);
    }
    return inputs;
  }

  /** Takes the outcome of a step: rewards, ends of episodes and the next observations. */
  #take(result: VectorStepResult, writer: FragmentWriter, over: Over): void {
    const { rewards, terminateds, truncateds } = result;
    const { size } = this.built.encoder;
    const { numEnvs } = this.#spec;
    const isNextStep = this.env.autoresetMode === "nextStep";
    const finals = isNextStep ? [] : this.#finalsOf(result);
    const step = { actions: this.#actions, rewards, starts: this.#ended, finals };
    const learnt = this.#observer.step(result.observations, step, this.#obs);
    for (let env = 0; env < numEnvs; env += 1) {
      if (this.#ended[env] !== 0) {
        this.#ended[env] = 0;
        this.built.memory.begin(this.#states, env);
        this.#events.begin(env, result.infos[env]);
        continue;
      }
      const reward = rewards[env] as number;
      writer.reward(env, learnt[env] as number);
      this.#returns[env] = (this.#returns[env] as number) + reward;
      this.#lengths[env] = (this.#lengths[env] as number) + 1;
      const isOver = terminateds[env] !== 0 || truncateds[env] !== 0;
      const info = result.infos[env];
      this.#events.step(env, reward, isOver && !isNextStep ? (info?.["finalInfo"] as Info | undefined) : info);
      if (!isOver) continue;
      this.#events.end(env, terminateds[env] !== 0, isNextStep ? info : (info?.["finalInfo"] as Info | undefined));
      if (!isNextStep) this.#events.begin(env, info);
      // Where both are set, the world has ended: nothing is left to bootstrap from.
      const end = terminateds[env] !== 0 ? SEQUENCE_END.TERMINATED : SEQUENCE_END.TRUNCATED;
      writer.close(env, end, isNextStep ? this.#obs : this.#observer.finals, env * size);
      if (isNextStep) this.#ended[env] = 1;
      over[env]?.push({ return: this.#returns[env] as number, length: this.#lengths[env] as number });
      this.#returns[env] = 0;
      this.#lengths[env] = 0;
      this.built.memory.begin(this.#states, env);
      const width = this.#noise.length / numEnvs;
      this.#noise.fill(0, env * width, (env + 1) * width);
    }
  }

  /** The last observations of the episodes that have ended in a step. */
  #finalsOf({ terminateds, truncateds, infos }: VectorStepResult): { env: number; observation: unknown }[] {
    const finals: { env: number; observation: unknown }[] = [];
    for (let env = 0; env < this.#spec.numEnvs; env += 1) {
      if (terminateds[env] === 0 && truncateds[env] === 0) continue;
      const observation = infos[env]?.["finalObservation"];
      if (observation === undefined)
        throw new RLError(
          `Cannot use ${this.#spec.env.name}: in mode "sameStep" infos[i].finalObservation has the last observation of an episode`,
        );
      finals.push({ env, observation });
    }
    return finals;
  }

  getState(): RunnerState {
    return {
      environment: this.#isBegun ? this.env.getState?.() : undefined,
      streams: this.#streams.map((stream) => stream.getState()),
      noise: this.built.module.noise.map((stream) => stream.getState()),
      observations: Array.from(this.#obs),
      ended: Array.from(this.#ended),
      returns: Array.from(this.#returns),
      lengths: Array.from(this.#lengths),
      memory: this.#observer.getMemory(),
      drift: Array.from(this.#noise),
      moduleState: Array.from(this.#states),
    };
  }

  /** Goes on from a state. Environments without a state begin new episodes. */
  setState(state: RunnerState): void {
    const { environment, streams, noise = [], memory = [], observations, ended, returns, lengths, drift = [], moduleState = [] } = state;
    for (const [index, stream] of streams.entries()) this.#streams[index]?.setState(stream);
    for (const [index, stream] of noise.entries()) this.built.module.noise[index]?.setState(stream);
    if (environment === undefined || this.env.setState === undefined) return;
    this.env.setState(environment as never);
    this.#observer.setMemory(memory);
    this.#obs.set(observations);
    this.#ended.set(ended);
    this.#returns.set(returns);
    this.#lengths.set(lengths);
    this.#noise.set(drift);
    this.#states.set(moduleState);
    this.#isBegun = true;
  }

  async close(): Promise<void> {
    await this.env.close?.();
  }
}

/** The episodes that have ended, by environment: so their order does not depend on the number of runners. */
type Over = { readonly return: number; readonly length: number }[][];
