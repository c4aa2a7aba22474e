/**
 * An algorithm at work: runners, modules with their learners, and the calls that users make.
 *
 * A subclass has the training step. This class owns the runners, the modules, the counters and the results, and writes and reads checkpoints.
 * One call works at a time. `stop` ends all processes.
 */
import { describeValue, messageOf, readOptions, SIGNAL } from "../../core/internal.ts";
import { Random } from "../../tensor/index.ts";
import type { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import {
  type AlgorithmFile,
  readAlgorithmFile,
  readOptimizer,
  readRunners,
  readWeights,
  writeCheckpoint,
} from "../checkpoints/algorithm-checkpoint.ts";
import type { AlgorithmHandle, CallOptions } from "../config/algorithm-handle.ts";
import { type PolicyChanges, withoutPolicy, withPolicy, withSavedPolicies } from "../config/policy-changes.ts";
import type { AlgorithmConfig, ConfigValues } from "../config/algorithm-config.ts";
import { builtInConnectors } from "../connectors/built-in-connectors.ts";
import type { Env, VectorEnv } from "../environments/env.ts";
import { shownEnv } from "../environments/make-env.ts";
import { isMultiAgent, type MultiAgentEnv } from "../environments/multi-agent/multi-agent-env.ts";
import { RLError } from "../errors.ts";
import { BREATH_MS } from "../limits.ts";
import { type AnyConfig, configOf } from "../config/algorithm-registry.ts";
import type { EvaluationOptions } from "../config/callbacks.ts";
import { EVALUATION } from "../config/option-tables.ts";
import { LoggedMetrics, ValueLog } from "../callbacks/metrics-logger.ts";
import { callbacksOf, RUNNER_CALLBACKS, type RunnerCallbackSource, type RunnerView } from "../callbacks/runner-callbacks.ts";
import type { Callbacks } from "../config/callbacks.ts";
import type { Exploration } from "../distributions/action-distribution.ts";
import type { Learner, LearnerClass, LearnerConfig, RunnerLearning } from "../learners/learner.ts";
import type { ModuleLearning } from "../learners/learner-actor.ts";
import { LearnerGroup } from "../learners/learner-group.ts";
import type { OnPolicyLearner } from "../learners/on-policy-learner.ts";
import { buildModule, type BuiltModule } from "../modules/module-spec.ts";
import {
  type AddModuleOptions,
  DEFAULT_MODULE_ID,
  type ModuleRecipe,
  moduleSeed,
  onlyOf,
  type PolicyTable,
  type RemoveModuleOptions,
  resolvePolicies,
} from "../modules/policy-mapping.ts";
import type { PolicyOnnxOptions } from "../modules/policy-onnx.ts";
import { EpisodeFiles } from "../offline/episodes/episode-files.ts";
import type { RunnerSpec, Sample, SampleRequest } from "../runners/env-runner.ts";
import { cutOff } from "../runners/cut-off.ts";
import { RunnerGroup } from "../runners/runner-group.ts";
import { SampleStream } from "../runners/sample-stream.ts";
import { type Fragment, joinFragments } from "../sequences/fragment.ts";
import { TorchNetwork } from "../torch/torch-network.ts";
import { EpisodeWindow } from "./episode-window.ts";
import { checkedResult, EvaluationRunners, evaluationResult, sharesOf } from "./evaluation.ts";
import { type EvaluatedState, type EvaluationBase, playShare } from "./evaluation-actor.ts";
import { type ComputeActionOptions, Policy } from "./policy.ts";
import { type EvaluationResult, type TrainResult, withOldNames } from "./train-result.ts";

export interface AlgorithmParts<Training extends object> {
  readonly config: AlgorithmConfig<Training>;
  readonly built: ReadonlyMap<string, BuiltModule>;
  /** The policies of several agents; `undefined` where the environment has one. */
  readonly policies: PolicyTable | undefined;
  /** The agents; `undefined` where the environment has one. */
  readonly agents: AgentSpaces | undefined;
  readonly recipes: Readonly<Record<string, ModuleRecipe>>;
  readonly seed: number;
}

/** The agents of an environment, with their spaces. */
type AgentSpaces = Pick<MultiAgentEnv, "possibleAgents" | "observationSpaces" | "actionSpaces">;

/** A module with everything that turns observations into actions, and its learner. */
interface LearningModule {
  readonly built: BuiltModule;
  readonly learner: Learner;
  readonly policy: Policy;
}

interface Streaming {
  /** Steps of a call of all runners where `rolloutFragmentLength` is "auto". */
  readonly steps: number;
  /** Steps that may wait for the learner. */
  readonly waitingStepsMax: number;
}

/** The policy of a call, where there are several. */
export interface PolicyChoice {
  /** Default: `"default_policy"`, or the only one. */
  readonly moduleId?: string | undefined;
}

const CONNECTORS = "envRunners.envToModuleConnector";

const CALL = { of: "a call of an algorithm", options: { signal: SIGNAL } };

export abstract class Algorithm<Training extends object = object> implements AlgorithmHandle {
  #config: AlgorithmConfig<Training>;
  protected values: ConfigValues<Training>;
  protected readonly seed: number;
  /** By id. */
  protected modules: ReadonlyMap<string, LearningModule>;
  /** The policies of several agents; `undefined` where the environment has one. */
  protected policies: PolicyTable | undefined;
  readonly #agents: AgentSpaces | undefined;
  /** The policies before any was added or removed. */
  #firstPolicies: readonly string[];
  protected readonly runners: RunnerGroup;
  /** Learners in processes; `undefined` where this process learns. */
  protected readonly learners: LearnerGroup | undefined;
  /** Whether the weights were set since the learners in processes have learnt. */
  #hasNewWeights = false;
  #progress = { trainingIteration: 0, timeTotalMs: 0, envSteps: 0, episodes: 0 };
  readonly #episodes: EpisodeWindow;
  readonly #callbacks: Callbacks;
  readonly #log = new ValueLog();
  readonly #logged = new LoggedMetrics();
  #evaluationSpec: EvaluationBase;
  readonly #evaluators: EvaluationRunners | undefined;
  readonly #output: EpisodeFiles | undefined;
  /** Milliseconds spent in the current iteration. */
  #timers = { sample: 0, learn: 0 };
  #stream: SampleStream<Sample> | undefined;
  /** Steps of this iteration that nobody learnt from. */
  #dropped = 0;
  #working: string | undefined;
  #isReporting = false;
  #isStopped = false;

  constructor({ config, built, policies, agents, recipes, seed }: AlgorithmParts<Training>) {
    this.#config = config;
    this.#agents = agents;
    this.#firstPolicies = Array.from(built.keys());
    this.values = config.values;
    this.seed = seed;
    this.policies = policies;
    this.modules = new Map(Array.from(built, ([id, module]) => [id, this.#learning(id, module)]));
    const { envRunners, faultTolerance, reporting, callbacks, offlineData } = this.values;
    const { output, outputWriteEpisodes: writesEpisodes } = offlineData;
    if (output !== undefined) this.#output = new EpisodeFiles(output, { writesEpisodes });
    this.#callbacks = callbacksOf<Callbacks>(callbacks);
    this.#evaluationSpec = this.#specOfEvaluation(recipes);
    this.#evaluators = this.#startEvaluators();
    this.#episodes = new EpisodeWindow(reporting.metricsNumEpisodesForSmoothing);
    this.learners = this.#startLearners(recipes);
    const { isSampling } = config;
    this.runners = new RunnerGroup({ ...envRunners, ...faultTolerance, isSampling, specOf: (place) => this.#runnerSpec(place) });
  }

  /** Frozen. Has the policies of today. */
  get config(): AlgorithmConfig<Training> {
    return this.#config;
  }

  #learning(moduleId: string, built: BuiltModule, config: AlgorithmConfig<Training> = this.config): LearningModule {
    const { values } = this;
    const seed = moduleSeed(this.seed, moduleId);
    const learnerClass: LearnerClass = values.learners.learnerClass ?? config.defaultLearner;
    const buildTwin = (): BuiltModule => buildModule(config.moduleSpecOf(moduleId), built, seed);
    const training = config.trainingOf(moduleId) as unknown as LearnerConfig;
    const learner = new learnerClass({ moduleId, built, buildTwin, config: training, seed }) as Learner;
    const { framework, learners } = values;
    if (framework.name === "torch")
      (learner as unknown as OnPolicyLearner).torch = new TorchNetwork({
        moduleId,
        built,
        runtimeEnv: framework.runtimeEnv,
        numCpus: learners.numCpusPerLearner,
        numGpus: learners.numGpusPerLearner,
      });
    return { built, learner, policy: new Policy(built, new Random(seed, "policy")) };
  }

  /** Makes an algorithm of a configuration. */
  static async build<A extends Algorithm, Training extends object>(
    this: new (
      parts: AlgorithmParts<Training>,
    ) => A,
    given: AlgorithmConfig<Training>,
  ): Promise<A> {
    const config = given.copy();
    config.validate();
    await config.prepare();
    config.freeze();
    const { values, env } = config;
    const seed = values.debugging.seed ?? new Random().integer(2 ** 31);
    // Makes an environment here first: its spaces are needed, and its constructor fails before any process starts.
    const shown = shownEnv(env, values.environment.envConfig);
    const agents = isMultiAgent(shown) ? shown : undefined;
    const policies = agents && policiesOf(config, agents);
    const recipes = isMultiAgent(shown) ? policies?.recipes : onlyRecipe(config, shown);
    config.checkAgents(policies);
    const built = new Map(
      Object.entries(recipes ?? {}).map(([id, { spec, ...spaces }]) => [id, buildModule(spec, spaces, moduleSeed(seed, id))]),
    );
    await shown.close?.();
    if (isMultiAgent(shown)) refuseAgents(config);
    if (Array.from(built.values()).some(({ memory }) => memory.size > 0)) config.refuseMemory();
    await config.readInput(built);
    const algorithm = new this({ config, built, policies, agents: agents && spacesOf(agents), recipes: recipes ?? {}, seed });
    try {
      const networks = algorithm.#torchNetworks(algorithm.modules);
      await Promise.all([algorithm.runners.ready(), algorithm.learners?.ready(), ...networks.map(async (network) => await network.open())]);
      await algorithm.#evaluators?.ready();
      await algorithm.#callbacks.onAlgorithmInit?.(algorithm.#event);
    } catch (error) {
      await algorithm.stop();
      throw error;
    }
    return algorithm;
  }

  /** Samples and learns once. */
  protected abstract trainingStep(signal: AbortSignal | undefined): Promise<void>;

  /** How draws go astray in the next steps. */
  protected get exploration(): Exploration {
    return {};
  }

  /** Numbers of the training step beside those of the learner, in JSON. */
  protected getState(): object {
    return {};
  }

  /** Writes files of the algorithm beside the others of a checkpoint. */
  protected async saveFiles(_path: string, _save: string): Promise<void> {}

  /** Goes on from the numbers and files of a checkpoint. */
  protected async restoreState(_path: string, _save: string, _state: object): Promise<void> {}

  /** How samples arrive while the learner works; `undefined` where the algorithm samples and learns in turn. */
  protected get streaming(): Streaming | undefined {
    return undefined;
  }

  /** The learner that works in the processes of runners; `undefined` where runners only sample. */
  protected get runnerLearning(): RunnerLearning | undefined {
    return undefined;
  }

  /** The learner class of the algorithm, with the modules that are trained. */
  protected learningInRunners(): RunnerLearning {
    const { config, values } = this;
    const trained = Array.from(this.modules.keys()).filter((id) => values.multiAgent.policiesToTrain?.includes(id) !== false);
    const configs = Object.fromEntries(trained.map((id) => [id, config.trainingOf(id) as object]));
    return { learnerClass: values.learners.learnerClass ?? config.defaultLearner, configs };
  }

  /** The samples of runners in processes. */
  get #samples(): SampleStream<Sample> | undefined {
    const { runners, streaming } = this;
    if (streaming === undefined || runners.places.length === 0) return undefined;
    this.#stream ??= new SampleStream({
      runners: {
        places: runners.places,
        waitFor: async (place) => await runners.waitFor(place),
        sampleAt: async (place, weights) => await runners.sampleAt(place, weights, this.request(streaming.steps)),
      },
      inFlightMax: this.values.envRunners.maxRequestsInFlightPerEnvRunner,
      waitingStepsMax: streaming.waitingStepsMax,
      drop: (sample) => {
        this.#dropped += sample.steps;
        this.count(sample);
      },
    });
    return this.#stream;
  }

  /** The next sample of a runner, whichever has one. Without runners in processes this process samples now. */
  protected async arrivals(signal: AbortSignal | undefined): Promise<readonly Sample[]> {
    const samples = this.#samples;
    if (samples !== undefined) return [await samples.next(async (waiting) => await cutOff(waiting, signal))];
    return await this.runners.sample(this.getWeights(), this.request(this.streaming?.steps ?? 1), signal);
  }

  /** Gives the runners the weights of today, for the calls that begin from now on. */
  protected broadcast(): void {
    this.#samples?.setWeights(this.getWeights());
  }

  /** Environment steps that were sampled since the beginning. */
  protected get envSteps(): number {
    return this.#progress.envSteps;
  }

  /** Trains for one iteration. @throws the error of an environment, a callback or the learner; the signal's reason */
  async train(options: CallOptions = {}): Promise<TrainResult> {
    const { signal } = readOptions(options, CALL);
    if (this.#isReporting) throw new RLError("Cannot train: onTrainResult of the last iteration is under way. Await it first");
    const result = await this.#alone("train", async () => await this.#iterate(signal));
    // Not part of the call: it may save, evaluate, and add and remove modules.
    this.#isReporting = true;
    try {
      await this.#callbacks.onTrainResult?.({ ...this.#event, result });
    } finally {
      this.#isReporting = false;
    }
    return result;
  }

  async #iterate(signal: AbortSignal | undefined): Promise<TrainResult> {
    const { reporting, evaluation } = this.values;
    const callbacks = this.#callbacks;
    const begunAt = performance.now();
    const before = { ...this.#progress };
    const restarts = this.#restarts;
    const learnerRestarts = this.learners?.restarts ?? 0;
    const { evaluationInterval, evaluationParallelToTraining } = evaluation;
    const isEvaluated = evaluationInterval !== undefined && (this.#progress.trainingIteration + 1) % evaluationInterval === 0;
    const evaluating = isEvaluated && evaluationParallelToTraining ? this.#evaluate(signal) : undefined;
    // Awaited below; the error of training comes first.
    evaluating?.catch(() => {});
    this.#timers = { sample: 0, learn: 0 };
    this.#dropped = 0;
    for (const { learner } of this.modules.values()) learner.clear();
    const isLongEnough = (): boolean =>
      performance.now() - begunAt >= reporting.minTimeMsPerIteration &&
      this.#progress.envSteps - before.envSteps >= reporting.minSampleTimestepsPerIteration;
    try {
      if (this.#hasNewWeights) await this.learners?.setState();
      this.#hasNewWeights = false;
      this.#samples?.resume(this.getWeights());
      await this.#trainUntil(isLongEnough, signal);
    } finally {
      this.#samples?.pause();
      await this.learners?.keep();
      await evaluating?.catch(() => {});
    }
    await this.#output?.writeFull();
    this.#progress.trainingIteration += 1;
    const evaluated = evaluating === undefined ? (isEvaluated ? await this.#evaluate(signal) : undefined) : await evaluating;
    const recreated = this.#restarts - restarts;
    if (recreated > 0) await callbacks.onEnvRunnersRecreated?.({ ...this.#event, count: recreated });
    const timeThisIterMs = performance.now() - begunAt;
    this.#progress.timeTotalMs += timeThisIterMs;
    const learnersRestarted = (this.learners?.restarts ?? 0) - learnerRestarts;
    return withOldNames(this.#result(before, { timeThisIterMs, recreated, learnersRestarted, evaluated }));
  }

  async #trainUntil(isLongEnough: () => boolean, signal: AbortSignal | undefined): Promise<void> {
    let breathedAt = performance.now();
    do {
      await this.trainingStep(signal);
      if (performance.now() - breathedAt < BREATH_MS) continue;
      await new Promise((resolve) => void setImmediate(resolve));
      signal?.throwIfAborted();
      breathedAt = performance.now();
    } while (!isLongEnough());
  }

  get #event(): { algorithm: AlgorithmHandle; metricsLogger: ValueLog } {
    return { algorithm: this, metricsLogger: this.#log };
  }

  get #restarts(): number {
    return this.runners.restarts + (this.#evaluators?.restarts ?? 0);
  }

  #result(
    before: { envSteps: number; episodes: number },
    {
      timeThisIterMs,
      recreated,
      learnersRestarted,
      evaluated,
    }: { timeThisIterMs: number; recreated: number; learnersRestarted: number; evaluated: EvaluationResult | undefined },
  ): TrainResult {
    const { trainingIteration, timeTotalMs, envSteps, episodes } = this.#progress;
    this.#logged.add(this.#log.take());
    const learned = Array.from(this.modules, ([id, { learner }]) => [id, learner.result] as const).filter(
      ([, numbers]) => numbers !== undefined,
    );
    return {
      trainingIteration,
      timeThisIterMs,
      timeTotalMs,
      envRunners: {
        ...this.#logged.take(),
        ...this.#episodes.statistics,
        numEpisodes: episodes - before.episodes,
        numEpisodesLifetime: episodes,
        numEnvStepsSampled: envSteps - before.envSteps,
        numEnvStepsSampledLifetime: envSteps,
        ...(this.#stream === undefined ? {} : { numEnvStepsDropped: this.#dropped }),
      },
      learners: Object.fromEntries(learned) as TrainResult["learners"],
      ...(evaluated === undefined ? {} : { evaluation: evaluated }),
      timersMs: this.#timers,
      faults: { numEnvRunnerRestarts: recreated, ...(this.learners === undefined ? {} : { numLearnerRestarts: learnersRestarted }) },
    };
  }

  /** Samples with all runners: about so many steps. @returns a fragment for each module that has acted */
  protected async sample(steps: number, signal: AbortSignal | undefined): Promise<Map<string, Fragment>> {
    const weights = this.getWeights();
    const request = this.request(steps);
    // With "auto", one round is a batch, also where a runner was lost.
    const wanted = this.values.envRunners.rolloutFragmentLength === "auto" ? 1 : steps;
    return await this.gather(wanted, async () => await this.runners.sample(weights, request, signal));
  }

  /** Runs a wait for samples, whose time is counted. */
  protected async waitFor<R>(sampling: () => Promise<R>): Promise<R> {
    const begunAt = performance.now();
    try {
      return await sampling();
    } finally {
      this.#timers.sample += performance.now() - begunAt;
    }
  }

  /** Takes samples until there are as many steps as wanted, and joins them. */
  protected async gather(wanted: number, next: () => Promise<readonly Sample[]>): Promise<Map<string, Fragment>> {
    const isByAgent = this.values.multiAgent.countStepsBy === "agent_steps";
    const fragments = new Map<string, Fragment[]>();
    for (let counted = 0; counted < wanted; )
      for (const sample of await this.waitFor(next)) {
        this.count(sample);
        for (const [id, { fragment }] of Object.entries(sample.modules)) {
          if (isByAgent) counted += fragment.rows;
          if (fragment.rows > 0) fragments.set(id, [...(fragments.get(id) ?? []), fragment]);
        }
        if (!isByAgent) counted += sample.steps;
      }
    return new Map(Array.from(fragments, ([id, parts]) => [id, joinFragments(parts)]));
  }

  /** The call with which a runner samples its share of so many steps. */
  protected request(steps: number): SampleRequest {
    const { numEnvRunners, numEnvsPerEnvRunner, rolloutFragmentLength, explore } = this.values.envRunners;
    const isAuto = rolloutFragmentLength === "auto";
    const length = isAuto ? Math.ceil(steps / (Math.max(1, numEnvRunners) * numEnvsPerEnvRunner)) : rolloutFragmentLength;
    const countsAgentSteps = this.values.multiAgent.countStepsBy === "agent_steps";
    const connected = Array.from(this.modules).filter(([, { built }]) => built.encoder.connectors.length > 0);
    const connectors = Object.fromEntries(connected.map(([id, { built }]) => [id, built.encoder.getStates()]));
    return {
      steps: length * numEnvsPerEnvRunner,
      explore,
      exploration: this.exploration,
      envSteps: this.envSteps,
      connectors,
      countsAgentSteps,
    };
  }

  /** Counts the steps and episodes of a sample, and merges the increments of connectors. */
  protected count({ modules, steps, logged = [], recorded = [], ...episodes }: Sample): void {
    this.#output?.add(recorded);
    for (const [id, { increments }] of Object.entries(modules)) this.modules.get(id)?.built.encoder.merge(increments);
    this.#logged.add(logged);
    this.#progress.envSteps += steps;
    this.#progress.episodes += episodes.returns.length;
    this.#episodes.add(episodes);
  }

  /** The modules that learn, with the fragments of a sample. */
  protected learningFrom(fragments: ReadonlyMap<string, Fragment>): { id: string; module: LearningModule; fragment: Fragment }[] {
    const trained = this.values.multiAgent.policiesToTrain;
    return Array.from(this.modules).flatMap(([id, module]) => {
      const fragment = fragments.get(id);
      return fragment === undefined || trained?.includes(id) === false ? [] : [{ id, module, fragment }];
    });
  }

  /** Runs updates, whose time is counted. */
  protected async learn(update: () => void | Promise<void>): Promise<void> {
    const begunAt = performance.now();
    await update();
    this.#timers.learn += performance.now() - begunAt;
  }

  /** Plays `evaluationDuration` episodes in environments of their own. Nothing that training uses changes. */
  async evaluate(options: CallOptions = {}): Promise<EvaluationResult> {
    const { signal } = readOptions(options, CALL);
    return await this.#alone("evaluate", () => this.#evaluate(signal));
  }

  async #evaluate(signal: AbortSignal | undefined): Promise<EvaluationResult> {
    const { evaluation } = this.values;
    // Copies: training may go on meanwhile.
    const weights = this.getWeights();
    const connectors = Object.fromEntries(Array.from(this.modules, ([id, { built }]) => [id, built.encoder.getStates()]));
    const path = ["evaluation", this.#progress.trainingIteration];
    let calls = 0;
    const evaluate = async (options: EvaluationOptions = {}): Promise<EvaluationResult> => {
      const seed = new Random(this.seed, ...path, ...(calls === 0 ? [] : [calls])).integer(2 ** 31);
      calls += 1;
      const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
      return await this.#play({ weights, connectors }, readOptions({ ...evaluation, ...given }, EVALUATION), { seed, signal });
    };
    await this.#callbacks.onEvaluateStart?.(this.#event);
    const own = evaluation.customEvaluationFunction;
    const result = own === undefined ? await evaluate() : checkedResult(await own({ algorithm: this, envRunners: { evaluate } }));
    await this.#callbacks.onEvaluateEnd?.({ ...this.#event, result });
    return result;
  }

  /** Plays the episodes of one evaluation. */
  async #play(
    state: EvaluatedState,
    { evaluationDuration, evaluationDurationUnit, evaluationConfig }: ConfigValues<Training>["evaluation"],
    { seed, signal }: { seed: number; signal: AbortSignal | undefined },
  ): Promise<EvaluationResult> {
    const { environment, envRunners, evaluation } = this.values;
    const shares = sharesOf({
      duration: evaluationDuration,
      unit: evaluationDurationUnit,
      runners: Math.max(1, evaluation.evaluationNumEnvRunners),
      envsPerRunner: envRunners.numEnvsPerEnvRunner,
      seed,
    });
    const ways = {
      envConfig: { ...environment.envConfig, ...evaluationConfig.envConfig },
      explore: evaluationConfig.explore ?? envRunners.explore,
    };
    const built = new Map(Array.from(this.modules, ([id, module]) => [id, module.built]));
    const spec = { ...this.#evaluationSpec, ...ways };
    const played =
      this.#evaluators === undefined
        ? await Promise.all(shares.map((share) => playShare(spec, built, { share, signal })))
        : await this.#evaluators.play(state, shares, { ways, signal });
    this.#output?.add(played.flatMap(({ recorded = [] }) => recorded));
    await this.#output?.write();
    return evaluationResult(played);
  }

  /** The action for an observation: the likeliest, or with `explore` a drawn one. @throws RangeError for an observation outside of the space */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type of the environment's actions, which the caller knows
  computeAction<Action = unknown>(observation: unknown, options: ComputeActionOptions & PolicyChoice = {}): Action {
    return this.#module(options, "compute an action").policy.computeAction<Action>(observation, options);
  }

  /** The actions for several observations. */
  computeActions<Action = unknown>(observations: readonly unknown[], options: ComputeActionOptions & PolicyChoice = {}): Action[] {
    return this.#module(options, "compute actions").policy.computeActions<Action>(observations, options);
  }

  /** The network of a policy as an ONNX model, as `Policy.toOnnx` gives it. */
  toOnnx({ moduleId, ...options }: PolicyOnnxOptions & PolicyChoice = {}): Uint8Array<ArrayBuffer> {
    return this.#module({ moduleId }, "write ONNX").policy.toOnnx(options);
  }

  /** Copies of the modules' weights, in the order of the parameters. Default: of all modules. */
  getWeights(ids: readonly string[] = Array.from(this.modules.keys())): Record<string, Float32Array> {
    return Object.fromEntries(
      ids.map((moduleId) => [moduleId, this.#module({ moduleId }, "get weights").built.module.parameters.data.slice()]),
    );
  }

  /** Sets the weights of the modules that are given. @throws RLError for an unknown module, TypeError for weights that do not fit; nothing is set then */
  setWeights(weights: Readonly<Record<string, Float32Array>>): void {
    const pairs = Object.entries(weights).map(([moduleId, given]) => {
      const { data } = this.#module({ moduleId }, "set weights").built.module.parameters;
      if (!(given instanceof Float32Array) || given.length !== data.length)
        throw new TypeError(`Cannot set weights: ${moduleId} has ${data.length} numbers of float32: received ${describeValue(given)}`);
      return [data, given] as const;
    });
    for (const [data, given] of pairs) data.set(given);
    this.#hasNewWeights = true;
  }

  /** The module of a call. @throws RLError where it is not said, or unknown */
  #module({ moduleId }: PolicyChoice, call: string): LearningModule {
    const ids = Array.from(this.modules.keys());
    const id = moduleId ?? onlyOf(ids);
    const found = this.modules.get(id);
    if (found !== undefined) return found;
    throw new RLError(
      `Cannot ${call}: ${moduleId === undefined ? "moduleId is needed, as there are several policies" : `there is no policy ${describeValue(moduleId)}`}: there are ${ids.join(", ")}`,
    );
  }

  /** Writes a checkpoint into a folder: weights, optimizer, counters, random streams, and environments that have `getState`. */
  async save(path: string): Promise<Checkpoint> {
    return await this.#alone("save", async () => {
      await this.#takeLearners();
      await this.#output?.write();
      const policyChanges = this.#policyChanges;
      const hasChanges = policyChanges.added.length + policyChanges.removed.length > 0;
      return await writeCheckpoint(path, {
        file: {
          algorithm: this.config.name,
          seed: this.seed,
          config: this.config.toCheckpoint(),
          progress: { ...this.#progress, ...this.#episodes.getState(), logged: this.#logged.getState() },
          training: this.getState(),
          ...(hasChanges ? { policyChanges } : {}),
        },
        modules: Array.from(this.modules, ([moduleId, { built, learner }]) => ({ moduleId, built, learner: learner.getState() })),
        runners: await this.runners.getStates(),
        saveFiles: async (folder, save) => await this.saveFiles(folder, save),
      });
    });
  }

  /** Goes on from a checkpoint. @throws RLError where it is damaged, of a later version, or of another algorithm or environment */
  async restore(path: string): Promise<void> {
    await this.#alone("restore", async () => {
      const file = await readAlgorithmFile(path);
      const wanted = withSavedPolicies(this.config, file, { path, own: this.#policyChanges });
      if (wanted !== this.config && file.algorithm === this.config.name) await this.#changePolicies(wanted);
      this.#checkFits(file, path);
      const runners = await readRunners(path, file);
      for (const [moduleId, { built, learner }] of this.modules) {
        const state = await readOptimizer(path, file, moduleId);
        await readWeights(path, file, { moduleId, module: built.module });
        try {
          learner.setState(state);
        } catch (cause) {
          throw new RLError(`Cannot restore ${path}: ${messageOf(cause)}. Use the configuration that it was saved with`, { cause });
        }
        built.encoder.fromSaved(file.modules[moduleId]?.connectors ?? []);
      }
      await this.learners?.setState();
      this.#hasNewWeights = false;
      const { added = [], removed = [] } = file.policyChanges ?? {};
      this.#firstPolicies = [...Object.keys(file.modules).filter((id) => !added.includes(id)), ...removed];
      await this.#stream?.clear();
      await this.restoreState(path, file.save, file.training ?? {});
      await this.runners.setStates(runners);
      const { returns, lengths, agents, logged = [], ...progress } = file.progress;
      this.#logged.setState(logged);
      this.#progress = progress;
      this.#episodes.setState({ returns, lengths, agents });
      await this.#callbacks.onCheckpointLoaded?.(this.#event);
    });
  }

  get #policyChanges(): PolicyChanges {
    const ids = Array.from(this.modules.keys());
    const first = this.#firstPolicies;
    return { added: ids.filter((id) => !first.includes(id)), removed: first.filter((id) => !ids.includes(id)) };
  }

  /**
   * Adds a policy, which agents may be mapped to from their next episodes on. Runners, learners and checkpoints have it, too.
   *
   * Nothing changes where an option is wrong, or an agent would have no policy.
   *
   * @param id - letters, digits, `_`, `-` and `.`
   * @throws RLError for an environment with one agent, an id that exists, and an algorithm whose agents are fixed
   * @example
   * await algorithm.addModule("v2", { weightsOf: "main", policiesToTrain: ["main"], policyMappingFn });
   */
  async addModule(id: string, options: AddModuleOptions = {}): Promise<void> {
    await this.#alone("addModule", async () => {
      this.#checkChangeable("add a module");
      const { config, weightsOf } = withPolicy(this.config, id, { given: options, recipes: this.policies?.recipes ?? {} });
      await this.#changePolicies(config, weightsOf === undefined ? undefined : { id, weightsOf });
    });
  }

  /**
   * Removes a policy. Episodes in which an agent acts by it are dropped.
   *
   * @throws RLError for an id that does not exist, the only policy, and where agents would still be mapped to it; nothing changes then
   */
  async removeModule(id: string, options: RemoveModuleOptions = {}): Promise<void> {
    await this.#alone("removeModule", async () => {
      this.#checkChangeable("remove a module");
      await this.#changePolicies(withoutPolicy(this.config, id, options));
    });
  }

  #checkChangeable(call: string): void {
    if (this.#agents === undefined)
      throw new RLError(
        `Cannot ${call}: ${this.config.env.name} has one agent, which has one policy. Use an environment with several agents`,
      );
    if (!this.hasFixedAgents) return;
    throw new RLError(
      `Cannot ${call}: the agents of ${this.config.name} learn together, and their policies are fixed. Build another algorithm`,
    );
  }

  /** The networks in PyTorch. */
  #torchNetworks(modules: ReadonlyMap<string, LearningModule>): TorchNetwork[] {
    return Array.from(modules.values()).flatMap(({ learner }) => (learner as unknown as OnPolicyLearner).torch ?? []);
  }

  /** Whether the policies are those that the algorithm was built with, for good. */
  protected get hasFixedAgents(): boolean {
    return false;
  }

  /** Forgets the parts of a module that was removed. */
  protected forget(_moduleId: string): void {}

  /** Goes on with the policies of another configuration. Checks and builds everything before anything changes. */
  async #changePolicies(given: AnyConfig, copied?: { readonly id: string; readonly weightsOf: string }): Promise<void> {
    const config = given as AlgorithmConfig<Training>;
    config.validate();
    config.freeze();
    const policies = policiesOf(config, this.#agents as AgentSpaces);
    config.checkAgents(policies);
    const made = new Map<string, LearningModule>();
    for (const [id, { spec, ...spaces }] of Object.entries(policies.recipes)) {
      const known = this.modules.get(id);
      const built = known?.built ?? buildModule(spec, spaces, moduleSeed(this.seed, id));
      if (built.memory.size > 0) config.refuseMemory();
      if (copied?.id === id) copyModule(this.#module({ moduleId: copied.weightsOf }, "copy weights").built, built, copied);
      made.set(id, known ?? this.#learning(id, built, config));
    }
    await Promise.all(this.#torchNetworks(made).map(async (network) => await network.open()));
    await this.#takeLearners();
    await this.#stream?.clear();
    const removed = Array.from(this.modules.keys()).filter((id) => !made.has(id));
    const gone = this.#torchNetworks(new Map(removed.map((id) => [id, this.modules.get(id) as LearningModule])));
    this.#config = config;
    this.values = config.values;
    this.policies = policies;
    this.modules = made;
    for (const id of removed) this.forget(id);
    this.#evaluationSpec = this.#specOfEvaluation(policies.recipes);
    await Promise.all([
      this.runners.setPolicies({ policies, learning: this.runnerLearning }),
      this.learners?.setModules(this.#learnersSpec(policies.recipes)),
      this.#evaluators?.setSpec(this.#evaluationSpec),
      ...gone.map(async (network) => await network.stop()),
    ]);
  }

  /**
   * Calls a function in the process of each runner, such as one that gives its environments another task. It travels as a closure.
   *
   * A runner that is replaced later has not seen the call: `onEnvRunnersRecreated` may repeat it.
   *
   * @returns the answers of the runners that live, in their order
   */
  async forEachEnvRunner<R>(run: (runner: RunnerView) => R | Promise<R>): Promise<R[]> {
    if (typeof run !== "function")
      throw new TypeError(`Cannot call runners: a function of { env, workerIndex } is needed: received ${describeValue(run)}`);
    return await this.#alone("forEachEnvRunner", async () => await this.runners.forEach(run));
  }

  #checkFits({ algorithm, modules }: AlgorithmFile, path: string): void {
    const refusal = (reason: string): RLError => new RLError(`Cannot restore ${this.config.name}: ${reason}`);
    if (algorithm !== this.config.name) throw refusal(`${path} is a checkpoint of ${algorithm}. Use ${algorithm}Config`);
    const [saved, own] = [Object.keys(modules), Array.from(this.modules.keys())];
    if (saved.toSorted().join("\n") !== own.toSorted().join("\n"))
      throw refusal(
        `${path} has the policies ${saved.join(", ")}, and the configuration ${own.join(", ")}. Use the policies that it was saved with`,
      );
    for (const [id, { built }] of this.modules)
      for (const kind of ["observation", "action"] as const)
        if (JSON.stringify(modules[id]?.spaces[kind]) !== JSON.stringify(built[`${kind}Space`]))
          throw refusal(
            `the ${kind} space of ${path}${id === DEFAULT_MODULE_ID ? "" : `, policy ${id},`} is another one: received ${JSON.stringify(modules[id]?.spaces[kind])}. Use the environment that it was trained in`,
          );
  }

  /**
   * Makes an algorithm from a checkpoint.
   *
   * @param options.config - the configuration, where it has classes or functions of one's own; else the checkpoint's is taken
   */
  static async fromCheckpoint(path: string, { config }: { config?: AnyConfig | undefined } = {}): Promise<Algorithm> {
    const file = await readAlgorithmFile(path);
    const whole = config === undefined ? savedConfig(file, path) : withSavedPolicies(config, file, { path });
    const algorithm = (await whole.copy().debugging({ seed: file.seed }).buildAlgo()) as Algorithm;
    try {
      await algorithm.restore(path);
    } catch (error) {
      await algorithm.stop();
      throw error;
    }
    return algorithm;
  }

  /** Ends the runners and their processes. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#stream?.stop();
    try {
      await this.#output?.write();
    } finally {
      const networks = this.#torchNetworks(this.modules).map(async (network) => await network.stop());
      await Promise.all([this.learners?.stop(), this.runners.stop(), this.#evaluators?.stop(), ...networks]);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Runs a call when no other one is under way. */
  async #alone<R>(call: string, run: () => Promise<R>): Promise<R> {
    if (this.#isStopped) throw new RLError(`Cannot ${call}: the algorithm was stopped. Build another one`);
    if (this.#working !== undefined) throw new RLError(`Cannot ${call}: ${this.#working}() is under way. Await it first`);
    this.#working = call;
    try {
      return await run();
    } finally {
      this.#working = undefined;
    }
  }

  #runnerSpec(place: number): RunnerSpec {
    const { environment, envRunners } = this.values;
    return {
      env: this.config.env,
      envConfig: environment.envConfig,
      numEnvs: envRunners.numEnvsPerEnvRunner,
      workerIndex: envRunners.numEnvRunners === 0 ? 0 : place + 1,
      firstEnv: place * envRunners.numEnvsPerEnvRunner,
      seed: this.seed,
      isChecked: !environment.disableEnvChecking,
      module: this.config.moduleSpec,
      policies: this.policies,
      learning: this.runnerLearning,
      callbacks: envRunners.numEnvRunners === 0 ? this.#callbacks : this.#runnerCallbacks,
      isRecorded: this.#output !== undefined,
    };
  }

  /** The callbacks of runners, without those of the algorithm. */
  get #runnerCallbacks(): RunnerCallbackSource {
    const { callbacks } = this.values;
    const own = RUNNER_CALLBACKS.flatMap((name) => (callbacks[name] === undefined ? [] : [[name, callbacks[name]] as const]));
    return { ...Object.fromEntries(own), callbacksClass: callbacks.callbacksClass };
  }

  #specOfEvaluation(recipes: Readonly<Record<string, ModuleRecipe>>): EvaluationBase {
    const { environment, evaluation } = this.values;
    const { evaluationNumEnvRunners } = evaluation;
    return {
      env: this.config.env,
      isChecked: !environment.disableEnvChecking,
      seed: this.seed,
      recipes,
      policies: this.policies,
      module: this.config.moduleSpec,
      callbacks: evaluationNumEnvRunners === 0 ? this.#callbacks : this.#runnerCallbacks,
      isRecorded: this.#output !== undefined,
    };
  }

  #startLearners(recipes: Readonly<Record<string, ModuleRecipe>>): LearnerGroup | undefined {
    const { numLearners, numCpusPerLearner } = this.values.learners;
    return numLearners === 0 ? undefined : new LearnerGroup({ numLearners, numCpusPerLearner, ...this.#learnersSpec(recipes) });
  }

  #learnersSpec(recipes: Readonly<Record<string, ModuleRecipe>>): Pick<ConstructorParameters<typeof LearnerGroup>[0], "spec" | "learners"> {
    const ids = Array.from(this.modules.keys());
    const configs = Object.fromEntries(ids.map((id) => [id, this.config.trainingOf(id) as object]));
    const learnerClass = this.values.learners.learnerClass ?? this.config.defaultLearner;
    return {
      spec: { recipes, configs, learnerClass, seed: this.seed },
      learners: new Map(Array.from(this.modules, ([id, { learner }]) => [id, learner])),
    };
  }

  /** Takes the states of learners in processes into those of this one. */
  async #takeLearners(): Promise<void> {
    if (this.learners === undefined) return;
    if (this.#hasNewWeights) await this.learners.setState();
    this.#hasNewWeights = false;
    for (const [id, { learner }] of this.modules) learner.setState((this.learners.kept[id] as ModuleLearning).state);
  }

  #startEvaluators(): EvaluationRunners | undefined {
    const { envRunners, evaluation } = this.values;
    const { evaluationNumEnvRunners: count, evaluationSampleTimeoutMs: timeoutMs } = evaluation;
    if (count === 0) return undefined;
    return new EvaluationRunners({ count, numCpus: envRunners.numCpusPerEnvRunner, timeoutMs, spec: this.#evaluationSpec });
  }
}

/** @throws TypeError where episodes of several agents would be recorded, or learnt from */
function refuseAgents(config: AnyConfig): void {
  const { output } = config.values.offlineData;
  if (!config.isSampling)
    throw new TypeError(
      `Cannot build ${config.name}: recorded episodes have one agent, and ${config.env.name} has several. Use PPO, which samples them`,
    );
  if (output !== undefined)
    throw new TypeError(
      `Cannot build ${config.name}: episodes of ${config.env.name} have several agents, and those of one are recorded: received output ${describeValue(output)}. Leave output out`,
    );
}

/** The spaces of agents, without the environment behind them. */
function spacesOf({ possibleAgents, observationSpaces, actionSpaces }: AgentSpaces): AgentSpaces {
  return { possibleAgents, observationSpaces, actionSpaces };
}

/** Gives a new module the weights and filters of another. @throws TypeError where the networks differ */
function copyModule(from: BuiltModule, to: BuiltModule, { id, weightsOf }: { id: string; weightsOf: string }): void {
  const sizes = [from, to].map(({ module }) =>
    Array.from(module.namedParameters(), ([name, { shape }]) => `${name} [${shape.join(", ")}]`).join(", "),
  );
  if (sizes[0] !== sizes[1])
    throw new TypeError(
      `Cannot add module ${id}: it has ${sizes[1]}, and ${weightsOf} ${sizes[0]}. Leave moduleClass, modelConfig and weightsOf as they fit`,
    );
  to.module.parameters.data.set(from.module.parameters.data);
  to.encoder.setStates(from.encoder.getStates());
}

/** The policies of an environment with several agents. */
function policiesOf(config: AnyConfig, env: AgentSpaces): PolicyTable {
  const { policies = [DEFAULT_MODULE_ID], policyMappingFn: mappingFn } = config.values.multiAgent;
  return resolvePolicies({ policies, mappingFn, moduleSpecOf: (id) => config.moduleSpecOf(id), env });
}

/** The one module of an environment with one agent. @throws TypeError where the configuration has policies */
function onlyRecipe(config: AnyConfig, { observationSpace, actionSpace }: Env | VectorEnv): Readonly<Record<string, ModuleRecipe>> {
  const { policies, policyMappingFn } = config.values.multiAgent;
  if (policies !== undefined || policyMappingFn !== undefined)
    throw new TypeError(
      `Cannot build ${config.name}: ${config.env.name} has one agent, as it has no observationSpaces, and multiAgent() has policies. Leave multiAgent() out`,
    );
  return { [DEFAULT_MODULE_ID]: { spec: config.moduleSpec, observationSpace, actionSpace } };
}

/** The configuration in a checkpoint. @throws RLError where classes or functions belong to it */
function savedConfig(file: AlgorithmFile, path: string): AnyConfig {
  const { algorithm, config } = file;
  const made = configOf(algorithm, path).fromCheckpoint(config.given);
  try {
    made.environment(config.env);
  } catch (cause) {
    throw missing(path, config.code, cause);
  }
  // All modules have connectors of one maker.
  const connectors = builtInConnectors(Object.values(file.modules)[0]?.connectors ?? []);
  if (config.code.includes(CONNECTORS) && connectors !== undefined) made.envRunners({ envToModuleConnector: connectors });
  const isGiven = (each: string): boolean => each === "environment" || (each === CONNECTORS && connectors !== undefined);
  const others = config.code.filter((each) => !isGiven(each));
  if (others.length > 0) throw missing(path, others, undefined);
  return made;
}

function missing(path: string, code: readonly string[], cause: unknown): RLError {
  return new RLError(
    `Cannot restore ${path}: a checkpoint has no classes and functions: ${code.join(", ")} are missing. Give the configuration: { config }`,
    cause === undefined ? {} : { cause },
  );
}
