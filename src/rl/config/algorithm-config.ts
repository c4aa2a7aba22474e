/**
 * The configuration of an algorithm: a builder with a method for each part.
 *
 * Values are checked when they are set, combinations by `validate`, which `buildAlgo` calls. A frozen configuration takes no more values. The data of a configuration (`toDict`) goes into checkpoints; classes and
 * functions do not.
 */
import { describeValue, isPlainObject, nearNames, type OptionSet, readOptions } from "../../core/internal.ts";
import { type ClassDefinition, TRAINABLE } from "../../runs/trainable.ts";
import { travelling } from "../connectors/built-in-connectors.ts";
import { prepared } from "../environments/make-env.ts";
import type { ExternalSource } from "../external/external-source.ts";
import type { GymnasiumSource, PettingZooSource } from "../environments/python/python-source.ts";
import {
  type EnvClass,
  type EnvSource,
  type EnvSpec,
  findEnv,
  type MultiAgentSource,
  type PythonEnvClass,
} from "../environments/registry.ts";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import type { LearnerClass } from "../learners/learner.ts";
import { DEFAULT_MODULE_ID, type PolicySpec, policySpecs, type PolicyTable, specFromJson } from "../modules/policy-mapping.ts";
import type { BuiltModule, ModuleSpec } from "../modules/module-spec.ts";
import type { AlgorithmHandle } from "./algorithm-handle.ts";
import { AlgorithmTrial, type OptionsByPart, type TrialResult } from "./algorithm-trial.ts";
import type { Callbacks, CallbacksClass } from "./callbacks.ts";
import { OLD_ROLLOUTS, OLD_TRAINING, type OldRollouts, type OldTraining, sayToday, underTodaysNames } from "./old-spellings.ts";
import {
  CALLBACKS,
  CHECKPOINTING,
  DEBUGGING,
  ENV_RUNNERS,
  ENVIRONMENT,
  EVALUATION,
  FAULT_TOLERANCE,
  FRAMEWORK,
  type GivenOptions,
  LEARNERS,
  MODEL_CONFIG,
  MULTI_AGENT,
  OFFLINE_DATA,
  REPORTING,
  RESOURCES,
  RL_MODULE,
  type ValuesOf,
} from "./option-tables.ts";
import { hasDomains, type Tunable } from "./tunable.ts";

/** The configuration that a class of environments takes. */
type ConfigOf<C> = C extends new (
  envConfig: infer Config,
  ...rest: never[]
) => unknown
  ? unknown extends Config
    ? object
    : Config
  : object;

type EnvironmentOptions<C> = Omit<GivenOptions<ValuesOf<typeof ENVIRONMENT>>, "envConfig"> & {
  readonly envConfig?: Tunable<ConfigOf<C>> | undefined;
};

/** All values, by part. */
export interface ConfigValues<Training> {
  readonly environment: ValuesOf<typeof ENVIRONMENT>;
  readonly envRunners: ValuesOf<typeof ENV_RUNNERS>;
  readonly training: Training;
  readonly rlModule: ValuesOf<typeof RL_MODULE>;
  readonly multiAgent: ValuesOf<typeof MULTI_AGENT>;
  readonly framework: ValuesOf<typeof FRAMEWORK>;
  readonly learners: ValuesOf<typeof LEARNERS>;
  readonly debugging: ValuesOf<typeof DEBUGGING>;
  readonly evaluation: ValuesOf<typeof EVALUATION>;
  readonly callbacks: Callbacks & { readonly callbacksClass?: CallbacksClass | undefined };
  readonly reporting: ValuesOf<typeof REPORTING>;
  readonly faultTolerance: ValuesOf<typeof FAULT_TOLERANCE>;
  readonly checkpointing: ValuesOf<typeof CHECKPOINTING>;
  readonly offlineData: ValuesOf<typeof OFFLINE_DATA>;
}

type Part = keyof ConfigValues<never>;
export type PartDefaults = Partial<Record<Part, object>>;
type AnyTable = OptionSet<Readonly<Record<string, unknown>>>;

