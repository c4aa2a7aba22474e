/**
 * A module in an environment that says which actions are allowed.
 *
 * Observations are a `Dict` of `observations` and `actionMask`; a mask has one entry an action, 0 where it is forbidden. The inner module gets the observations, and `actionMask` beside
 * them. The numbers of forbidden actions become a large negative one.
 * So draws, greedy choices, losses and targets all obey the mask.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import type { Random, Tensor } from "../../tensor/index.ts";
import { FORBIDDEN } from "../distributions/action-distribution.ts";
import { EnvironmentError } from "../errors.ts";
import { Discrete } from "../spaces/discrete.ts";
import { MultiDiscrete } from "../spaces/multi-discrete.ts";
import type { Space } from "../spaces/space.ts";
import type { ModuleState } from "./module-memory.ts";
import type { ModuleSetup } from "./model-config.ts";
import { type ModuleInput, type ModuleOutput, RLModule } from "./rl-module.ts";

export class MaskedModule extends RLModule {
  readonly #inner: RLModule;
  readonly #maskSize: number;

  constructor(setup: ModuleSetup, inner: RLModule, maskSize: number) {
    super(setup);
    this.#inner = inner;
    this.#maskSize = maskSize;
  }

  /** Those of the inner module, under its names. */
  override namedParameters(): Map<string, Tensor> {
    return this.#inner.namedParameters();
  }

  forward(input: ModuleInput): ModuleOutput {
    return this.#masked(input, (inner) => this.#inner.forward(inner));
  }

  override forwardTrain(input: ModuleInput): ModuleOutput {
    return this.#masked(input, (inner) => this.#inner.forwardTrain(inner));
  }

  override initialState(): ModuleState {
    return this.#inner.initialState();
  }

  override get noise(): readonly Random[] {
    return this.#inner.noise;
  }

  #masked(input: ModuleInput, pass: (inner: ModuleInput) => ModuleOutput): ModuleOutput {
    const width = input.obs.shape[1] as number;
    const actionMask = input.obs.slice({ axis: 1, start: width - this.#maskSize, end: width });
    const obs = input.obs.slice({ axis: 1, start: 0, end: width - this.#maskSize });
    const penalties = actionMask.mul(-1).add(1).mul(FORBIDDEN);
    const output = pass({ ...input, obs, actionMask });
    const { actionDistInputs, qValues } = output;
    return {
      ...output,
      ...(actionDistInputs === undefined ? {} : { actionDistInputs: actionDistInputs.add(penalties) }),
      ...(qValues === undefined ? {} : { qValues: qValues.add(penalties) }),
    };
  }
}

/** The choices of each part of a masked action; none where there is no mask. @throws TypeError where mask and actions do not fit */
export function maskedChoices(maskSize: number, actionSpace: Space): readonly number[] {
  if (maskSize === 0) return [];
  const counts = actionSpace instanceof Discrete ? [actionSpace.n] : actionSpace instanceof MultiDiscrete ? actionSpace.counts : [];
  if (counts.reduce((sum, count) => sum + count, 0) === maskSize) return counts;
  throw new TypeError(
    `Cannot make a policy: actionMask has one entry for each choice of a Discrete or MultiDiscrete action space: received ${maskSize} entries for ${describeValue(actionSpace.toJSON())}`,
  );
}

/**
 * Refuses masks that allow nothing.
 *
 * @param obs - encoded observations, whose rows end with the mask
 * @param isActing - whether somebody acts on a row: the last observation of an episode may allow nothing
 * @throws EnvironmentError
 */
export function checkMasks(
  obs: Float32Array,
  { rows, choices }: { rows: number; choices: readonly number[] },
  isActing?: (row: number) => boolean,
): void {
  if (choices.length === 0) return;
  const width = obs.length / rows;
  const maskSize = choices.reduce((sum, count) => sum + count, 0);
  for (let row = 0; row < rows; row += 1) {
    if (isActing?.(row) === false) continue;
    let at = (row + 1) * width - maskSize;
    for (const [part, count] of choices.entries()) {
      if (obs.subarray(at, at + count).every((entry) => entry === 0))
        throw new EnvironmentError(
          `Cannot act: the action mask forbids every choice${choices.length === 1 ? "" : ` of part ${part}`}: received ${describeValue(Array.from(obs.subarray(at, at + count)))}. Allow at least one, or end the episode`,
        );
      at += count;
    }
  }
}
