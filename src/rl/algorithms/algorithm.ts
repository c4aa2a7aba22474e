/**
 * An algorithm at work: runners, a learner, and the calls that users make.
 *
 * A subclass has the training step. This class owns the runners, the module, the counters and the results, and writes and reads checkpoints.
 * One call works at a time. `stop` ends all processes.
 */
import { describeValue, messageOf, readOptions, SIGNAL } from "../../core/internal.ts";
import { Random } from "../../tensor/index.ts";
import type { Checkpoint } from "../../runs/checkpoint.ts";
import { type AlgorithmFile, readAlgorithmFile, readStates, readWeights, writeCheckpoint } from "../checkpoints/algorithm-checkpoint.ts";
import type { AlgorithmHandle, CallOptions } from "../config/algorithm-handle.ts";
import type { AlgorithmConfig, ConfigValues } from "../config/algorithm-config.ts";
import { builtInConnectors } from "../connectors/built-in-connectors.ts";
import { vectorEnvOf } from "../environments/make-env.ts";
import { RLError } from "../errors.ts";
import { BREATH_MS } from "../limits.ts";
import { type AnyConfig, configOf } from "../config/algorithm-registry.ts";
import type { Exploration } from "../distributions/action-distribution.ts";
import type { Learner, LearnerClass, LearnerConfig } from "../learners/learner.ts";
import { buildModule, type BuiltModule } from "../modules/module-spec.ts";
import type { RunnerSpec } from "../runners/env-runner.ts";
import { RunnerGroup } from "../runners/runner-group.ts";
import { type Fragment, joinFragments } from "../sequences/fragment.ts";
import { playEpisodes } from "./play-episodes.ts";
import { type ComputeActionOptions, Policy } from "./policy.ts";
import { episodeStatistics, type EvaluationResult, type TrainResult, withOldNames } from "./train-result.ts";

/** The id of the module where there is one policy. */
export const DEFAULT_MODULE_ID = "default_policy";

interface AlgorithmParts<Training extends object> {
  readonly config: AlgorithmConfig<Training>;
  readonly built: BuiltModule;
  readonly seed: number;
}

const CONNECTORS = "envRunners.envToModuleConnector";

const CALL = { of: "a call of an algorithm", options: { signal: SIGNAL } };

export abstract class Algorithm<Training extends object = object> implements AlgorithmHandle {
  /** Frozen. */
  readonly config: AlgorithmConfig<Training>;
  protected readonly values: ConfigValues<Training>;
  protected readonly learner: Learner;
  /** The module with everything that turns observations into actions. */
  protected readonly built: BuiltModule;
  protected readonly seed: number;
  readonly #runners: RunnerGroup;
  readonly #policy: Policy;
  #progress = { trainingIteration: 0, timeTotalMs: 0, envSteps: 0, episodes: 0 };
  #returns: number[] = [];
  #lengths: number[] = [];
  /** Milliseconds spent in the current iteration. */
  #timers = { sample: 0, learn: 0 };
  #working: string | undefined;
  #isStopped = false;

