/**
 * A policy: observations to actions, with the module alone.
 *
 * Answers in the same way as sampling does: encoded observations, the action's distribution, and actions in the environment's range.
 * Needs no environment, no runner and no `init`.
 */
import { noGrad, Random, type RandomState, scope, tensor } from "../../tensor/index.ts";
import { RLError } from "../errors.ts";
import { readAlgorithmFile, readWeights, savedModule } from "../checkpoints/algorithm-checkpoint.ts";
import type { AlgorithmConfig } from "../config/algorithm-config.ts";
import { configOf } from "../config/algorithm-registry.ts";
import { withSavedPolicies } from "../config/policy-changes.ts";
import { checkMasks } from "../modules/masked-module.ts";
import { buildModule, type BuiltModule } from "../modules/module-spec.ts";
import type { ModuleState } from "../modules/module-memory.ts";
import { onlyOf } from "../modules/policy-mapping.ts";
import { type PolicyOnnxOptions, policyToOnnx } from "../modules/policy-onnx.ts";
import { actionInputs } from "../modules/rl-module.ts";
import { builtInConnectors } from "../connectors/built-in-connectors.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { MultiDiscrete } from "../spaces/multi-discrete.ts";
import { type ColumnData, columnLayout } from "../spaces/columns.ts";
import { spaceFromJson } from "../spaces/space-json.ts";

export interface ComputeActionOptions {
  /** Whether the action is drawn; else it is the likeliest. Default: false. */
  readonly explore?: boolean | undefined;
  /** The steps of the episode before this observation, oldest first, for connectors that look back: `FrameStack`, `PreviousActions`. Default: none, the episode begins. */
  readonly previous?: readonly PreviousStep[] | undefined;
  /** The state that the last call returned, for a module that remembers. Default: the episode begins. */
  readonly state?: ModuleState | undefined;
  /** The same for each observation of `computeActions`. */
  readonly states?: readonly (ModuleState | undefined)[] | undefined;
}

/** The answer of a policy whose module remembers. */
export interface ActionWithState<Action = unknown> {
  readonly action: Action;
  /** For the next call of this episode. */
  readonly state: ModuleState;
}

/** An observation, the action on it, and the reward. */
export interface PreviousStep {
  readonly observation: unknown;
  /** Default: none, which counts as zeros. */
  readonly action?: unknown;
  /** Default: 0. */
  readonly reward?: number | undefined;
}

export interface PolicyOptions {
  // oxlint-disable-next-line no-explicit-any -- algorithms differ in the values of their training
  readonly config?: AlgorithmConfig<any> | undefined;
  /** Default: `"default_policy"`, or the only one. */
  readonly moduleId?: string | undefined;
}

interface ActRequest {
  readonly rows: number;
  readonly explore: boolean;
  /** A column of the environment's actions. */
  readonly into: ColumnData;
  /** The states of the module, a row each. */
  readonly states: Float32Array;
  /** The streams of draws, one a row. Default: the policy's. */
  readonly randoms?: readonly Random[];
  /** Says for a row whether its action counts. Default: all do. */
  readonly isActing?: (row: number) => boolean;
}

export class Policy {
  readonly #built: BuiltModule;
  readonly #random: Random;
  #noise: readonly RandomState[] | undefined;

  constructor(built: BuiltModule, random: Random = new Random()) {
    this.#built = built;
    this.#random = random;
  }

  /**
   * Reads the policy of a checkpoint.
   *
   * @param options.config - needed only where the module is of a class of one's own
   * @throws RLError where the checkpoint is damaged, or a class is missing
   */
  static async fromCheckpoint(path: string, options: PolicyOptions = {}): Promise<Policy> {
    const { config } = options;
    const file = await readAlgorithmFile(path);
    const { code, given } = file.config;
    const moduleId = options.moduleId ?? onlyOf(Object.keys(file.modules));
    const { spaces, connectors: saved } = savedModule(file.modules, moduleId, path);
    const isOwn = (option: string): boolean => code.includes(option) && config === undefined;
    if (isOwn("rlModule.moduleClass") || isOwn("multiAgent.policies"))
      throw new RLError(`Cannot read a policy: the module of ${path} is of a class of its user's. Give the configuration: { config }`);
    const connectors = config?.values.envRunners.envToModuleConnector ?? builtInConnectors(saved);
    if (connectors === undefined)
      throw new RLError(`Cannot read a policy: connectors of ${path} are of a class of its user's. Give the configuration: { config }`);
    const whole = config === undefined ? configOf(file.algorithm, path).fromCheckpoint(given) : withSavedPolicies(config, file, { path });
    const moduleSpec = whole.moduleSpecOf(moduleId);
    const built = buildModule(config === undefined ? { ...moduleSpec, connectors } : moduleSpec, {
      observationSpace: spaceFromJson(spaces.observation),
      actionSpace: spaceFromJson(spaces.action),
    });
    built.encoder.fromSaved(saved);
    await readWeights(path, file, { moduleId, module: built.module });
    return new Policy(built);
  }

  /** The module with its encoder and its distribution. */
  get built(): BuiltModule {
    return this.#built;
  }

  /** The action for an observation, as the environment takes it; with a module that remembers `{ action, state }`. @throws RangeError for an observation outside of the space */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type of the environment's actions, which the caller knows
  computeAction<Action = unknown>(observation: unknown, options: ComputeActionOptions = {}): Action {
    return this.computeActions<Action>([observation], options)[0] as Action;
  }

