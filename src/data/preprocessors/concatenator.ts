/** Puts the numbers of several columns side by side, as models want them. */
import { custom, describeValue, oneOf, readOptions } from "../../core/internal.ts";
import { NdArray } from "../../core/index.ts";
import { DataError } from "../errors.ts";
import type { AnyColumn } from "../row-types.ts";
import { checkColumns, COLUMNS } from "./columns.ts";
import { type Columns, definePreprocessor, Preprocessor, type ReadColumn } from "./preprocessor.ts";

/** The options of `Concatenator`. */
export interface ConcatenatorOptions {
  /** Columns of numbers, booleans, lists or tensors, in the order of the vectors. They are left out of the result. */
  columns: readonly string[];
  /** The name of the column with the vectors. Default: `"concat_out"`. */
  outputColumn?: string | undefined;
  /** The type of the elements. Default: `"float64"`. */
  dtype?: "float32" | "float64" | undefined;
}

const NAME = custom<string>("the name of a column is needed", "concat_out", (value) =>
  typeof value === "string" && value !== "" ? "ok" : "wrong type",
);

/** The values of several columns become a vector for each row, as a tensor. Learns nothing. A missing value is an error: fill it before. */
export class Concatenator extends Preprocessor {
  readonly kind = "Concatenator";
  declare readonly options: { readonly columns: readonly string[]; readonly outputColumn: string; readonly dtype: "float32" | "float64" };

  constructor(options: ConcatenatorOptions) {
    const dtype = oneOf(["float32", "float64"], "float64");
    super(readOptions(options, { of: "Concatenator", options: { columns: COLUMNS, outputColumn: NAME, dtype } }));
    checkColumns("Concatenator", { columns: this.options.columns });
  }

  protected override apply(read: ReadColumn, rowCount: number): Columns {
    const { columns, outputColumn, dtype } = this.options;
    const values = columns.map((column) => [column, read(column)] as const);
    const rows = Array.from({ length: rowCount }, (_, row) => values.flatMap(([column, all]) => numbersOf(all[row], column)));
    const width = rows[0]?.length ?? columns.length;
    const odd = rows.findIndex(({ length }) => length !== width);
    if (odd >= 0)
      throw new DataError(`Concatenator gives vectors of one length: row 0 has ${width} numbers, and row ${odd} has ${rows[odd]?.length}`);
    const elements = dtype === "float32" ? Float32Array.from(rows.flat()) : Float64Array.from(rows.flat());
    return { [outputColumn]: new NdArray(elements, [rowCount, width]) };
  }

  protected override changed(batch: Columns, made: Columns): Columns {
    const rest: [string, AnyColumn][] = Object.entries(batch).filter(([name]) => !this.options.columns.includes(name));
    return { ...Object.fromEntries(rest), ...made };
  }
}

function numbersOf(value: unknown, column: string): number[] {
  if (typeof value === "number") return [value];
  if (typeof value === "bigint" || typeof value === "boolean") return [Number(value)];
  if (value instanceof NdArray) return Array.from(value.data as Float64Array, Number);
  if (Array.isArray(value)) return value.flatMap((one) => numbersOf(one, column));
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return Array.from(value as unknown as ArrayLike<number>, Number);
  throw new DataError(`Column ${JSON.stringify(column)} has ${describeValue(value)} where a number is needed`, {
    hint: "fill missing values first, by SimpleImputer, and encode categories",
  });
}

definePreprocessor("Concatenator", Concatenator);