  constructor({ config, built, seed }: AlgorithmParts<Training>) {
    this.config = config;
    this.values = config.values;
    this.built = built;
    this.seed = seed;
    this.#policy = new Policy(built, new Random(seed, "policy"));
    const learnerClass: LearnerClass = this.values.learners.learnerClass ?? config.defaultLearner;
    const training = this.values.training as unknown as LearnerConfig;
    const buildTwin = (): BuiltModule => buildModule(config.moduleSpec, built, seed);
    this.learner = new learnerClass({ moduleId: DEFAULT_MODULE_ID, built, buildTwin, config: training, seed }) as Learner;
    const { envRunners, faultTolerance } = this.values;
    this.#runners = new RunnerGroup({ ...envRunners, ...faultTolerance, specOf: (place) => this.#runnerSpec(place) });
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
    config.freeze();
    const { values, env } = config;
    const seed = values.debugging.seed ?? new Random().integer(2 ** 31);
    const { envConfig, disableEnvChecking } = values.environment;
    // Makes an environment here first: its spaces are needed, and its constructor fails before any process starts.
    const shown = vectorEnvOf(env, { envConfig, numEnvs: 1, autoresetMode: "sameStep", workerIndex: 0, isChecked: !disableEnvChecking });
    const built = buildModule(config.moduleSpec, shown, seed);
    await shown.close?.();
    if (built.memory.size > 0) config.refuseMemory();
    const algorithm = new this({ config, built, seed });
    try {
      await algorithm.#runners.ready();
      await values.callbacks.onAlgorithmInit?.({ algorithm });
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

  /** Environment steps that were sampled since the beginning. */
  protected get envSteps(): number {
    return this.#progress.envSteps;
  }

  /** Trains for one iteration. @throws the error of an environment, a callback or the learner; the signal's reason */
  async train(options: CallOptions = {}): Promise<TrainResult> {
    const { signal } = readOptions(options, CALL);
    return await this.#alone("train", async () => {
      const { reporting, evaluation, callbacks } = this.values;
      const begunAt = performance.now();
      const before = { ...this.#progress };
      const restarts = this.#runners.restarts;
      this.#timers = { sample: 0, learn: 0 };
      this.learner.clear();
      let breathedAt = begunAt;
      do {
        await this.trainingStep(signal);
        if (performance.now() - breathedAt < BREATH_MS) continue;
        await new Promise((resolve) => void setImmediate(resolve));
        signal?.throwIfAborted();
        breathedAt = performance.now();
      } while (
        performance.now() - begunAt < reporting.minTimeMsPerIteration ||
        this.#progress.envSteps - before.envSteps < reporting.minSampleTimestepsPerIteration
      );
      this.#progress.trainingIteration += 1;
      const recreated = this.#runners.restarts - restarts;
      if (recreated > 0) await callbacks.onEnvRunnersRecreated?.({ algorithm: this, count: recreated });
      const { evaluationInterval } = evaluation;
      const isEvaluated = evaluationInterval !== undefined && this.#progress.trainingIteration % evaluationInterval === 0;
      const evaluated = isEvaluated ? await this.#evaluate(signal) : undefined;
      const timeThisIterMs = performance.now() - begunAt;
      this.#progress.timeTotalMs += timeThisIterMs;
      const result = withOldNames(this.#result(before, { timeThisIterMs, recreated, evaluated }));
      await callbacks.onTrainResult?.({ algorithm: this, result });
      return result;
    });
  }

  #result(
    before: { envSteps: number; episodes: number },
    { timeThisIterMs, recreated, evaluated }: { timeThisIterMs: number; recreated: number; evaluated: EvaluationResult | undefined },
  ): TrainResult {
    const { trainingIteration, timeTotalMs, envSteps, episodes } = this.#progress;
    const learned = this.learner.result;
    return {
      trainingIteration,
      timeThisIterMs,
      timeTotalMs,
      envRunners: {
        ...episodeStatistics(this.#returns, this.#lengths),
        numEpisodes: episodes - before.episodes,
        numEpisodesLifetime: episodes,
        numEnvStepsSampled: envSteps - before.envSteps,
        numEnvStepsSampledLifetime: envSteps,
      },
      learners: learned === undefined ? {} : { [DEFAULT_MODULE_ID]: learned },
      ...(evaluated === undefined ? {} : { evaluation: evaluated }),
      timersMs: this.#timers,
      faults: { numEnvRunnerRestarts: recreated },
    };
  }

  /** Samples with all runners: about so many steps. */
  protected async sample(steps: number, signal: AbortSignal | undefined): Promise<Fragment> {
    const { numEnvRunners, numEnvsPerEnvRunner, rolloutFragmentLength, explore } = this.values.envRunners;
    const begunAt = performance.now();
    const weights = this.built.module.parameters.data.slice();
    const isAuto = rolloutFragmentLength === "auto";
    const length = isAuto ? Math.ceil(steps / (Math.max(1, numEnvRunners) * numEnvsPerEnvRunner)) : rolloutFragmentLength;
    const { encoder } = this.built;
    const connectors = encoder.connectors.length === 0 ? {} : { connectors: encoder.getStates() };
    const request = { steps: length * numEnvsPerEnvRunner, explore, exploration: this.exploration, ...connectors };
    const fragments: Fragment[] = [];
    // With "auto", one round is a batch, also where a runner was lost.
    const wanted = isAuto ? 1 : steps;
    for (let rows = 0; rows < wanted; ) {
      for (const { fragment, returns, lengths, increments } of await this.#runners.sample(weights, request, signal)) {
        encoder.merge(increments);
        fragments.push(fragment);
        rows += fragment.rows;
        this.#count(fragment.rows, returns, lengths);
      }
    }
    this.#timers.sample += performance.now() - begunAt;
    return joinFragments(fragments);
  }

  #count(steps: number, returns: Float64Array, lengths: Int32Array): void {
    const { metricsNumEpisodesForSmoothing: window } = this.values.reporting;
    this.#progress.envSteps += steps;
    if (returns.length === 0) return;
    this.#progress.episodes += returns.length;
    this.#returns = [...this.#returns, ...returns].slice(-window);
    this.#lengths = [...this.#lengths, ...lengths].slice(-window);
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
    const { callbacks, evaluation, environment, envRunners } = this.values;
    const { evaluationDuration: episodes, evaluationConfig } = evaluation;
    await callbacks.onEvaluateStart?.({ algorithm: this });
    const result = await playEpisodes({
      env: this.config.env,
      envConfig: { ...environment.envConfig, ...evaluationConfig.envConfig },
      numEnvs: Math.min(episodes, envRunners.numEnvsPerEnvRunner),
      isChecked: !environment.disableEnvChecking,
      built: this.built,
      episodes,
      explore: evaluationConfig.explore ?? envRunners.explore,
      seed: new Random(this.seed, "evaluation", this.#progress.trainingIteration).integer(2 ** 31),
      signal,
    });
    await callbacks.onEvaluateEnd?.({ algorithm: this, result });
    return result;
  }

  /** The action for an observation: the likeliest, or with `explore` a drawn one. @throws RangeError for an observation outside of the space */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type of the environment's actions, which the caller knows
  computeAction<Action = unknown>(observation: unknown, options?: ComputeActionOptions): Action {
    return this.#policy.computeAction<Action>(observation, options);
  }

  /** The actions for several observations. */
  computeActions<Action = unknown>(observations: readonly unknown[], options?: ComputeActionOptions): Action[] {
    return this.#policy.computeActions<Action>(observations, options);
  }

  /** A copy of the module's weights, in the order of the parameters. */
  getWeights(): Record<string, Float32Array> {
    return { [DEFAULT_MODULE_ID]: this.built.module.parameters.data.slice() };
  }

  setWeights(weights: Readonly<Record<string, Float32Array>>): void {
    const given = weights[DEFAULT_MODULE_ID];
    const { data } = this.built.module.parameters;
    if (!(given instanceof Float32Array) || given.length !== data.length)
      throw new TypeError(
        `Cannot set weights: ${DEFAULT_MODULE_ID} has ${data.length} numbers of float32: received ${describeValue(given ?? weights)}`,
      );
    data.set(given);
  }

  /** Writes a checkpoint into a folder: weights, optimizer, counters, random streams, and environments that have `getState`. */
  async save(path: string): Promise<Checkpoint> {
    return await this.#alone(
      "save",
      async () =>
        await writeCheckpoint(path, {
          file: {
            algorithm: this.config.name,
            seed: this.seed,
            config: this.config.toCheckpoint(),
            spaces: { observation: this.built.observationSpace.toJSON(), action: this.built.actionSpace.toJSON() },
            connectors: this.built.encoder.toSaved(),
            progress: { ...this.#progress, returns: this.#returns, lengths: this.#lengths },
            training: this.getState(),
          },
          moduleId: DEFAULT_MODULE_ID,
          module: this.built.module,
          learner: this.learner.getState(),
          runners: await this.#runners.getStates(),
          saveFiles: async (folder, save) => await this.saveFiles(folder, save),
        }),
    );
  }

  /** Goes on from a checkpoint. @throws RLError where it is damaged, of a later version, or of another algorithm or environment */
  async restore(path: string): Promise<void> {
    await this.#alone("restore", async () => {
      const file = await readAlgorithmFile(path);
      this.#checkFits(file, path);
      const target = { moduleId: DEFAULT_MODULE_ID, module: this.built.module };
      const { learner, runners } = await readStates(path, file, DEFAULT_MODULE_ID);
      await readWeights(path, file, target);
      try {
        this.learner.setState(learner);
      } catch (cause) {
        throw new RLError(`Cannot restore ${path}: ${messageOf(cause)}. Use the configuration that it was saved with`, { cause });
      }
      this.built.encoder.fromSaved(file.connectors ?? []);
      await this.restoreState(path, file.save, file.training ?? {});
      await this.#runners.setStates(runners);
      const { returns, lengths, ...progress } = file.progress;
      this.#progress = progress;
      this.#returns = [...returns];
      this.#lengths = [...lengths];
      await this.values.callbacks.onCheckpointLoaded?.({ algorithm: this });
    });
  }

