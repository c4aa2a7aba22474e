/** The network of an actor: layers that give the numbers of the action distribution. Critics are the learner's. */
import { Mlp } from "../../tensor/index.ts";
import { ObservationLayers } from "./observation-layers.ts";
import type { ModuleSetup } from "./model-config.ts";
import { type ModuleInput, type ModuleOutput, RLModule } from "./rl-module.ts";

export class ActorModule extends RLModule {
  readonly #encoder: ObservationLayers;
  readonly #head: Mlp;

  constructor(setup: ModuleSetup) {
    super(setup);
    const { outputSize, modelConfig } = setup;
    this.#encoder = this.add("encoder", new ObservationLayers(setup, { fcnetActivation: "relu", initializer: "uniform" }));
    const sizes = [this.#encoder.size, ...(modelConfig.headFcnetHiddens ?? []), outputSize];
    this.#head = this.add("policy", new Mlp(sizes, { activation: "relu", initializer: modelConfig.initializer ?? "uniform" }));
  }

  forward({ obs }: ModuleInput): ModuleOutput {
    return { actionDistInputs: this.#head.forward(this.#encoder.forward(obs).features) };
  }
}