  /** The actions for several observations, in one pass. */
  computeActions<Action = unknown>(
    observations: readonly unknown[],
    { explore = false, previous = [], state, states = state === undefined ? [] : [state] }: ComputeActionOptions = {},
  ): Action[] {
    const { encoder, actionSpace, memory } = this.#built;
    const rows = observations.length;
    if (states.length > 0 && states.length !== rows)
      throw new RangeError(`Cannot compute actions: there is one state for each observation: received ${states.length} for ${rows}`);
    const moduleStates = memory.allocate(rows);
    for (const [row, given] of states.entries()) if (given !== undefined) memory.write(moduleStates, row, given);
    const obs = new Float32Array(rows * encoder.size);
    if (rows > 0) this.#observe(observations, previous, obs);
    const layout = columnLayout(actionSpace);
    const actions = layout.allocate(rows);
    if (rows > 0) this.act(obs, { rows, explore, into: actions, states: moduleStates });
    return Array.from({ length: rows }, (_, row) => {
      const action = layout.read(actions, row);
      return (memory.size === 0 ? action : { action, state: memory.read(moduleStates, row) }) as Action;
    });
  }

  /**
   * Returns the network as an ONNX model: `obs`, and `stateIn.*` of a module that remembers, to `actionDistInputs` or `qValues`, `vfPreds` and `stateOut.*`.
   *
   * Rows of `obs` are encoded observations: numbers of a `Box` as they are, one-hot choices, bytes of pictures divided by 255, parts one behind the other.
   *
   * @throws RLError for a policy with connectors; Error where the module does something that a graph cannot say
   * @example
   * await writeFile("policy.onnx", (await Policy.fromCheckpoint("checkpoints/cartpole")).toOnnx());
   */
  toOnnx(options: PolicyOnnxOptions = {}): Uint8Array<ArrayBuffer> {
    return policyToOnnx(this.#built, options);
  }

  /** Encodes observations as runners do, behind the steps before them. */
  #observe(observations: readonly unknown[], previous: readonly PreviousStep[], into: Float32Array): void {
    const { encoder, observationSpace } = this.#built;
    const rows = observations.length;
    if (previous.length > 0 && rows !== 1)
      throw new RangeError(`Cannot compute actions: previous steps go with one observation: received ${rows}`);
    const column = (values: readonly unknown[]): ColumnData => {
      const layout = columnLayout(observationSpace);
      const data = layout.allocate(values.length);
      for (const [row, value] of values.entries()) {
        const misfit = observationSpace.misfit(value);
        if (misfit !== undefined)
          throw new RangeError(`Cannot compute an action: the observation is not in the observation space: ${misfit}`);
        layout.write(data, row, value);
      }
      return data;
    };
    const observer = encoder.observe(rows, { training: false });
    const [first, ...others] = [...previous.map(({ observation }) => [observation]), observations];
    observer.begin(column(first as readonly unknown[]), into);
    for (const [index, { action, reward = 0 }] of previous.entries()) {
      const step = { actions: drawnAction(action, this.#built), rewards: Float64Array.of(reward), starts: new Uint8Array(1), finals: [] };
      observer.step(column(others[index] as readonly unknown[]), step, into);
    }
  }

  /** Writes actions of the environment for encoded observations, and the new states of a module that remembers. @returns the actions in the policy's range */
  act(obs: Float32Array, { rows, explore, into, states, randoms, isActing }: ActRequest): NumericArray {
    const { module, encoder, distribution, maskedChoices, memory } = this.#built;
    checkMasks(obs, { rows, choices: maskedChoices }, isActing);
    const inputs = this.#withOwnNoise(() =>
      scope(() =>
        noGrad(() => {
          const output = module.forward({ obs: tensor(obs, { shape: [rows, encoder.size] }), explore, ...memory.toTensors(states, rows) });
          memory.take(output.stateOut, states);
          return actionInputs(output).toArray();
        }),
      ),
    );
    const drawn = distribution.actions.allocate(rows) as NumericArray;
    for (let row = 0; row < rows; row += 1) {
      const draw = { inputs, row, actions: drawn };
      if (explore) distribution.sample(draw, randoms?.[row] ?? this.#random);
      else distribution.choose(draw);
    }
    distribution.toEnvironment(drawn, into);
    return drawn;
  }

  /** Runs `f` with this policy's streams in noisy layers: the module may be one that learns, whose streams go on undisturbed. */
  #withOwnNoise<R>(f: () => R): R {
    const { noise } = this.#built.module;
    if (noise.length === 0) return f();
    const before = noise.map((stream) => stream.getState());
    this.#noise ??= noise.map((_, index) => new Random(this.#random.integer(2 ** 31), "noise", index).getState());
    for (const [index, stream] of noise.entries()) stream.setState(this.#noise[index] as RandomState);
    try {
      return f();
    } finally {
      this.#noise = noise.map((stream) => stream.getState());
      for (const [index, stream] of noise.entries()) stream.setState(before[index] as RandomState);
    }
  }
}

/** An action of the environment as the policy draws it. */
function drawnAction(action: unknown, { actionSpace: space, distribution }: BuiltModule): NumericArray {
  if (action === undefined) return columnLayout(space).allocate(1) as NumericArray;
  const misfit = space.misfit(action);
  if (misfit !== undefined) throw new RangeError(`Cannot compute an action: a previous action is not in the action space: ${misfit}`);
  if (space instanceof Discrete) return Int32Array.of((action as number) - space.start);
  if (space instanceof MultiDiscrete) return Int32Array.from(action as ArrayLike<number>);
  const drawn = distribution.actions.allocate(1) as NumericArray;
  distribution.fromEnvironment(action as ColumnData, drawn);
  return drawn;
}
