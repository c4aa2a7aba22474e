/** The hidden layers in front of the heads of networks that learn from a buffer. */
import { Mlp } from "../../tensor/index.ts";
import type { ModelConfig } from "./rl-module.ts";

interface LayerDefaults {
  readonly fcnetActivation: NonNullable<ModelConfig["fcnetActivation"]>;
  readonly initializer: NonNullable<ModelConfig["initializer"]>;
}

/** @returns the layers, unless the configuration has none, and how many numbers they give */
export function hiddenLayers(
  inputs: number,
  { fcnetHiddens = [256, 256], ...given }: ModelConfig,
  defaults: LayerDefaults,
): { readonly encoder: Mlp | undefined; readonly features: number } {
  const features = fcnetHiddens.at(-1);
  if (features === undefined) return { encoder: undefined, features: inputs };
  const activation = given.fcnetActivation ?? defaults.fcnetActivation;
  const initializer = given.initializer ?? defaults.initializer;
  return { encoder: new Mlp([inputs, ...fcnetHiddens], { activation, outputActivation: activation, initializer }), features };
}