  #checkFits({ algorithm, spaces }: AlgorithmFile, path: string): void {
    const mine = { observation: this.built.observationSpace, action: this.built.actionSpace };
    if (algorithm !== this.config.name)
      throw new RLError(`Cannot restore ${this.config.name}: ${path} is a checkpoint of ${algorithm}. Use ${algorithm}Config`);
    for (const kind of ["observation", "action"] as const)
      if (JSON.stringify(spaces[kind]) !== JSON.stringify(mine[kind]))
        throw new RLError(
          `Cannot restore ${this.config.name}: the ${kind} space of ${path} is another one: received ${JSON.stringify(spaces[kind])}. Use the environment that it was trained in`,
        );
  }

  /**
   * Makes an algorithm from a checkpoint.
   *
   * @param options.config - the configuration, where it has classes or functions of one's own; else the checkpoint's is taken
   */
  static async fromCheckpoint(path: string, { config }: { config?: AnyConfig | undefined } = {}): Promise<Algorithm> {
    const file = await readAlgorithmFile(path);
    const algorithm = (await (config ?? savedConfig(file, path)).copy().debugging({ seed: file.seed }).buildAlgo()) as Algorithm;
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
    await this.#runners.stop();
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
    };
  }
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
  const connectors = builtInConnectors(file.connectors ?? []);
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
