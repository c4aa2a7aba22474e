/**
 * The network of an algorithm in the client: spaces and weights come over the link, and actions are chosen here on `shoal/tensor`.
 *
 * `buildModule` makes the same network as in runners.
 * The steps that were played wait here as columns, until the client sends them.
 */
import { noGrad, Random, scope, tensor } from "../../tensor/index.ts";
import type { WireArray } from "../link/frames.ts";
import type { NetworkConfig, StateFields } from "../link/messages.ts";
import { SpaceArrays } from "../link/space-arrays.ts";
import { checkMasks } from "../modules/masked-module.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import { actionInputs } from "../modules/rl-module.ts";
import { columnLayout } from "../spaces/columns.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import type { Space } from "../spaces/space.ts";

/** An action with the numbers that the learner needs. */
export interface Chosen {
  /** As the environment takes it. */
  readonly action: unknown;
  /** In the policy's range. */
  readonly drawn: NumericArray;
  readonly logp: number;
  readonly inputs: Float32Array;
}

export class LocalPolicy {
  readonly built: BuiltModule;
  /** The version of the weights; 0 before the first have come. */
  version = 0;
  readonly #random: Random;
  #ways: Pick<StateFields, "explore" | "exploration"> = { explore: true, exploration: {} };
  /** The state of noise that drifts within an episode. */
  readonly #drift: Float64Array;

  constructor(
    { network }: { readonly network: NetworkConfig },
    { observationSpace, actionSpace, seed }: { observationSpace: Space; actionSpace: Space; seed: number | undefined },
  ) {
    const { modelConfig, normalizeActions, clipActions, policyKind } = network;
    const spec = {
      moduleClass: undefined,
      modelConfig,
      normalizeActions,
      clipActions,
      ...(policyKind === undefined ? {} : { policyKind }),
    };
    this.built = buildModule(spec, { observationSpace, actionSpace });
    this.#random = seed === undefined ? new Random() : new Random(seed, "actions");
    this.#drift = new Float64Array((this.built.distribution.actions.allocate(1) as NumericArray).length);
  }

  /** Takes the answer to GET_STATE. @throws RangeError where the weights are those of another network */
  take({ version, explore, exploration }: StateFields, weights: WireArray | undefined): void {
    const own = this.built.module.parameters.data;
    if (weights !== undefined) {
      if (!(weights.data instanceof Float32Array) || weights.data.length !== own.length)
        throw new RangeError(
          `Cannot take weights: the network has ${own.length} numbers: received ${weights.data.length}. Use the client of the server's version of Shoal`,
        );
      own.set(weights.data);
    }
    this.version = version;
    this.#ways = { explore, exploration };
  }

  /** An episode begins. */
  begin(): void {
    this.#drift.fill(0);
  }

  /** @throws RangeError for an observation outside of the space */
  choose(observation: unknown): Chosen {
    const { encoder, distribution, module, maskedChoices, observationSpace, actionSpace } = this.built;
    checkFits(observationSpace, observation);
    const row = new Float32Array(encoder.size);
    encoder.encoder.encode(observation, row, 0);
    checkMasks(row, { rows: 1, choices: maskedChoices });
    const { explore, exploration } = this.#ways;
    const inputs = scope(() =>
      noGrad(() => actionInputs(module.forward({ obs: tensor(row, { shape: [1, row.length] }), explore })).toArray()),
    );
    const drawn = distribution.actions.allocate(1) as NumericArray;
    const draw = { inputs, row: 0, actions: drawn, noise: this.#drift };
    let logp = 0;
    if (explore) logp = distribution.sample(draw, this.#random, exploration);
    else distribution.choose(draw);
    const layout = columnLayout(actionSpace);
    const action = layout.allocate(1);
    distribution.toEnvironment(drawn, action);
    return { action: layout.read(action, 0), drawn, logp, inputs };
  }
}

/** @throws RangeError */
export function checkFits(space: Space, observation: unknown): void {
  const misfit = space.misfit(observation);
  if (misfit !== undefined) throw new RangeError(`Cannot choose an action: the observation is not in the observation space: ${misfit}`);
}

/** Steps that were played and not sent yet. */
export class PlayedColumns {
  readonly #observations: SpaceArrays;
  readonly #built: BuiltModule;
  #rows: Chosen[] = [];
  #rewards: number[] = [];
  #obs: unknown[] = [];
  #sequences: number[] = [];
  #length = 0;

  constructor(built: BuiltModule) {
    this.#built = built;
    this.#observations = new SpaceArrays(built.observationSpace, "obs");
  }

  get rows(): number {
    return this.#rows.length;
  }

  add(observation: unknown, chosen: Chosen, reward: number): void {
    this.#obs.push(observation);
    this.#rows.push(chosen);
    this.#rewards.push(reward);
    this.#length += 1;
  }

  /** Ends a piece of an episode. @param end - 0: the episode goes on, 1: terminated, 2: truncated */
  close(last: unknown, end: number): void {
    if (this.#length === 0) return;
    this.#obs.push(last);
    this.#sequences.push(this.#length, end);
    this.#length = 0;
  }

  /** The columns, which are forgotten here. */
  take(): Map<string, WireArray> {
    const { distribution } = this.#built;
    const rows = this.#rows.length;
    const arrays = new Map<string, WireArray>();
    this.#observations.write(this.#obs, arrays);
    const actions = distribution.actions.allocate(rows) as NumericArray;
    const inputs = new Float32Array(rows * distribution.inputSize);
    const width = rows === 0 ? 0 : actions.length / rows;
    for (const [row, chosen] of this.#rows.entries()) {
      actions.set(chosen.drawn, row * width);
      inputs.set(chosen.inputs, row * distribution.inputSize);
    }
    arrays.set("actions", { shape: [rows, width], data: actions });
    arrays.set("actionDistInputs", { shape: [rows, distribution.inputSize], data: inputs });
    arrays.set("actionLogp", { shape: [rows], data: Float32Array.from(this.#rows, ({ logp }) => logp) });
    arrays.set("rewards", { shape: [rows], data: Float64Array.from(this.#rewards) });
    arrays.set("sequences", { shape: [this.#sequences.length / 2, 2], data: Int32Array.from(this.#sequences) });
    this.#rows = [];
    this.#rewards = [];
    this.#obs = [];
    this.#sequences = [];
    return arrays;
  }
}
