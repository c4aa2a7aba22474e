/**
 * Scalers: numbers of several columns brought to one measure.
 *
 * Formulas and edge cases are those of scikit-learn and Ray 2.60.
 * A column without spread becomes 0, nulls stay nulls, and missing values count for nothing.
 */
import { custom, oneOf, readOptions } from "../../core/internal.ts";
import { absMax, max, mean, min, quantile, std } from "../aggregates/aggregate.ts";
import { checkColumns, type ColumnOptions, COLUMNS, mapNumbers, numberOrNull, OUTPUT_COLUMNS, pairsOf } from "./columns.ts";
import { type Aggregates, type Columns, definePreprocessor, Preprocessor, type ReadColumn, type State } from "./preprocessor.ts";

const OPTIONS = { columns: COLUMNS, outputColumns: OUTPUT_COLUMNS };

/** Two numbers a column: `(x - center) / scale`. */
interface Scale {
  readonly center: number | null;
  readonly scale: number | null;
}

abstract class LinearScaler extends Preprocessor {
  declare readonly options: ColumnOptions & Readonly<Record<string, unknown>>;

  protected abstract aggregatesOf(column: string): Aggregates;
  protected abstract scaleOf(results: Readonly<Record<string, number | null>>): Scale;

  protected override aggregates(): Aggregates {
    const { columns } = this.options;
    return Object.fromEntries(
      columns.flatMap((column, i) => Object.entries(this.aggregatesOf(column)).map(([name, aggregate]) => [`${name} ${i}`, aggregate])),
    );
  }

  protected override learn(results: Readonly<Record<string, any>>): State {
    const scales = this.options.columns.map((column, i) => {
      const own = Object.keys(this.aggregatesOf(column)).map((name) => [name, numberOrNull(results[`${name} ${i}`], column)]);
      return [column, this.scaleOf(Object.fromEntries(own) as Record<string, number | null>)] as const;
    });
    return { scales: Object.fromEntries(scales) };
  }

  protected override apply(read: ReadColumn): Columns {
    const scales = (this.state as { scales: Record<string, Scale> }).scales;
    return Object.fromEntries(
      pairsOf(this.options).map(([from, to]) => {
        const { center, scale } = scales[from] as Scale;
        // A column without values has no measure.
        const fn = (x: number): number | null => (center === null || scale === null ? null : (x - center) / (scale === 0 ? 1 : scale));
        return [to, mapNumbers(read(from), from, fn)];
      }),
    );
  }
}

/** `(x - mean) / std`, with the deviation of all values (`ddof` 0). */
export class StandardScaler extends LinearScaler {
  readonly kind = "StandardScaler";
  constructor(options: ColumnOptions) {
    super(readOptions(options, { of: "StandardScaler", options: OPTIONS }));
    checkColumns("StandardScaler", this.options);
  }

  protected override aggregatesOf(column: string): Aggregates {
    return { mean: mean(column), std: std(column, { ddof: 0 }) };
  }

  protected override scaleOf({ mean: center = null, std: scale = null }: Readonly<Record<string, number | null>>): Scale {
    return { center, scale };
  }
}

/** `(x - min) / (max - min)`: from 0 to 1 for the rows of the fit. */
export class MinMaxScaler extends LinearScaler {
  readonly kind = "MinMaxScaler";
  constructor(options: ColumnOptions) {
    super(readOptions(options, { of: "MinMaxScaler", options: OPTIONS }));
    checkColumns("MinMaxScaler", this.options);
  }

  protected override aggregatesOf(column: string): Aggregates {
    return { min: min(column), max: max(column) };
  }

  protected override scaleOf({ min: low, max: high }: Readonly<Record<string, number | null>>): Scale {
    return { center: low ?? null, scale: difference(high, low) };
  }
}

/** `x / max |x|`: from -1 to 1 for the rows of the fit. */
export class MaxAbsScaler extends LinearScaler {
  readonly kind = "MaxAbsScaler";
  constructor(options: ColumnOptions) {
    super(readOptions(options, { of: "MaxAbsScaler", options: OPTIONS }));
    checkColumns("MaxAbsScaler", this.options);
  }

  protected override aggregatesOf(column: string): Aggregates {
    return { absMax: absMax(column) };
  }

  protected override scaleOf({ absMax: scale = null }: Readonly<Record<string, number | null>>): Scale {
    return { center: 0, scale };
  }
}

/** The options of `RobustScaler`. */
export interface RobustScalerOptions extends ColumnOptions {
  /** Two parts from 0 to 1: the difference of the values at them is the measure. Default: `[0.25, 0.75]`. */
  quantileRange?: readonly [low: number, high: number] | undefined;
}

const QUANTILES = custom<readonly [number, number]>("[low, high] is needed, from 0 to 1 and ascending", [0.25, 0.75], (value) => {
  if (!Array.isArray(value) || value.length !== 2 || !value.every((one) => typeof one === "number")) return "wrong type";
  const [low, high] = value as [number, number];
  return low >= 0 && high <= 1 && low < high ? "ok" : "out of range";
});

