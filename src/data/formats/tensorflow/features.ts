/**
 * The features of `tf.train.Example` as columns: a value, or a list of values, a record.
 *
 * Whether a column holds single values or lists is settled by the first block of a file, as an example does not tell: single values where no
 * record has more than one. `schema` overrules that.
 */
import { DataError } from "../../errors.ts";
import { BIG_INT64, BINARY, type DataType, type Field, INT64, NULL, STRING } from "../../blocks/data-type.ts";
import { bitmapBytes, setBit } from "../../blocks/values/bitmap.ts";
import { isBeyondNumbers } from "../../blocks/values/safe-integers.ts";
import type { Vector } from "../../blocks/vector.ts";
import { ByteSink } from "../byte-sink.ts";

/** The three lists of values that a feature may hold, by the number of their field. */
export const VALUE_KINDS = { 1: "bytes", 2: "float", 3: "int64" } as const;
export type ValueKind = (typeof VALUE_KINDS)[keyof typeof VALUE_KINDS];

const ELEMENTS = {
  binary: { kind: "bytes", type: BINARY },
  string: { kind: "bytes", type: STRING },
  float32: { kind: "float", type: { kind: "float32" } },
  int64: { kind: "int64", type: INT64 },
  "int64 as bigint": { kind: "int64", type: BIG_INT64 },
} as const satisfies Record<string, { kind: ValueKind; type: DataType }>;

/** The texts that the option `schema` takes. */
export const FEATURE_TYPES: readonly string[] = Object.keys(ELEMENTS).flatMap((name) => [name, `list<${name}>`]);

/** The columns of several files, where a feature is a list in all of them once it is one in any. */
export function listsWhereAnyIs(files: readonly (readonly Field[] | undefined)[]): readonly (readonly Field[] | undefined)[] {
  const lists = new Set(files.flatMap((fields = []) => fields.flatMap(({ name, type }) => (type.kind === "list" ? [name] : []))));
  const listed = ({ name, type }: Field): Field =>
    type.kind === "list" || type.kind === "null" || !lists.has(name) ? { name, type } : { name, type: listOf(type) };
  return files.map((fields) => fields?.map(listed));
}

function listOf(of: DataType): DataType {
  return { kind: "list", of, as: "array" };
}

/** The form that a column has from its first block on. */
interface Form {
  readonly element: DataType;
  readonly isList: boolean;
}

/** Values that wait to be a column. */
export class FeatureColumn {
  readonly name: string;
  #kind: ValueKind | undefined;
  #form: Form | undefined;
  readonly #isFixed: boolean;
  /** Whether its bytes are to be UTF-8. */
  readonly isText: boolean;
  /** How many values each row has; -1 for a record without the feature. */
  #counts: number[] = [];
  #longest = 0;
  #ints = new BigInt64Array(16);
  #floats = new Float32Array(16);
  #bytes = new ByteSink();
  #ends: number[] = [];
  #length = 0;

  /**
   * @param type - one of {@link FEATURE_TYPES}, where the user has said it
   * @param found - the type of the column in this file and others, where they were looked at
   */
  constructor(name: string, type: string | undefined, found?: DataType) {
    this.name = name;
    const [, listed, plain] = /^(?:list<(.*)>|(.*))$/.exec(type ?? "") ?? [];
    const element = type === undefined ? undefined : ELEMENTS[(listed ?? plain) as keyof typeof ELEMENTS];
    this.#isFixed = element !== undefined;
    this.isText = element?.type === STRING;
    this.#kind = element?.kind;
    if (element !== undefined) this.#form = { element: element.type, isList: listed !== undefined };
    else if (found !== undefined && found.kind !== "null")
      this.#form = found.kind === "list" ? { element: found.of, isList: true } : { element: found, isList: false };
  }

  get rowCount(): number {
    return this.#counts.length;
  }