const TABLES: Readonly<Record<Exclude<Part, "training">, AnyTable>> = {
  environment: ENVIRONMENT,
  envRunners: ENV_RUNNERS,
  rlModule: RL_MODULE,
  multiAgent: MULTI_AGENT,
  framework: FRAMEWORK,
  learners: LEARNERS,
  debugging: DEBUGGING,
  evaluation: EVALUATION,
  callbacks: CALLBACKS,
  reporting: REPORTING,
  faultTolerance: FAULT_TOLERANCE,
  checkpointing: CHECKPOINTING,
  offlineData: OFFLINE_DATA,
};

export abstract class AlgorithmConfig<Training extends object = object> {
  #given: Partial<Record<Part, Readonly<Record<string, unknown>>>> = {};
  /** The names under which options were given. */
  #spellings: Readonly<Record<"envRunners" | "training", ReadonlyMap<string, string>>> = { envRunners: new Map(), training: new Map() };
  #env: EnvSpec | undefined;
  #isFrozen = false;
  /** Values that Tune searches: domains, or objects that hold one. */
  #searched: OptionsByPart = {};

  /** The name of the algorithm, as checkpoints have it. */
  abstract readonly name: string;
  protected abstract readonly trainingTable: OptionSet<Training>;
  /** Whether learners in several processes can share a batch. */
  protected get learnsInGroups(): boolean {
    return false;
  }

  /** How actions come of the network's numbers. */
  readonly policyKind: PolicyKind = "stochastic";
  /** Whether the algorithm samples its environment. Others learn from files. */
  readonly isSampling: boolean = true;
  /** The learner of the algorithm. */
  abstract readonly defaultLearner: LearnerClass;

  /** The environment: an id such as `"CartPole-v1"`, a registered name, a class, `makeMultiAgent(...)`, `gymnasium(id)`, `pettingZoo(id)`, `externalEnv({ ... })`, or a class of Python (`python.actor`). */
  environment<C extends EnvClass>(
    source: string | MultiAgentSource | GymnasiumSource | PettingZooSource | ExternalSource | PythonEnvClass | C,
    options?: EnvironmentOptions<C>,
  ): this {
    this.#set("environment", options);
    this.#env = findEnv(source satisfies EnvSource);
    return this;
  }

  /** How steps are sampled. */
  envRunners(options: GivenOptions<ValuesOf<typeof ENV_RUNNERS>>): this {
    return this.#set("envRunners", this.#underTodaysNames("envRunners", options, {}));
  }

  /** @deprecated Use `envRunners`. */
  rollouts(options: GivenOptions<ValuesOf<typeof ENV_RUNNERS>> & OldRollouts): this {
    sayToday("rollouts()", "envRunners()");
    return this.#set("envRunners", this.#underTodaysNames("rollouts", options, OLD_ROLLOUTS));
  }

  /** How the module learns. */
  training(options: GivenOptions<Training> | (GivenOptions<Training> & OldTraining)): this {
    return this.#set("training", this.#underTodaysNames("training", options, OLD_TRAINING));
  }

  /** The network. */
  rlModule(options: GivenOptions<ValuesOf<typeof RL_MODULE>>): this {
    return this.#set("rlModule", options);
  }

  /** The policies of environments with several agents. */
  multiAgent(options: GivenOptions<ValuesOf<typeof MULTI_AGENT>>): this {
    return this.#set("multiAgent", options);
  }

  /** @deprecated Use `learners`. */
  resources(options: GivenOptions<ValuesOf<typeof RESOURCES>>): this {
    const { numGpus } = readOptions(options, RESOURCES);
    sayToday("resources({ numGpus })", "learners({ numGpusPerLearner })");
    return this.#set("learners", { numGpusPerLearner: numGpus });
  }