/** `(x - median) / (high - low)` of two quantiles, which outliers hardly move. Quantiles are exact, with linear interpolation. */
export class RobustScaler extends LinearScaler {
  readonly kind = "RobustScaler";
  constructor(options: RobustScalerOptions) {
    super(readOptions(options, { of: "RobustScaler", options: { ...OPTIONS, quantileRange: QUANTILES } }));
    checkColumns("RobustScaler", this.options);
  }

  protected override aggregatesOf(column: string): Aggregates {
    const [low, high] = this.options["quantileRange"] as readonly [number, number];
    return { low: quantile(column, low), median: quantile(column, 0.5), high: quantile(column, high) };
  }

  protected override scaleOf({ low, median, high }: Readonly<Record<string, number | null>>): Scale {
    return { center: median ?? null, scale: difference(high, low) };
  }
}

function difference(high: number | null | undefined, low: number | null | undefined): number | null {
  return high === null || high === undefined || low === null || low === undefined ? null : high - low;
}

const NORMS = {
  l1: (x: number[]) => sumOf(x.map(Math.abs)),
  l2: (x: number[]) => Math.hypot(...x),
  max: (x: number[]) => Math.max(...x.map(Math.abs)),
};

function sumOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The options of `Normalizer`. */
export interface NormalizerOptions extends ColumnOptions {
  /** The length of a row: the sum of absolute values, the root of the sum of squares, or the largest absolute value. Default: `"l2"`. */
  norm?: "l1" | "l2" | "max" | undefined;
}

/** Divides the values of each row by their length, over all columns. Learns nothing. A row of zeros stays as it is. */
export class Normalizer extends Preprocessor {
  readonly kind = "Normalizer";
  declare readonly options: ColumnOptions & { readonly norm: keyof typeof NORMS } & Readonly<Record<string, unknown>>;

  constructor(options: NormalizerOptions) {
    super(readOptions(options, { of: "Normalizer", options: { ...OPTIONS, norm: oneOf(["l1", "l2", "max"], "l2") } }));
    checkColumns("Normalizer", this.options);
  }

  protected override apply(read: ReadColumn, rowCount: number): Columns {
    const pairs = pairsOf(this.options);
    const columns = pairs.map(([from]) => read(from));
    const made = pairs.map(() => new Array<number | null>(rowCount));
    for (let row = 0; row < rowCount; row += 1) {
      const values = pairs.map(([from], i) => numberOrNull(columns[i]?.[row], from));
      // A row with a null has no length.
      const length = values.includes(null) ? Number.NaN : NORMS[this.options.norm](values as number[]);
      for (const [i, value] of values.entries())
        (made[i] as (number | null)[])[row] = value === null || Number.isNaN(length) ? null : value / (length === 0 ? 1 : length);
    }
    return Object.fromEntries(pairs.map(([, to], i) => [to, made[i] as (number | null)[]]));
  }
}

/** The options of `PowerTransformer`. */
export interface PowerTransformerOptions extends ColumnOptions {
  /** The exponent, lambda. */
  power: number;
  /** `"box-cox"` takes positive numbers alone. Default: `"yeo-johnson"`. */
  method?: "yeo-johnson" | "box-cox" | undefined;
}

/** A power of each value that makes skewed columns more even. Learns nothing: the exponent is an option, as in Ray. */
export class PowerTransformer extends Preprocessor {
  readonly kind = "PowerTransformer";
  declare readonly options: ColumnOptions & { readonly power: number; readonly method: "yeo-johnson" | "box-cox" } & Readonly<
      Record<string, unknown>
    >;

  constructor(options: PowerTransformerOptions) {
    const power = custom<number>("a number is needed", Number.NaN, (value) => (Number.isFinite(value) ? "ok" : "wrong type"));
    super(
      readOptions(options, {
        of: "PowerTransformer",
        options: { ...OPTIONS, power, method: oneOf(["yeo-johnson", "box-cox"], "yeo-johnson") },
      }),
    );
    checkColumns("PowerTransformer", this.options);
    if (Number.isNaN(this.options.power)) throw new TypeError("Cannot make PowerTransformer: it takes power: a number: received none");
  }

  protected override apply(read: ReadColumn): Columns {
    const { power, method } = this.options;
    const fn = method === "box-cox" ? boxCox : yeoJohnson;
    return Object.fromEntries(pairsOf(this.options).map(([from, to]) => [to, mapNumbers(read(from), from, (x) => fn(x, power))]));
  }
}

/** Box and Cox, 1964. */
function boxCox(x: number, power: number): number {
  return power === 0 ? Math.log(x) : (x ** power - 1) / power;
}

/** Yeo and Johnson, 2000. */
function yeoJohnson(x: number, power: number): number {
  if (x >= 0) return power === 0 ? Math.log1p(x) : ((x + 1) ** power - 1) / power;
  return power === 2 ? -Math.log1p(-x) : -((1 - x) ** (2 - power) - 1) / (2 - power);
}

definePreprocessor("StandardScaler", StandardScaler);
definePreprocessor("MinMaxScaler", MinMaxScaler);
definePreprocessor("MaxAbsScaler", MaxAbsScaler);
definePreprocessor("RobustScaler", RobustScaler);
definePreprocessor("Normalizer", Normalizer);
definePreprocessor("PowerTransformer", PowerTransformer);
