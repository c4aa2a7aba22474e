/**
 * Critics: one or two networks that value actions, for learners whose actor goes through them.
 *
 * For numbers a critic takes the observation and the action, and gives one value; for choices it takes the observation, and gives a value for each. They have the hidden layers of `modelConfig`.
 */
import { concat, Layer, Mlp, type Tensor, tensor } from "../../tensor/index.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import type { NumericArray } from "../spaces/dtype.ts";

export class Critics extends Layer {
  readonly #networks: readonly Mlp[];

  /** @param count - one critic, or two, of which the smaller value counts */
  constructor({ module, encoder, distribution }: BuiltModule, { count, choices }: { count: 1 | 2; choices: number | undefined }) {
    super();
    const { fcnetHiddens = [256, 256], fcnetActivation = "relu", initializer = "uniform" } = module.setup.modelConfig;
    const inputs = encoder.size + (choices === undefined ? (distribution.actions.size ?? 0) : 0);
    const options = { activation: fcnetActivation, initializer };
    this.#networks = Array.from({ length: count }, (_, index) =>
      this.add(`q${index + 1}`, new Mlp([inputs, ...fcnetHiddens, choices ?? 1], options)),
    );
  }

  /** The values of actions by each critic, `[rows]`; without actions those of all choices, `[rows, choices]`. */
  forward(obs: Tensor, actions?: Tensor): Tensor[] {
    const rows = obs.shape[0] as number;
    const input = actions === undefined ? obs : concat([obs, actions], { axis: 1 });
    return this.#networks.map((network) => {
      const values = network.forward(input);
      return actions === undefined ? values : values.reshape([rows]);
    });
  }
}

/** The smaller value of each row. */
export function least(values: readonly Tensor[]): Tensor {
  return values.reduce((a, b) => a.minimum(b));
}

/** Actions of a batch as a tensor: `[rows, size]`. */
export function actionTensor(actions: NumericArray, rows: number): Tensor {
  return tensor(actions, { shape: [rows, actions.length / rows] });
}

/** Runs `f` with constants for parameters: gradients pass through the networks, and leave none in them. `f` calls `backward`, too. */
export function frozen<Result>(network: Layer, f: () => Result): Result {
  const tensors = Array.from(network.parameters.tensors.values());
  for (const each of tensors) each.requiresGrad = false;
  try {
    return f();
  } finally {
    for (const each of tensors) each.requiresGrad = true;
  }
}

/** The mean absolute error of the critics for each row, as a priority. */
export function priorities(values: readonly Tensor[], targets: Tensor): Float32Array {
  const errors = values.map((each) => each.sub(targets).abs());
  return errors
    .reduce((a, b) => a.add(b))
    .mul(1 / errors.length)
    .toArray();
}
