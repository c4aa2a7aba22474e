/**
 * Fills missing values.
 *
 * Nulls are missing, and so is NaN, which tables of Python have in their place.
 * A fit takes the mean or the most frequent value of each column from the values that are there.
 */
import { custom, oneOf, readOptions } from "../../core/internal.ts";
import { mean, valueCounter } from "../aggregates/aggregate.ts";
import { isNullish } from "../blocks/vector-builder.ts";
import { type Category, checkColumns, type ColumnOptions, COLUMNS, compareCategories, OUTPUT_COLUMNS, pairsOf } from "./columns.ts";
import { type Aggregates, type Columns, definePreprocessor, Preprocessor, type ReadColumn, type State } from "./preprocessor.ts";

/** The options of `SimpleImputer`. */
export interface SimpleImputerOptions extends ColumnOptions {
  /** The value in place of a missing one: the mean of the column, its most frequent value (of several, the smallest), or `fillValue`. Default: `"mean"`. */
  strategy?: "mean" | "most_frequent" | "constant" | undefined;
  /** The value for the strategy `"constant"`. */
  fillValue?: string | number | boolean | undefined;
}

type Fill = string | number | boolean | null;

const FILL = custom<string | number | boolean | undefined>("a text, a number or a boolean is needed", undefined, (value) =>
  ["string", "number", "boolean"].includes(typeof value) ? "ok" : "wrong type",
);

/** Missing values become one value for each column. */
export class SimpleImputer extends Preprocessor {
  readonly kind = "SimpleImputer";
  declare readonly options: SimpleImputerOptions & { readonly strategy: string } & Readonly<Record<string, unknown>>;

  constructor(options: SimpleImputerOptions) {
    const strategy = oneOf(["mean", "most_frequent", "constant"], "mean");
    super(
      readOptions(options, {
        of: "SimpleImputer",
        options: { columns: COLUMNS, outputColumns: OUTPUT_COLUMNS, strategy, fillValue: FILL },
      }),
    );
    checkColumns("SimpleImputer", this.options);
    if ((this.options.strategy === "constant") !== (this.options.fillValue !== undefined))
      throw new TypeError(
        `Cannot make SimpleImputer: it takes fillValue with the strategy "constant", and with no other: received ${this.options.strategy}`,
      );
  }

  protected override aggregates(): Aggregates | undefined {
    const { strategy, columns } = this.options;
    if (strategy === "constant") return undefined;
    return Object.fromEntries(columns.map((column, i) => [`fill ${i}`, strategy === "mean" ? mean(column) : valueCounter(column)]));
  }

  protected override learn(results: Readonly<Record<string, any>>): State {
    const fills = this.options.columns.map((column, i) => {
      const found = results[`fill ${i}`] as number | null | { readonly values: readonly unknown[]; readonly counts: readonly number[] };
      return [column, typeof found === "object" && found !== null ? mostFrequent(found) : found];
    });
    return { fills: Object.fromEntries(fills) };
  }

  protected override apply(read: ReadColumn): Columns {
    const { fillValue } = this.options;
    const fills = (this.state as { fills: Record<string, Fill> } | null)?.fills;
    return Object.fromEntries(
      pairsOf(this.options).map(([from, to]) => {
        const fill = fills === undefined ? fillValue : fills[from];
        return [to, Array.from(read(from), (value) => (isNullish(value) || Number.isNaN(value) ? fill : value))];
      }),
    );
  }
}

function mostFrequent({ values, counts }: { readonly values: readonly unknown[]; readonly counts: readonly number[] }): Fill {
  let best: Category | null = null;
  let most = 0;
  for (const [i, count] of counts.entries()) {
    const value = values[i];
    if (isNullish(value) || Number.isNaN(value)) continue;
    const isBetter = best === null || count > most || (count === most && compareCategories(value as Category, best) < 0);
    if (!isBetter) continue;
    best = value as Category;
    most = count;
  }
  return best;
}

definePreprocessor("SimpleImputer", SimpleImputer);