  /**
   * Trains networks in PyTorch, in a process of Python. Runners, evaluations and checkpoints need none: they have the same weights.
   *
   * @param options.runtimeEnv - the Python that has PyTorch: `{ python: "venv" }`. Default: `python3` of the workers
   */
  framework(name: "torch", options: Omit<GivenOptions<ValuesOf<typeof FRAMEWORK>>, "name"> = {}): this {
    return this.#set("framework", { ...options, name });
  }

  learners(options: GivenOptions<ValuesOf<typeof LEARNERS>>): this {
    return this.#set("learners", options);
  }

  debugging(options: GivenOptions<ValuesOf<typeof DEBUGGING>>): this {
    return this.#set("debugging", options);
  }

  evaluation(options: GivenOptions<ValuesOf<typeof EVALUATION>>): this {
    return this.#set("evaluation", options);
  }

  /** Functions by the names of events, or a class with such methods. Those of episodes run in the processes of runners. */
  callbacks(callbacks: Callbacks | CallbacksClass): this {
    return this.#set("callbacks", typeof callbacks === "function" ? { callbacksClass: checkedClass(callbacks) } : callbacks);
  }

  reporting(options: GivenOptions<ValuesOf<typeof REPORTING>>): this {
    return this.#set("reporting", options);
  }

  faultTolerance(options: GivenOptions<ValuesOf<typeof FAULT_TOLERANCE>>): this {
    return this.#set("faultTolerance", options);
  }

  /** The contents of checkpoints. */
  checkpointing(options: GivenOptions<ValuesOf<typeof CHECKPOINTING>>): this {
    return this.#set("checkpointing", options);
  }

  /** Files of episodes: those that are written, and those that algorithms such as BC learn from. */
  offlineData(options: GivenOptions<ValuesOf<typeof OFFLINE_DATA>>): this {
    return this.#set("offlineData", options);
  }

