/** The options of `mix`: the weights of the datasets, and when the mix ends. They come behind the datasets, as the last argument. */
import { custom, describeValue, oneOf, readOptions } from "../../core/internal.ts";
import type { Mix } from "../engine/operators/several-inputs.ts";

export interface MixOptions {
  /** How many rows of each dataset there are to be beside those of the others, this dataset's first. Default: as many of each. */
  weights?: readonly number[] | undefined;
  /** `"first"` ends with the first dataset that has no more rows when its turn comes, `"all"` with the last. Default: `"all"`. */
  stop?: "first" | "all" | undefined;
}

const OPTIONS = {
  weights: custom<readonly number[] | undefined>("an array of numbers is needed", undefined, (value) =>
    Array.isArray(value) && value.every((weight) => typeof weight === "number") ? "ok" : "wrong type",
  ),
  stop: oneOf(["first", "all"], "all"),
};

/** @throws TypeError, RangeError */
export function readMix<D>(given: readonly unknown[], isDataset: (value: unknown) => value is D): { others: D[]; mix: Mix } {
  const last = given.at(-1);
  const hasOptions = typeof last === "object" && last !== null && !isDataset(last);
  const values = hasOptions ? given.slice(0, -1) : given;
  const others = values.filter(isDataset);
  if (others.length === 0 || others.length < values.length)
    throw new TypeError(
      `Cannot call mix: it takes Datasets, one or more, and then options: received ${describeValue(values.find((value) => !isDataset(value)))}`,
    );
  const { weights, stop } = readOptions(hasOptions ? (last as MixOptions) : {}, { of: "mix", options: OPTIONS });
  const count = others.length + 1;
  if (weights !== undefined && weights.length !== count)
    throw new RangeError(`Cannot call mix: it takes a weight for each of its ${count} datasets: received ${weights.length}`);
  const odd = weights?.find((weight) => !(weight > 0 && Number.isFinite(weight)));
  if (odd !== undefined) throw new RangeError(`Cannot call mix: it takes weights above 0: received ${odd}`);
  return { others, mix: { weights: weights ?? Array.from({ length: count }, () => 1), stop } };
}
