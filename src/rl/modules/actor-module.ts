/** The network of an actor: fully connected layers that give the numbers of the action distribution. Critics are the learner's. */
import { Mlp } from "../../tensor/index.ts";
import { hiddenLayers } from "./hidden-layers.ts";
import { type ModuleInput, type ModuleOutput, type ModuleSetup, RLModule } from "./rl-module.ts";

export class ActorModule extends RLModule {
  readonly #encoder: Mlp | undefined;
  readonly #head: Mlp;

  constructor(setup: ModuleSetup) {
    super(setup);
    const { inputSize, outputSize, modelConfig } = setup;
    const { encoder, features } = hiddenLayers(inputSize, modelConfig, { fcnetActivation: "relu", initializer: "uniform" });
    this.#encoder = encoder === undefined ? undefined : this.add("encoder", encoder);
    const sizes = [features, ...(modelConfig.headFcnetHiddens ?? []), outputSize];
    this.#head = this.add("policy", new Mlp(sizes, { activation: "relu", initializer: modelConfig.initializer ?? "uniform" }));
  }

  forward({ obs }: ModuleInput): ModuleOutput {
    return { actionDistInputs: this.#head.forward(this.#encoder?.forward(obs) ?? obs) };
  }
}