  #underTodaysNames(of: "envRunners" | "rollouts" | "training", given: object, old: Readonly<Record<string, string>>): object | undefined {
    const part = of === "training" ? "training" : "envRunners";
    const spelledBefore = new Map(this.#spellings[part]);
    const isKnown = (name: string): boolean => Object.hasOwn(this.#tableOf(part).options, name);
    const options = underTodaysNames(given, { of: `${of}()`, old, isKnown, spelledBefore });
    this.#spellings = { ...this.#spellings, [part]: spelledBefore };
    return options;
  }

  #set(part: Part, given: object | undefined): this {
    if (this.#isFrozen) throw new TypeError(`Cannot set ${part} of ${this.constructor.name}: it is frozen. Change a copy: config.copy()`);
    const table = this.#tableOf(part);
    const isSearched = ([name, value]: readonly [string, unknown]): boolean => Object.hasOwn(table.options, name) && hasDomains(value);
    const set = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
    const values = set.filter((entry) => !isSearched(entry));
    readOptions(Object.fromEntries(values), table);
    const others = (before: object = {}): [string, unknown][] =>
      Object.entries(before).filter(([name]) => !set.some(([own]) => own === name));
    this.#given = { ...this.#given, [part]: Object.fromEntries([...others(this.#given[part]), ...values]) };
    const searched = [...others(this.#searched[part]), ...set.filter(isSearched)];
    const { [part]: _, ...elsewhere } = this.#searched;
    this.#searched = searched.length === 0 ? elsewhere : { ...elsewhere, [part]: Object.fromEntries(searched) };
    return this;
  }

  /** The configuration as a trainable of Tune: `new Tuner(config)`. */
  [TRAINABLE](): ClassDefinition<Promise<TrialResult>> {
    const recipe = { configClass: this.constructor as new () => this, env: this.env, given: this.#given as OptionsByPart };
    return {
      name: this.name,
      trainable: AlgorithmTrial,
      parameters: { recipe },
      space: this.#searched,
      resources: (config) => new recipe.configClass().fromTrial(recipe, config as OptionsByPart).#resources,
    };
  }

  /** A configuration of the same environment with the values of a trial. @throws TypeError, RangeError for values that do not fit */
  fromTrial({ env, given }: { readonly env: EnvSpec; readonly given: OptionsByPart }, config: OptionsByPart): this {
    this.#env = env;
    this.#given = given;
    const parts = [...Object.keys(TABLES), "training"];
    for (const [part, values] of Object.entries(config)) {
      const near = nearNames(part, parts);
      if (!parts.includes(part) || !isPlainObject(values))
        throw new TypeError(
          `Cannot use the config of a trial: it has options of ${this.name} by part, such as { training: { lr: 1e-3 } }: received ${describeValue({ [part]: values })}.${near.length > 0 && near[0] !== part ? ` Did you mean ${near.join(" or ")}?` : ` Parts are ${parts.join(", ")}`}`,
        );
      this.#set(part as Part, values);
    }
    return this;
  }

  /** The process of a trial, its runners and its evaluation runners. */
  get #resources(): { bundles: Record<string, number>[] } {
    const { envRunners, evaluation, learners } = this.values;
    const { numEnvRunners, numCpusPerEnvRunner } = envRunners;
    const { numLearners, numCpusPerLearner, numGpusPerLearner } = learners;
    const learner = numCpusPerLearner === 0 ? {} : { CPU: numCpusPerLearner };
    const runner = numCpusPerEnvRunner === 0 ? {} : { CPU: numCpusPerEnvRunner };
    return {
      bundles: [
        { CPU: 1 },
        ...Array.from({ length: numEnvRunners + evaluation.evaluationNumEnvRunners }, () => runner),
        ...Array.from({ length: numLearners }, () => learner),
        ...(numGpusPerLearner === 0 ? [] : [{ GPU: numGpusPerLearner }]),
      ],
    };
  }

  #tableOf(part: Part): AnyTable {
    return part === "training" ? this.trainingTable : TABLES[part];
  }

  /** The environment that was set. @throws TypeError where none was */
  get env(): EnvSpec {
    if (this.#env === undefined)
      throw new TypeError(`Cannot build ${this.name}: it has no environment. Set one: .environment("CartPole-v1")`);
    return this.#env;
  }

  /** All values, defaults too. */
  get values(): ConfigValues<Training> {
    const parts = [...Object.keys(TABLES), "training"] as Part[];
    return Object.fromEntries(
      parts.map((part) => [part, readOptions({ ...this.defaults[part], ...this.#given[part] }, this.#tableOf(part))]),
    ) as unknown as ConfigValues<Training>;
  }

  /** Defaults of the algorithm where the table's differ. */
  protected get defaults(): PartDefaults {
    return {};
  }

  /** Options of the training that shape the network. */
  protected get modelOptions(): object {
    return {};
  }

  /** How each process makes the module. */
  get moduleSpec(): ModuleSpec {
    const { environment, envRunners, rlModule } = this.values;
    const { normalizeActions, clipActions, clipRewards } = environment;
    const modelConfig = { ...this.modelOptions, ...rlModule.modelConfig };
    const ways = { normalizeActions, clipActions, clipRewards, connectors: travelling(envRunners.envToModuleConnector) };
    return { moduleClass: rlModule.moduleClass, modelConfig, ...ways, policyKind: this.policyKind };
  }

  /** How each process makes the module of a policy. */
  moduleSpecOf(moduleId: string): ModuleSpec {
    const shared = this.moduleSpec;
    const { policies } = this.values.multiAgent;
    const own = policies === undefined ? undefined : policySpecs(policies)[moduleId];
    if (own === undefined) return shared;
    return { ...shared, moduleClass: own.moduleClass ?? shared.moduleClass, modelConfig: { ...shared.modelConfig, ...own.modelConfig } };
  }

  /** The values of `training()` for a policy. */
  trainingOf(moduleId: string): Training {
    const { algorithmConfigOverridesPerModule: overrides } = this.values.multiAgent;
    const own = { ...this.defaults.training, ...this.#given.training, ...overrides[moduleId] };
    return readOptions(own, this.trainingTable);
  }

  /** A configuration of the same values, which is not frozen. */
  copy(): this {
    const copy = new (this.constructor as new () => this)();
    copy.#given = this.#given;
    copy.#env = this.#env;
    copy.#spellings = this.#spellings;
    copy.#searched = this.#searched;
    return copy;
  }

  /** Refuses further changes. */
  freeze(): this {
    this.#isFrozen = true;
    return this;
  }

  /** Checks combinations of values. @throws TypeError, RangeError */
  validate(): void {
    const [searched] = Object.entries(this.#searched).flatMap(([part, values]) => Object.keys(values).map((name) => `${part}.${name}`));
    if (searched !== undefined)
      throw new TypeError(`Cannot build ${this.name}: ${searched} is a domain of Tune, which has no value yet. Use new Tuner(config)`);
    const { rlModule, learners, multiAgent } = this.values;
    // A class of one's own reads its configuration itself.
    if (rlModule.moduleClass === undefined) readOptions(rlModule.modelConfig, MODEL_CONFIG);
    this.#checkPolicies(multiAgent, rlModule.moduleClass !== undefined);
    this.#checkNumEnvs(this.env);
    if (this.env.external !== undefined) this.#checkExternal();
    this.#checkFramework();
    this.checkInput();
    const { evaluationParallelToTraining, evaluationNumEnvRunners } = this.values.evaluation;
    if (evaluationParallelToTraining && evaluationNumEnvRunners === 0)
      throw new RangeError(
        `Cannot build ${this.name}: evaluationParallelToTraining needs runners for evaluation: evaluationNumEnvRunners is 0. Set it to 1 or more`,
      );
    if (rlModule.moduleClass === undefined && rlModule.modelConfig?.useLstm === true) this.refuseMemory();
    const { learnerClass, numLearners } = learners;
    if (numLearners > 0 && !this.learnsInGroups)
      throw new RangeError(
        `Cannot build ${this.name}: numLearners of learners() goes with PPO, A2C, IMPALA and APPO: received ${numLearners}. Leave it out`,
      );
    if (learnerClass !== undefined && !(learnerClass.prototype instanceof this.defaultLearner))
      throw new TypeError(
        `Cannot build ${this.name}: learnerClass extends ${this.defaultLearner.name}: received ${describeValue(learnerClass)}`,
      );
  }

  /** Refuses options that need an environment that can be stepped here. */
  #checkExternal(): void {
    const { environment, evaluation, offlineData } = this.values;
    const set = {
      "envConfig of environment()": Object.keys(environment.envConfig).length > 0,
      "numEnvsPerEnvRunner of envRunners()": this.#given.envRunners?.["numEnvsPerEnvRunner"] !== undefined,
      "evaluationInterval of evaluation()":
        evaluation.evaluationInterval !== undefined && evaluation.customEvaluationFunction === undefined,
      "evaluationNumEnvRunners of evaluation()": evaluation.evaluationNumEnvRunners > 0,
      "output of offlineData()": offlineData.output !== undefined,
    };
    const [first] = Object.entries(set).flatMap(([name, isSet]) => (isSet ? [name] : []));
    if (first === undefined) return;
    throw new TypeError(
      `Cannot build ${this.name}: the clients of an external environment play by themselves, so ${first} has no effect. Leave it out; a customEvaluationFunction may evaluate elsewhere`,
    );
  }

  #checkFramework(): void {
    const { framework, learners } = this.values;
    const { numLearners, numGpusPerLearner } = learners;
    if (framework.name === undefined && numGpusPerLearner > 0)
      throw new RangeError(
        `Cannot build ${this.name}: numGpusPerLearner of learners() needs PyTorch, since the kernels of shoal/tensor use no GPU: received ${numGpusPerLearner}. Add framework("torch")`,
      );
    if (framework.name === undefined) return;
    if (!this.learnsInGroups)
      throw new TypeError(
        `Cannot build ${this.name}: framework("torch") goes with PPO, A2C, IMPALA and APPO, whose learner sees a whole batch: received "torch". Leave framework() out`,
      );
    if (numLearners > 0)
      throw new RangeError(
        `Cannot build ${this.name}: with framework("torch") there is one learner: numLearners of learners() is ${numLearners}. Leave it out`,
      );
  }

  #checkNumEnvs({ name, python }: EnvSpec): void {
    const given = this.#given.envRunners?.["numEnvsPerEnvRunner"];
    if (python?.numEnvs === undefined || given === undefined || given === python.numEnvs) return;
    throw new RangeError(
      `Cannot build ${this.name}: numEnvsPerEnvRunner is ${describeValue(given)}, and numEnvs of ${name} is ${python.numEnvs}. Give one of them`,
    );
  }

  /** Checks `input`. @throws TypeError where the algorithm does not read it */
  protected checkInput(): void {
    const { input } = this.values.offlineData;
    if (input === undefined) return;
    throw new TypeError(
      `Cannot build ${this.name}: it samples its environment, and reads no input: received ${describeValue(input)}. Use BC, MARWIL, CQL or IQL`,
    );
  }

  /** Reads the files that the algorithm learns from. Called for the copy that an algorithm is built with, before anything starts. */
  async readInput(_built: ReadonlyMap<string, BuiltModule>): Promise<void> {}

  /** Asks an environment of Python for its spaces. Called for the copy that an algorithm is built with. */
  async prepare(): Promise<void> {
    const { numEnvs } = this.env.python ?? {};
    this.#env = await prepared(this.env, this.values.environment.envConfig);
    if (numEnvs !== undefined) this.#set("envRunners", { numEnvsPerEnvRunner: numEnvs });
  }

  /** Refuses modules that remember where the algorithm cannot train them. @throws TypeError */
  refuseMemory(): void {
    if (this.policyKind === "stochastic") return;
    throw new TypeError(
      `Cannot build ${this.name}: useLstm, and modules with an initialState, go with PPO, A2C, A3C, IMPALA and APPO: ${this.name} learns from single steps of its buffer. Leave useLstm out and stack observations: envToModuleConnector: () => new FrameStack({ numFrames: 4 })`,
    );
  }

  /** Checks the agents of the environment, once it is known. Default: all are fine. @throws TypeError where the algorithm cannot train them */
  checkAgents(_policies: PolicyTable | undefined): void {}

  /** Checks the parts of `multiAgent()` that name policies. Agents are mapped when an environment has been made. */
  #checkPolicies(
    { policies, policiesToTrain, algorithmConfigOverridesPerModule }: ConfigValues<Training>["multiAgent"],
    hasClass: boolean,
  ): void {
    const specs = policies === undefined ? {} : policySpecs(policies);
    const known = policies === undefined ? [DEFAULT_MODULE_ID] : Object.keys(specs);
    for (const [option, ids] of [
      ["policiesToTrain", policiesToTrain ?? []],
      ["algorithmConfigOverridesPerModule", Object.keys(algorithmConfigOverridesPerModule)],
    ] as const) {
      const unknown = ids.find((id) => !known.includes(id));
      if (unknown === undefined) continue;
      const near = nearNames(unknown, known);
      throw new RangeError(
        `Cannot build ${this.name}: ${option} of multiAgent() has the policy ${describeValue(unknown)}, which does not exist: ${near.length > 0 ? `did you mean ${near.join(" or ")}?` : `there are ${known.join(", ")}`}`,
      );
    }
    for (const id of Object.keys(algorithmConfigOverridesPerModule)) void this.trainingOf(id);
    for (const { moduleClass, modelConfig } of Object.values(specs))
      if (moduleClass === undefined && !hasClass && modelConfig !== undefined) readOptions(modelConfig, MODEL_CONFIG);
  }

  /** The data of the configuration, by part. Classes and functions stand there by their names. */
  toDict(): Record<string, unknown> {
    const shown = (value: unknown): unknown => (typeof value === "function" ? value.name : value);
    const parts = Object.entries(this.values).map(
      ([part, values]) =>
        [part, Object.fromEntries(Object.entries(values as object).map(([name, value]) => [name, shown(value)]))] as const,
    );
    const { environment, ...others } = Object.fromEntries(parts);
    return { algorithm: this.name, environment: { env: this.#env?.name, ...environment }, ...others };
  }

  /** The values that were given, in JSON, and the names of those that have no form there. */
  toCheckpoint(): { env: string; given: Readonly<Record<string, object>>; code: readonly string[] } {
    const { name } = this.env;
    const code = hasNoId(this.env) ? ["environment"] : [];
    const given: Record<string, object> = {};
    for (const [part, values] of Object.entries(this.#given)) {
      const isCode = (option: string, value: unknown): boolean =>
        typeof value === "function" || (option === "policies" && hasClasses(value));
      for (const [option, value] of Object.entries(values)) if (isCode(option, value)) code.push(`${part}.${option}`);
      const kept = Object.entries(values).filter(([, value]) => typeof value !== "function");
      given[part] = Object.fromEntries(kept.map(([option, value]) => [option, option === "policies" ? withClassNames(value) : value]));
    }
    return { env: name, given, code };
  }

  /** Sets values that `toCheckpoint` gave. */
  fromCheckpoint(given: Readonly<Record<string, object>>): this {
    for (const [part, values] of Object.entries(given)) this.#set(part as Part, part === "multiAgent" ? withSpaces(values) : values);
    return this;
  }

  /** Builds the algorithm of a frozen copy. @throws where a value or combination is impossible, before anything starts */
  abstract buildAlgo(): Promise<AlgorithmHandle>;

  /** @deprecated Use `buildAlgo`. */
  build(): ReturnType<this["buildAlgo"]> {
    sayToday("build()", "buildAlgo()");
    return this.buildAlgo() as ReturnType<this["buildAlgo"]>;
  }
}

/** Refuses a class with a method that looks like a callback, and is none. @throws TypeError with the nearest name */
function checkedClass(callbacks: CallbacksClass): CallbacksClass {
  const known = Object.keys(CALLBACKS.options).filter((name) => name !== "callbacksClass");
  const methods: string[] = [];
  let prototype = callbacks.prototype as object | null;
  while (prototype !== null && prototype !== Object.prototype) {
    methods.push(...Object.getOwnPropertyNames(prototype));
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  const unknown = methods.find((name) => /^on[A-Z]/.test(name) && !known.includes(name));
  if (unknown === undefined) return callbacks;
  const near = nearNames(unknown, known);
  throw new TypeError(
    `Cannot set callbacks(): ${callbacks.name} has ${unknown}(), which is no event: ${near.length > 0 ? `did you mean ${near.join(" or ")}?` : `there are ${known.join(", ")}`}`,
  );
}

/** Whether an environment cannot be found by its name in another process. */
function hasNoId({ envClass, python, external, copied }: EnvSpec): boolean {
  return envClass !== undefined || python !== undefined || external !== undefined || (copied !== undefined && hasNoId(copied));
}

/** Whether policies have classes of one's own, which have no form in JSON. */
function hasClasses(policies: unknown): boolean {
  return (
    !Array.isArray(policies) &&
    Object.values(policies as Readonly<Record<string, PolicySpec>>).some((spec) => spec.moduleClass !== undefined)
  );
}

/** Policies for JSON: a class stands there by its name. */
function withClassNames(policies: unknown): unknown {
  if (!hasClasses(policies)) return policies;
  const named = ([id, { moduleClass, ...spec }]: [string, PolicySpec]): [string, object] => [
    id,
    moduleClass === undefined ? spec : { ...spec, moduleClass: moduleClass.name },
  ];
  return Object.fromEntries(Object.entries(policies as Readonly<Record<string, PolicySpec>>).map(named));
}

/** The values of `multiAgent()` from JSON, in which spaces have a form of their own. */
function withSpaces(values: object): object {
  const { policies, ...others } = values as { policies?: readonly string[] | Readonly<Record<string, object>> };
  if (policies === undefined || Array.isArray(policies)) return values;
  return { ...others, policies: Object.fromEntries(Object.entries(policies).map(([id, spec]) => [id, specFromJson(spec)])) };
}