  /** Begins the values of a row. @returns the mistake, to follow the name of the column */
  begin(kind: ValueKind): string | undefined {
    if (this.#kind !== undefined && this.#kind !== kind)
      return `has values of ${kind}, and ${this.#isFixed ? "the schema says" : "those before are of"} ${this.#kind}`;
    this.#kind = kind;
    this.#counts.push(0);
    return undefined;
  }

  addNull(): void {
    this.#counts.push(-1);
  }

  addBytes(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes.copy(bytes, start, end);
    this.#ends.push(this.#bytes.length);
    this.#added();
  }

  addFloat(value: number): void {
    if (this.#length === this.#floats.length) this.#floats = grown(this.#floats, Float32Array);
    this.#floats[this.#length] = value;
    this.#added();
  }

  addInt(low: number, high: number): void {
    if (this.#length === this.#ints.length) this.#ints = grown(this.#ints, BigInt64Array);
    const halves = new Uint32Array(this.#ints.buffer);
    halves[2 * this.#length] = low;
    halves[2 * this.#length + 1] = high;
    this.#added();
  }

  #added(): void {
    this.#length += 1;
    const count = (this.#counts.at(-1) as number) + 1;
    this.#counts[this.#counts.length - 1] = count;
    if (count > this.#longest) this.#longest = count;
  }

  /** The column of the rows so far. @throws DataError for a list where single values were before */
  take(file: string, firstRecord: number): Vector {
    const length = this.#counts.length;
    if (this.#kind === undefined) {
      this.#restart();
      return { type: NULL, length, nullCount: length, bitOffset: 0 };
    }
    const form = (this.#form ??= { element: this.#inferredElement(), isList: this.#longest > 1 });
    if (!form.isList && this.#longest > 1) {
      const record = firstRecord + this.#counts.findIndex((count) => count > 1);
      throw new DataError(
        `Cannot read ${file}: record ${record}: feature ${JSON.stringify(this.name)} has several values, and those before have one`,
        {
          hint: `read lists: schema: { ${JSON.stringify(this.name)}: "list<${this.#kind === "bytes" ? "binary" : this.#kind === "float" ? "float32" : "int64"}>" }`,
        },
      );
    }
    const vector = form.isList ? this.#lists(form.element) : this.#values(form.element);
    this.#restart();
    return vector;
  }

  #inferredElement(): DataType {
    if (this.#kind === "bytes") return BINARY;
    if (this.#kind === "float") return { kind: "float32" };
    return isBeyondNumbers(this.#elements(INT64)) ? BIG_INT64 : INT64;
  }

  /** The values of all rows in one vector. */
  #elements(type: DataType): Vector {
    const length = this.#length;
    const base = { type, length, nullCount: 0, bitOffset: 0 };
    if (this.#kind === "int64") return { ...base, values: this.#ints.slice(0, length) };
    if (this.#kind === "float") return { ...base, values: this.#floats.slice(0, length) };
    const offsets = new Int32Array(length + 1);
    offsets.set(this.#ends, 1);
    return { ...base, offsets, values: this.#bytes.taken().slice() };
  }

  #lists(element: DataType): Vector {
    const length = this.#counts.length;
    const offsets = new Int32Array(length + 1);
    this.#counts.forEach((count, row) => {
      offsets[row + 1] = (offsets[row] as number) + Math.max(0, count);
    });
    return { type: listOf(element), length, bitOffset: 0, ...this.#validity(0), offsets, children: [this.#elements(element)] };
  }

  #values(type: DataType): Vector {
    const length = this.#counts.length;
    const elements = this.#elements(type);
    const rows = { type, length, bitOffset: 0, ...this.#validity(1) };
    if (rows.nullCount === 0) return { ...elements, ...rows };
    if (elements.offsets !== undefined) {
      const offsets = new Int32Array(length + 1);
      let value = 0;
      this.#counts.forEach((count, row) => {
        value += Math.max(0, count);
        offsets[row + 1] = elements.offsets?.[value] as number;
      });
      return { ...rows, offsets, values: elements.values as Uint8Array };
    }
    const values = this.#kind === "int64" ? new BigInt64Array(length) : new Float32Array(length);
    let value = 0;
    this.#counts.forEach((count, row) => {
      if (count > 0) values[row] = (elements.values as BigInt64Array)[value++] as never;
    });
    return { ...rows, values };
  }

  /** Marks the rows that have at least so many values. */
  #validity(least: number): { nullCount: number; validity?: Uint8Array } {
    const validity = new Uint8Array(bitmapBytes(this.#counts.length));
    let nullCount = 0;
    this.#counts.forEach((count, row) => {
      if (count >= least) setBit(validity, row);
      else nullCount += 1;
    });
    return nullCount === 0 ? { nullCount } : { nullCount, validity };
  }

  #restart(): void {
    this.#counts = [];
    this.#ends = [];
    this.#bytes = new ByteSink();
    this.#longest = 0;
    this.#length = 0;
  }
}

function grown<T extends BigInt64Array | Float32Array>(values: T, make: new (length: number) => T): T {
  const more = new make(values.length * 2);
  more.set(values as never);
  return more;
}
