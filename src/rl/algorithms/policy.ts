/**
 * A policy: observations to actions, with the module alone.
 *
 * Answers in the same way as sampling does: encoded observations, the action's distribution, and actions in the environment's range.
 * Needs no environment, no runner and no `init`.
 */
import { noGrad, Random, scope, tensor } from "../../tensor/index.ts";
import { RLError } from "../errors.ts";
import { readAlgorithmFile, readWeights } from "../checkpoints/algorithm-checkpoint.ts";
import type { AlgorithmConfig } from "../config/algorithm-config.ts";
import { buildModule, type BuiltModule } from "../modules/module-spec.ts";
import type { ModelConfig } from "../modules/rl-module.ts";
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

interface SavedParts {
  readonly environment: { readonly normalizeActions?: boolean; readonly clipActions?: boolean };
  readonly rlModule: { readonly modelConfig?: ModelConfig };
}

export class Policy {
  readonly #built: BuiltModule;
  readonly #random: Random;

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
    const saved = { environment: {}, rlModule: {}, ...given } as SavedParts;
    const spec = {
      moduleClass,
      modelConfig: config?.values.rlModule.modelConfig ?? saved.rlModule.modelConfig ?? {},
      normalizeActions: saved.environment.normalizeActions ?? true,
      clipActions: saved.environment.clipActions ?? false,
    };
    const spaces = { observationSpace: spaceFromJson(file.spaces.observation), actionSpace: spaceFromJson(file.spaces.action) };
    const built = buildModule(spec, spaces);
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

  /** Writes actions of the environment for encoded observations. */
  act(obs: Float32Array, { rows, explore, into }: { rows: number; explore: boolean; into: ColumnData }): void {
    const { module, encoder, distribution } = this.#built;
    const inputs = scope(() =>
      noGrad(() => {
        const { actionDistInputs } = module.forward({ obs: tensor(obs, { shape: [rows, encoder.size] }) });
        if (actionDistInputs === undefined) throw new RLError("Cannot act: forward() of the module returned no actionDistInputs");
        return actionDistInputs.toArray();
      }),
    );
    const drawn = distribution.actions.allocate(rows);
    for (let row = 0; row < rows; row += 1) {
      const draw = { inputs, row, actions: drawn };
      if (explore) distribution.sample(draw, this.#random);
      else distribution.choose(draw);
    }
    distribution.toEnvironment(drawn, into);
  }
}
