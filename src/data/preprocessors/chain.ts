/** Several preprocessors as one: each is fitted on the rows that those before it give. */
import type { Dataset } from "../dataset.ts";
import type { AnyBatch, AnyRow } from "../row-types.ts";
import { type Columns, definePreprocessor, Preprocessor, preprocessorFromJson, type PreprocessorJson } from "./preprocessor.ts";

export class Chain extends Preprocessor {
  readonly kind = "Chain";
  /** In the order of their work. */
  readonly steps: readonly Preprocessor[];

  /** @throws TypeError for other values than preprocessors */
  constructor(...steps: readonly Preprocessor[]) {
    if (steps.length === 0 || !steps.every((step) => step instanceof Preprocessor))
      throw new TypeError(
        "Cannot make Chain: it takes one or more preprocessors, such as new Chain(new SimpleImputer(...), new StandardScaler(...))",
      );
    super({});
    this.steps = steps;
  }

  /** Fits each step, with a pass over the dataset for each one that learns. */
  override async fit(dataset: Dataset<any>): Promise<this> {
    let rows = dataset;
    for (const step of this.steps) {
      await step.fit(rows);
      rows = step.transform(rows);
    }
    return this;
  }

  override transform<U extends AnyRow = AnyRow>(dataset: Dataset<any>): Dataset<U> {
    return this.steps.reduce<Dataset<any>>((rows, step) => step.transform(rows), dataset);
  }

  override transformBatch(batch: AnyBatch): any {
    return this.steps.reduce<AnyBatch>((made, step) => step.transformBatch(made) as AnyBatch, batch);
  }

  override toJSON(): PreprocessorJson {
    return { ...super.toJSON(), options: { steps: this.steps.map((step) => step.toJSON()) } };
  }

  protected override apply(): Columns {
    return {};
  }
}

definePreprocessor(
  "Chain",
  class extends Chain {
    constructor({ steps }: { readonly steps?: unknown }) {
      super(...(Array.isArray(steps) ? steps : []).map(preprocessorFromJson));
    }
  },
);
