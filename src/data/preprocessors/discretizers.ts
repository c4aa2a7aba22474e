/**
 * Discretizers: numbers become the numbers of the intervals that hold them, by the rules of `pandas.cut`.
 *
 * Intervals are open on the left and closed on the right, unless `right` is false.
 * A value outside all intervals becomes null.
 */
import { custom, flag, isPlainObject, readOptions } from "../../core/internal.ts";
import { max, min } from "../aggregates/aggregate.ts";
import { checkColumns, type ColumnOptions, COLUMNS, mapNumbers, numberOrNull, OUTPUT_COLUMNS, pairsOf } from "./columns.ts";
import { type Aggregates, type Columns, definePreprocessor, Preprocessor, type ReadColumn, type State } from "./preprocessor.ts";

interface CutOptions extends ColumnOptions {
  /** Intervals contain their upper end. False: their lower one. Default: true. */
  right?: boolean | undefined;
  /** The first interval contains its lower end, too. Default: false. */
  includeLowest?: boolean | undefined;
}

const OPTIONS = { columns: COLUMNS, outputColumns: OUTPUT_COLUMNS, right: flag(true), includeLowest: flag(false) };

abstract class Discretizer extends Preprocessor {
  declare readonly options: CutOptions & Readonly<Record<string, unknown>>;

  protected abstract edgesOf(column: string): readonly number[] | null;

  protected override apply(read: ReadColumn): Columns {
    return Object.fromEntries(
      pairsOf(this.options).map(([from, to]) => {
        const edges = this.edgesOf(from);
        return [to, mapNumbers(read(from), from, (x) => (edges === null ? null : this.#binOf(x, edges)))];
      }),
    );
  }

  #binOf(x: number, edges: readonly number[]): number | null {
    const { right, includeLowest } = this.options;
    if (Number.isNaN(x)) return null;
    if (includeLowest === true && x === (right === true ? edges[0] : edges.at(-1))) return right === true ? 0 : edges.length - 2;
    // The number of edges below the value, by halving.
    let low = 0;
    let high = edges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const edge = edges[middle] as number;
      if (right === true ? edge < x : edge <= x) low = middle + 1;
      else high = middle;
    }
    return low === 0 || low === edges.length ? null : low - 1;
  }
}

/** The options of `UniformKBinsDiscretizer`. */
export interface UniformKBinsDiscretizerOptions extends CutOptions {
  /** How many intervals of equal width, for all columns or by column. */
  bins: number | Readonly<Record<string, number>>;
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1;
const BINS = custom<number | Readonly<Record<string, number>>>(
  "a whole number from 1 is needed, or an object of such numbers by column",
  0,
  (value) =>
    typeof value === "number"
      ? isCount(value)
        ? "ok"
        : "out of range"
      : isPlainObject(value) && Object.values(value).every(isCount)
        ? "ok"
        : "wrong type",
);

/** Intervals of equal width from the least to the largest value of the fit. The outer end is a thousandth wider, as in pandas. */
export class UniformKBinsDiscretizer extends Discretizer {
  readonly kind = "UniformKBinsDiscretizer";

  constructor(options: UniformKBinsDiscretizerOptions) {
    super(readOptions(options, { of: "UniformKBinsDiscretizer", options: { ...OPTIONS, bins: BINS } }));
    checkColumns("UniformKBinsDiscretizer", this.options);
    for (const column of this.options.columns)
      if (this.#binsOf(column) < 1)
        throw new TypeError(
          `Cannot make UniformKBinsDiscretizer: it takes bins for each column: received none for ${JSON.stringify(column)}`,
        );
  }

  #binsOf(column: string): number {
    const bins = this.options["bins"] as number | Readonly<Record<string, number>>;
    return typeof bins === "number" ? bins : (bins[column] ?? 0);
  }

  protected override aggregates(): Aggregates {
    return Object.fromEntries(
      this.options.columns.flatMap((column, i) => [
        [`min ${i}`, min(column)],
        [`max ${i}`, max(column)],
      ]),
    );
  }

  protected override learn(results: Readonly<Record<string, any>>): State {
    const edges = this.options.columns.map((column, i) => {
      const low = numberOrNull(results[`min ${i}`], column);
      const high = numberOrNull(results[`max ${i}`], column);
      return [column, low === null || high === null ? null : this.#edges(low, high, column)];
    });
    return { edges: Object.fromEntries(edges) };
  }

  #edges(low: number, high: number, column: string): number[] {
    const bins = this.#binsOf(column);
    const isFlat = low === high;
    const by = low === 0 ? 0.001 : 0.001 * Math.abs(low);
    const [from, to] = isFlat ? [low - by, high + by] : [low, high];
    const edges = Array.from({ length: bins + 1 }, (_, i) => (i === bins ? to : from + ((to - from) * i) / bins));
    if (isFlat) return edges;
    if (this.options.right === true) edges[0] = low - (high - low) * 0.001;
    else edges[bins] = high + (high - low) * 0.001;
    return edges;
  }

  protected override edgesOf(column: string): readonly number[] | null {
    return (this.state as { edges: Record<string, number[] | null> }).edges[column] ?? null;
  }
}

/** The options of `CustomKBinsDiscretizer`. */
export interface CustomKBinsDiscretizerOptions extends CutOptions {
  /** The ends of the intervals, ascending, for all columns or by column. */
  bins: readonly number[] | Readonly<Record<string, readonly number[]>>;
}

const isAscending = (value: unknown): boolean =>
  Array.isArray(value) && value.length >= 2 && value.every((edge, i) => typeof edge === "number" && (i === 0 || edge > value[i - 1]));
const EDGES = custom<readonly number[] | Readonly<Record<string, readonly number[]>>>(
  "two or more ascending numbers are needed, or an object of such arrays by column",
  [],
  (value) => (isAscending(value) || (isPlainObject(value) && Object.values(value).every(isAscending)) ? "ok" : "wrong type"),
);

/** Intervals with given ends. Learns nothing. */
export class CustomKBinsDiscretizer extends Discretizer {
  readonly kind = "CustomKBinsDiscretizer";

  constructor(options: CustomKBinsDiscretizerOptions) {
    super(readOptions(options, { of: "CustomKBinsDiscretizer", options: { ...OPTIONS, bins: EDGES } }));
    checkColumns("CustomKBinsDiscretizer", this.options);
    for (const column of this.options.columns)
      if (this.edgesOf(column).length === 0)
        throw new TypeError(
          `Cannot make CustomKBinsDiscretizer: it takes bins for each column: received none for ${JSON.stringify(column)}`,
        );
  }

  protected override edgesOf(column: string): readonly number[] {
    const bins = this.options["bins"] as readonly number[] | Readonly<Record<string, readonly number[]>>;
    return Array.isArray(bins) ? (bins as readonly number[]) : ((bins as Readonly<Record<string, readonly number[]>>)[column] ?? []);
  }
}

definePreprocessor("UniformKBinsDiscretizer", UniformKBinsDiscretizer);
definePreprocessor("CustomKBinsDiscretizer", CustomKBinsDiscretizer);
