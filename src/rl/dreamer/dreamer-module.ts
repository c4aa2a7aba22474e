/**
 * The module of DreamerV3: the model of the world, and the actor that acts by its state.
 *
 * An encoded observation ends with the action before.
 * The module remembers the recurrent and the stochastic state; the latter takes the likeliest class of each variable, so acting draws nothing.
 */
import { concat, noGrad, type Tensor, tensor, zeros } from "../../tensor/index.ts";
import type { ModuleSetup } from "../modules/model-config.ts";
import type { ModuleState } from "../modules/module-memory.ts";
import { type ModuleInput, type ModuleOutput, RLModule } from "../modules/rl-module.ts";
import { Discrete } from "../spaces/discrete.ts";
import { DREAMER_SIZES, type ModelSize } from "./sizes.ts";
import { Head, mixedLogp, symlog, WorldModel } from "./world-model.ts";

export class DreamerModule extends RLModule {
  readonly world: WorldModel;
  /** Numbers of an observation without the action before. */
  readonly obsSize: number;
  readonly actionSize: number;
  readonly #actor: Head;
  readonly #isDiscrete: boolean;

  constructor(setup: ModuleSetup) {
    super(setup);
    const { inputSize, outputSize, actionSpace, modelConfig } = setup;
    const size = DREAMER_SIZES[modelConfig["modelSize"] as ModelSize];
    this.#isDiscrete = actionSpace instanceof Discrete;
    this.actionSize = this.#isDiscrete ? outputSize : outputSize / 2;
    this.obsSize = inputSize - this.actionSize;
    this.world = this.add("world", new WorldModel({ obsSize: this.obsSize, actionSize: this.actionSize, size }));
    this.#actor = this.add("actor", new Head(size.recurrent + size.variables ** 2, outputSize, { size, startsAtZero: true }));
  }

  /** The layers of the actor, for an optimizer. */
  get actor(): Head {
    return this.#actor;
  }

  override initialState(): ModuleState {
    const { recurrent, variables } = this.world.size;
    return { h: new Float32Array(recurrent), z: new Float32Array(variables ** 2) };
  }

  /** Takes one step for each row. */
  forward({ obs, stateIn }: ModuleInput): ModuleOutput {
    const { world } = this;
    const { recurrent, variables } = world.size;
    const rows = obs.shape[0] as number;
    const h = stateIn?.["h"] ?? zeros([rows, recurrent]);
    const z = stateIn?.["z"] ?? zeros([rows, variables ** 2]);
    const { seen, action } = this.split(obs);
    const nextH = world.step(h, concat([z, action], { axis: 1 }));
    const logp = world.posterior(concat([nextH, world.encoder.forward(seen)], { axis: 1 }));
    const nextZ = likeliest(logp).reshape([rows, variables ** 2]);
    const actionDistInputs = this.policy(concat([nextH, nextZ], { axis: 1 }));
    return { actionDistInputs, stateOut: { h: nextH, z: nextZ } };
  }

  /** The observation in symlog, and the action before. */
  split(obs: Tensor): { seen: Tensor; action: Tensor } {
    const width = this.obsSize + this.actionSize;
    const seen = symlog(obs.slice({ axis: 1, start: 0, end: this.obsSize }));
    return { seen, action: obs.slice({ axis: 1, start: this.obsSize, end: width }) };
  }

  /** The numbers of the action distribution for states `[rows, size]`. Choices have the equal share mixed in. */
  policy(states: Tensor): Tensor {
    const numbers = this.#actor.forward(states);
    return this.#isDiscrete ? mixedLogp(numbers) : numbers;
  }
}

/** Rows with a single 1, where the largest number is. */
function likeliest(logp: Tensor): Tensor {
  const [rows, classes] = logp.shape as [number, number];
  const numbers = logp.toArray();
  const chosen = new Float32Array(rows * classes);
  for (let row = 0; row < rows; row += 1) {
    let best = row * classes;
    for (let at = best; at < (row + 1) * classes; at += 1) if ((numbers[at] as number) > (numbers[best] as number)) best = at;
    chosen[best] = 1;
  }
  return noGrad(() => tensor(chosen, { shape: [rows, classes] }));
}
