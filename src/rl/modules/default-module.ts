/** The default network of policy gradients: an encoder for the policy, which the values share or have one of their own, and a head for each. */
import { type LstmState, Mlp } from "../../tensor/index.ts";
import type { ModuleSetup } from "./model-config.ts";
import type { ModuleState, StateTensors } from "./module-memory.ts";
import { ObservationLayers } from "./observation-layers.ts";
import { type ModuleInput, type ModuleOutput, RLModule } from "./rl-module.ts";

export class DefaultModule extends RLModule {
  readonly #encoder: ObservationLayers;
  readonly #valueEncoder: ObservationLayers | undefined;
  readonly #policy: Mlp;
  readonly #value: Mlp;

  constructor(setup: ModuleSetup) {
    super(setup);
    const { outputSize, modelConfig } = setup;
    const { headFcnetHiddens = [], vfShareLayers = true, fcnetActivation = "tanh", initializer = "orthogonal" } = modelConfig;
    const encoder = (): ObservationLayers => new ObservationLayers(setup, { fcnetActivation, initializer });
    this.#encoder = this.add("encoder", encoder());
    if (!vfShareLayers) this.#valueEncoder = this.add("valueEncoder", encoder());
    const sizes = [this.#encoder.size, ...headFcnetHiddens];
    const head = (size: number, gain: number): Mlp => new Mlp([...sizes, size], { activation: fcnetActivation, initializer, gain });
    // Nearly equal probabilities at first: the policy explores until it has learnt something.
    this.#policy = this.add("policy", head(outputSize, 0.01));
    this.#value = this.add("value", head(1, 1));
  }

  /** Without shared layers the values have an LSTM, too, with another state. */
  override initialState(): ModuleState {
    const { cellSize } = this.#encoder;
    if (cellSize === 0) return {};
    const names = this.#valueEncoder === undefined ? ["h", "c"] : ["h", "c", "valueH", "valueC"];
    return Object.fromEntries(names.map((name) => [name, new Float32Array(cellSize)]));
  }

  forward({ obs, stateIn }: ModuleInput): ModuleOutput {
    const { features, state } = this.#encoder.forward(obs, stateOf(stateIn, "h", "c"));
    const ofValue = this.#valueEncoder?.forward(obs, stateOf(stateIn, "valueH", "valueC"));
    const outputs = { actionDistInputs: this.#policy.forward(features), vfPreds: this.#value.forward(ofValue?.features ?? features) };
    if (state === undefined) return outputs;
    const valueState = ofValue?.state;
    return { ...outputs, stateOut: { ...state, ...(valueState === undefined ? {} : { valueH: valueState.h, valueC: valueState.c }) } };
  }
}

function stateOf(given: StateTensors | undefined, hName: string, cName: string): LstmState | undefined {
  const [h, c] = [given?.[hName], given?.[cName]];
  return h === undefined || c === undefined ? undefined : { h, c };
}
