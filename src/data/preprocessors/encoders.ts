/**
 * Encoders: categories as numbers.
 *
 * A fit collects the categories of each column in ascending order, and their places are the numbers, as in scikit-learn.
 * A value that the fit has not seen becomes null instead of a number, and counts for nothing in a vector. Nulls are no categories.
 */
import { custom, flag, isPlainObject, readOptions } from "../../core/internal.ts";
import { NdArray } from "../../core/index.ts";
import { type Aggregate, unique, valueCounter } from "../aggregates/aggregate.ts";
import { isNullish } from "../blocks/vector-builder.ts";
import { DataError } from "../errors.ts";
import type { ValueCounts } from "../expressions/expression-types.ts";
import {
  type Category,
  categoryOf,
  categoryOfKey,
  checkColumns,
  type ColumnOptions,
  COLUMNS,
  compareCategories,
  elementsIn,
  keyOf,
  OUTPUT_COLUMNS,
  pairsOf,
  sortedCategories,
} from "./columns.ts";
import { countKey, counting, type Counts } from "./counts.ts";
import { type Aggregates, type Columns, definePreprocessor, Preprocessor, type ReadColumn, type State } from "./preprocessor.ts";

const OPTIONS = { columns: COLUMNS, outputColumns: OUTPUT_COLUMNS };

/** Counts the elements of the lists of a column, and plain values as lists of one. */
function elementCounts(column: string): Aggregate<Counts, never> {
  return counting(countElements.bind(undefined, column));
}

export function countElements(column: string, counts: Counts, row: Readonly<Record<string, unknown>>): Counts {
  for (const element of elementsOrSelf(row[column], column)) countKey(counts, keyOf(categoryOf(element, column)), 1);
  return counts;
}

/** @throws DataError for a value that is neither a category nor a list */
function elementsOrSelf(value: unknown, column: string): Iterable<unknown> {
  if (isNullish(value)) return [];
  return typeof value === "object" ? elementsIn(value, column) : [value];
}

/** Categories of each column, with their places. */
abstract class Encoder extends Preprocessor {
  declare readonly options: ColumnOptions & { readonly maxCategories?: Readonly<Record<string, number>> } & Readonly<
      Record<string, unknown>
    >;
  readonly #places = new Map<string, Map<string, number>>();

  /** @internal */
  override restore(state: State | null): this {
    this.#places.clear();
    return super.restore(state);
  }

  protected override aggregates(): Aggregates {
    return Object.fromEntries(this.options.columns.map((column, i) => [`categories ${i}`, this.categoriesOf(column)]));
  }

  protected abstract categoriesOf(column: string): Aggregate;

  protected override learn(results: Readonly<Record<string, any>>): State {
    this.#places.clear();
    const lists = this.options.columns.map((column, i) => [column, this.#chosen(results[`categories ${i}`], column)]);
    return { categories: Object.fromEntries(lists) };
  }

  #chosen(found: unknown, column: string): Category[] {
    if (Array.isArray(found))
      return sortedCategories(
        found.filter((value) => !isNullish(value)),
        column,
      );
    const counted = pairsOfCounts(found as Counts | ValueCounts<Category>);
    const limit = this.options.maxCategories?.[column];
    const kept = counted.filter(([value]) => !isNullish(value));
    if (limit === undefined)
      return sortedCategories(
        kept.map(([value]) => value),
        column,
      );
    const frequent = kept.sort(([a, m], [b, n]) => n - m || compareCategories(a, b)).slice(0, limit);
    return sortedCategories(
      frequent.map(([value]) => value),
      column,
    );
  }

  protected categories(column: string): readonly Category[] {
    return (this.state as { categories: Record<string, Category[]> }).categories[column] as Category[];
  }

  /** The place of a category, undefined for one that the fit has not seen. */
  protected placeOf(value: unknown, column: string): number | undefined {
    let places = this.#places.get(column);
    if (places === undefined) {
      places = new Map(this.categories(column).map((category, place) => [keyOf(category), place]));
      this.#places.set(column, places);
    }
    return places.get(keyOf(typeof value === "bigint" ? Number(value) : value));
  }
}

function pairsOfCounts(found: Counts | ValueCounts<Category>): [Category, number][] {
  const values = "keys" in found ? Array.from(found.keys, categoryOfKey) : found.values;
  return Array.from(values, (value, i) => [value, found.counts[i] as number]);
}

/** The options of `OrdinalEncoder`. */
export interface OrdinalEncoderOptions extends ColumnOptions {
  /** Each element of a list becomes a number. False: a list is a category by itself, which is an error here. Default: true. */
  encodeLists?: boolean | undefined;
}

/** Each category becomes its place among the sorted categories of the column. */
export class OrdinalEncoder extends Encoder {
  readonly kind = "OrdinalEncoder";

  constructor(options: OrdinalEncoderOptions) {
    super(readOptions(options, { of: "OrdinalEncoder", options: { ...OPTIONS, encodeLists: flag(true) } }));
    checkColumns("OrdinalEncoder", this.options);
  }

  protected override categoriesOf(column: string): Aggregate {
    return this.options["encodeLists"] === true ? elementCounts(column) : unique(column);
  }

