/**
 * A policy: observations to actions, with the module alone.
 *
 * Answers in the same way as sampling does: encoded observations, the action's distribution, and actions in the environment's range.
 * Needs no environment, no runner and no `init`.
 */
import { noGrad, Random, type RandomState, scope, tensor } from "../../tensor/index.ts";
import { RLError } from "../errors.ts";
import { readAlgorithmFile, readWeights } from "../checkpoints/algorithm-checkpoint.ts";
import type { AlgorithmConfig } from "../config/algorithm-config.ts";
import { configOf } from "../config/algorithm-registry.ts";
import { checkMasks } from "../modules/masked-module.ts";
import { buildModule, type BuiltModule } from "../modules/module-spec.ts";
import { actionInputs } from "../modules/rl-module.ts";
import { type ColumnData, columnLayout } from "../spaces/columns.ts";
import { spaceFromJson } from "../spaces/space-json.ts";

export interface ComputeActionOptions {
  /** Whether the action is drawn; else it is the likeliest. Default: false. */
  readonly explore?: boolean | undefined;
}

export interface PolicyOptions {
  // oxlint-disable-next-line no-explicit-any -- algorithms differ in the values of their training
  readonly config?: AlgorithmConfig<any> | undefined;
  /** Default: `"default_policy"`. */
  readonly moduleId?: string | undefined;
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
    const { config, moduleId = "default_policy" } = options;
    const file = await readAlgorithmFile(path);
    const { code, given } = file.config;
    const moduleClass = config?.values.rlModule.moduleClass;
    if (moduleClass === undefined && code.includes("rlModule.moduleClass"))
      throw new RLError(`Cannot read a policy: the module of ${path} is of a class of its user's. Give the configuration: { config }`);
    const { moduleSpec } = config ?? configOf(file.algorithm, path).fromCheckpoint(given);
    const spaces = { observationSpace: spaceFromJson(file.spaces.observation), actionSpace: spaceFromJson(file.spaces.action) };
    const built = buildModule(moduleSpec, spaces);
    await readWeights(path, file, { moduleId, module: built.module });
    return new Policy(built);
  }

  /** The action for an observation, as the environment takes it. @throws RangeError for an observation outside of the space */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type of the environment's actions, which the caller knows
  computeAction<Action = unknown>(observation: unknown, options: ComputeActionOptions = {}): Action {
    return this.computeActions<Action>([observation], options)[0] as Action;
  }

  /** The actions for several observations, in one pass. */
  computeActions<Action = unknown>(observations: readonly unknown[], { explore = false }: ComputeActionOptions = {}): Action[] {
    const { encoder, observationSpace, actionSpace } = this.#built;
    const rows = observations.length;
    const obs = new Float32Array(rows * encoder.size);
    for (const [row, observation] of observations.entries()) {
      const misfit = observationSpace.misfit(observation);
      if (misfit !== undefined)
        throw new RangeError(`Cannot compute an action: the observation is not in the observation space: ${misfit}`);
      encoder.encode(observation, obs, row * encoder.size);
    }
    const layout = columnLayout(actionSpace);
    const actions = layout.allocate(rows);
    if (rows > 0) this.act(obs, { rows, explore, into: actions });
    return Array.from({ length: rows }, (_, row) => layout.read(actions, row) as Action);
  }

  /** Writes actions of the environment for encoded observations. `isActing` says whose actions count. */
  act(
    obs: Float32Array,
    { rows, explore, into, isActing }: { rows: number; explore: boolean; into: ColumnData; isActing?: (row: number) => boolean },
  ): void {
    const { module, encoder, distribution, maskedChoices } = this.#built;
    checkMasks(obs, { rows, choices: maskedChoices }, isActing);
    const inputs = this.#withOwnNoise(() =>
      scope(() => noGrad(() => actionInputs(module.forward({ obs: tensor(obs, { shape: [rows, encoder.size] }), explore })).toArray())),
    );
    const drawn = distribution.actions.allocate(rows);
    for (let row = 0; row < rows; row += 1) {
      const draw = { inputs, row, actions: drawn };
      if (explore) distribution.sample(draw, this.#random);
      else distribution.choose(draw);
    }
    distribution.toEnvironment(drawn, into);
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
