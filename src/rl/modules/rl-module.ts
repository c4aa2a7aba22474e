/**
 * Networks of policies: the base class, its inputs and its outputs.
 *
 * A module is a `Layer` of `shoal/tensor` whose `forward` turns observations into the numbers of an action distribution and, for algorithms that want them, values. A class of one's own names its parts
 * with `add` and needs no constructor. One that remembers has an `initialState`, and gives `stateOut`.
 */
import { Layer, type Random, type Tensor } from "../../tensor/index.ts";
import { RLError } from "../errors.ts";
import type { ModuleSetup } from "./model-config.ts";
import type { ModuleState, StateTensors } from "./module-memory.ts";

export interface ModuleInput {
  /** Encoded observations, `[rows, inputSize]`. */
  readonly obs: Tensor;
  /** Whether the output is for exploring: noisy layers have noise then. Default: false. */
  readonly explore?: boolean | undefined;
  /** `[rows, outputSize]`, 0 where a choice is forbidden; only where the environment has masks. The module need not obey it. */
  readonly actionMask?: Tensor | undefined;
  /** The states before the first step, one row a sequence. The rows of `obs` are sequences of equal length, one after another. Only for modules with an `initialState`. */
  readonly stateIn?: StateTensors | undefined;
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
  /** The states behind the last step, by the names of `initialState`. */
  readonly stateOut?: StateTensors;
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

  /** The state of one environment before its first step, by name. Default: none, the module remembers nothing. */
  initialState(): ModuleState {
    return {};
  }

  /** The streams of layers that have noise, for checkpoints. */
  get noise(): readonly Random[] {
    return [];
  }
}

/** A class of modules. */
export type ModuleClass = new (setup: ModuleSetup) => RLModule;
