/**
 * Networks of policies: the base class, and the default one.
 *
 * A module is a `Layer` of `shoal/tensor` whose `forward` turns observations into the numbers of an action distribution and, for algorithms that want them, values. A class of one's own names its parts
 * with `add` and needs no constructor. The default module has an encoder of fully connected layers for the policy, and shares it with the values or has another.
 */
import { Layer, Mlp, type Random, type Tensor } from "../../tensor/index.ts";
import { RLError } from "../errors.ts";
import type { Space } from "../spaces/space.ts";

/** The options of the default module, by Ray's names. */
export interface ModelConfig {
  /** Widths of the hidden layers. Default: `[256, 256]`. */
  readonly fcnetHiddens?: readonly number[] | undefined;
  /** Default: `"tanh"`. */
  readonly fcnetActivation?: "tanh" | "relu" | "elu" | "silu" | "linear" | undefined;
  /** Widths of hidden layers of each head. Default: none. */
  readonly headFcnetHiddens?: readonly number[] | undefined;
  /** Whether policy and values share their hidden layers. Default: true. */
  readonly vfShareLayers?: boolean | undefined;
  /** The first weights. Default: `"orthogonal"`. */
  readonly initializer?: "orthogonal" | "uniform" | undefined;
}

/** Everything that a module is made from. */
export interface ModuleSetup {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** Numbers of an encoded observation. */
  readonly inputSize: number;
  /** Numbers of the action distribution. */
  readonly outputSize: number;
  readonly modelConfig: ModelConfig & Readonly<Record<string, unknown>>;
}

export interface ModuleInput {
  /** Encoded observations, `[rows, inputSize]`. */
  readonly obs: Tensor;
  /** Whether the output is for exploring: noisy layers have noise then. Default: false. */
  readonly explore?: boolean | undefined;
  /** `[rows, outputSize]`, 0 where a choice is forbidden; only where the environment has masks. The module need not obey it. */
  readonly actionMask?: Tensor | undefined;
}

export interface ModuleOutput {
  /** `[rows, outputSize]`. */
  readonly actionDistInputs?: Tensor;
  /** `[rows]` or `[rows, 1]`. */
  readonly vfPreds?: Tensor;
  /** `[rows, actions]`: actions are chosen by these where there are no `actionDistInputs`. */
  readonly qValues?: Tensor;
  /** `[rows, actions, atoms]`. */
  readonly qLogits?: Tensor;
}

/** The numbers of an output from which actions are chosen. */
export function actionInputs({ actionDistInputs, qValues }: ModuleOutput): Tensor {
  const inputs = actionDistInputs ?? qValues;
  if (inputs === undefined) throw new RLError("Cannot act: forward() of the module returned no actionDistInputs, and no qValues");
  return inputs;
}

export abstract class RLModule extends Layer {
  readonly setup: ModuleSetup;

  constructor(setup: ModuleSetup) {
    super();
    this.setup = setup;
  }

  abstract forward(input: ModuleInput): ModuleOutput;

  /** The pass of learners. Default: `forward`. */
  forwardTrain(input: ModuleInput): ModuleOutput {
    return this.forward(input);
  }

  /** The streams of layers that have noise, for checkpoints. */
  get noise(): readonly Random[] {
    return [];
  }
}

export class DefaultModule extends RLModule {
  readonly #encoder: Mlp | undefined;
  readonly #valueEncoder: Mlp | undefined;
  readonly #policy: Mlp;
  readonly #value: Mlp;

  constructor(setup: ModuleSetup) {
    super(setup);
    const { inputSize, outputSize, modelConfig } = setup;
    const { fcnetHiddens = [256, 256], fcnetActivation = "tanh", headFcnetHiddens = [], vfShareLayers = true } = modelConfig;
    const options = { activation: fcnetActivation, initializer: modelConfig.initializer ?? ("orthogonal" as const) };
    const encoder = (): Mlp => new Mlp([inputSize, ...fcnetHiddens], { ...options, outputActivation: fcnetActivation });
    const features = fcnetHiddens.at(-1);
    if (features !== undefined) {
      this.#encoder = this.add("encoder", encoder());
      if (!vfShareLayers) this.#valueEncoder = this.add("valueEncoder", encoder());
    }
    const head = (size: number, gain: number): Mlp => new Mlp([features ?? inputSize, ...headFcnetHiddens, size], { ...options, gain });
    // Nearly equal probabilities at first: the policy explores until it has learnt something.
    this.#policy = this.add("policy", head(outputSize, 0.01));
    this.#value = this.add("value", head(1, 1));
  }

  forward({ obs }: ModuleInput): ModuleOutput {
    const features = this.#encoder?.forward(obs) ?? obs;
    const valueFeatures = this.#valueEncoder?.forward(obs) ?? features;
    return { actionDistInputs: this.#policy.forward(features), vfPreds: this.#value.forward(valueFeatures) };
  }
}

/** A class of modules. */
export type ModuleClass = new (setup: ModuleSetup) => RLModule;