  protected override apply(read: ReadColumn): Columns {
    const placeOrNull = (value: unknown, column: string): number | null => this.placeOf(value, column) ?? null;
    return Object.fromEntries(
      pairsOf(this.options).map(([from, to]) => [
        to,
        Array.from(read(from), (value) =>
          isNullish(value)
            ? null
            : typeof value === "object"
              ? Array.from(elementsIn(value, from), (one) => placeOrNull(one, from))
              : placeOrNull(value, from),
        ),
      ]),
    );
  }
}

/** The options of `OneHotEncoder` and `MultiHotEncoder`. */
export interface HotEncoderOptions extends ColumnOptions {
  /** The most categories of a column by its name: the most frequent are kept. Default: all. */
  maxCategories?: Readonly<Record<string, number>> | undefined;
}

const MAX_CATEGORIES = custom<Readonly<Record<string, number>> | undefined>(
  "an object of whole numbers from 1 by column is needed, such as { city: 100 }",
  undefined,
  (value) =>
    !isPlainObject(value)
      ? "wrong type"
      : Object.values(value).every((one) => Number.isSafeInteger(one) && (one as number) >= 1)
        ? "ok"
        : "out of range",
);

/** Each value becomes a vector with a 1 at its category, as a tensor of uint8. */
export class OneHotEncoder extends Encoder {
  readonly kind = "OneHotEncoder";

  constructor(options: HotEncoderOptions) {
    super(readOptions(options, { of: "OneHotEncoder", options: { ...OPTIONS, maxCategories: MAX_CATEGORIES } }));
    checkColumns("OneHotEncoder", this.options);
  }

  protected override categoriesOf(column: string): Aggregate {
    return valueCounter(column);
  }

  protected override apply(read: ReadColumn, rowCount: number): Columns {
    return Object.fromEntries(
      pairsOf(this.options).map(([from, to]) => {
        const width = this.categories(from).length;
        const values = read(from);
        const vectors = new Uint8Array(rowCount * width);
        for (let row = 0; row < rowCount; row += 1) {
          const place = isNullish(values[row]) ? undefined : this.placeOf(values[row], from);
          if (place !== undefined) vectors[row * width + place] = 1;
        }
        return [to, new NdArray(vectors, [rowCount, width])];
      }),
    );
  }
}

/** Each list becomes a vector that counts the elements of each category, as a tensor of int32. */
export class MultiHotEncoder extends Encoder {
  readonly kind = "MultiHotEncoder";

  constructor(options: HotEncoderOptions) {
    super(readOptions(options, { of: "MultiHotEncoder", options: { ...OPTIONS, maxCategories: MAX_CATEGORIES } }));
    checkColumns("MultiHotEncoder", this.options);
  }

  protected override categoriesOf(column: string): Aggregate {
    return elementCounts(column);
  }

  protected override apply(read: ReadColumn, rowCount: number): Columns {
    return Object.fromEntries(
      pairsOf(this.options).map(([from, to]) => {
        const width = this.categories(from).length;
        const values = read(from);
        const vectors = new Int32Array(rowCount * width);
        for (let row = 0; row < rowCount; row += 1)
          for (const element of elementsOrSelf(values[row], from)) {
            const place = this.placeOf(element, from);
            if (place !== undefined) (vectors[row * width + place] as number) += 1;
          }
        return [to, new NdArray(vectors, [rowCount, width])];
      }),
    );
  }
}

/** The options of `LabelEncoder`. */
export interface LabelEncoderOptions {
  /** The column with the labels. */
  labelColumn: string;
  /** The name of the column with the numbers. Default: `labelColumn`, which is replaced. */
  outputColumn?: string | undefined;
}

const NAME = custom<string | undefined>("the name of a column is needed", undefined, (value) =>
  typeof value === "string" && value !== "" ? "ok" : "wrong type",
);

/** Labels become their places among the sorted labels, and come back by `inverse`. */
export class LabelEncoder extends Encoder {
  readonly kind = "LabelEncoder";

  constructor(options: LabelEncoderOptions) {
    const { labelColumn, outputColumn } = readOptions(options, { of: "LabelEncoder", options: { labelColumn: NAME, outputColumn: NAME } });
    if (labelColumn === undefined)
      throw new TypeError("Cannot make LabelEncoder: it takes labelColumn: the name of a column: received none");
    super({ labelColumn, ...(outputColumn === undefined ? {} : { outputColumn }) });
  }

  get #column(): string {
    return this.options["labelColumn"] as string;
  }

  get #output(): string {
    return (this.options["outputColumn"] as string | undefined) ?? this.#column;
  }

  protected override aggregates(): Aggregates {
    return { labels: this.categoriesOf(this.#column) };
  }

  protected override categoriesOf(column: string): Aggregate {
    return unique(column);
  }

  protected override learn({ labels }: Readonly<Record<string, any>>): State {
    const known = (labels as unknown[]).filter((value) => !isNullish(value));
    return { categories: { [this.#column]: sortedCategories(known, this.#column) } };
  }

  protected override apply(read: ReadColumn): Columns {
    const column = this.#column;
    return {
      [this.#output]: Array.from(read(column), (value) => (isNullish(value) ? null : (this.placeOf(value, column) ?? null))),
    };
  }

  /** The labels of numbers. @throws DataError for a number that is no place of a label */
  inverse(numbers: Iterable<number | null>): (Category | null)[] {
    this.checkFitted();
    const labels = this.categories(this.#column);
    return Array.from(numbers, (place) => {
      if (place === null) return null;
      const label = labels[place];
      if (label === undefined)
        throw new DataError(
          `Cannot find the label of ${place}: column ${JSON.stringify(this.#column)} has ${labels.length} labels, from 0`,
        );
      return label;
    });
  }
}

for (const [kind, one] of [
  ["OrdinalEncoder", OrdinalEncoder],
  ["OneHotEncoder", OneHotEncoder],
  ["MultiHotEncoder", MultiHotEncoder],
  ["LabelEncoder", LabelEncoder],
] as const)
  definePreprocessor(kind, one);
