/**
 * Preprocessors: columns are made ready for a model, in training and where the model serves, by one object.
 *
 * `fit` reads a dataset once and keeps a state of plain JSON. `transform` and `transformBatch` use that state and nothing else, so a preprocessor
 * that was written with `toJSON` gives the same values in another process, in a later version, and behind Serve.
 */
import { describeValue, isPlainObject, messageOf } from "../../core/internal.ts";
import type { Aggregate } from "../aggregates/aggregate.ts";
import { Column } from "../blocks/column.ts";
import type { Dataset } from "../dataset.ts";
import { DataError } from "../errors.ts";
import type { AnyBatch, AnyColumn, AnyRow } from "../row-types.ts";

/** A preprocessor as JSON. `version` counts changes of the format. */
export interface PreprocessorJson {
  readonly kind: string;
  readonly version: 1;
  readonly options: Readonly<Record<string, unknown>>;
  readonly state: Readonly<Record<string, unknown>> | null;
}

/** Values of a column by row. */
export type Values = ArrayLike<unknown>;
/** Reads a column of the batch. @throws DataError for a column that does not exist */
export type ReadColumn = (name: string) => Values;
export type Columns = Record<string, AnyColumn>;
export type State = Readonly<Record<string, unknown>>;
export type Aggregates = Readonly<Record<string, Aggregate>>;

const VERSION = 1;

export abstract class Preprocessor {
  /** The name of the class, also where a bundler has shortened that. */
  abstract readonly kind: string;
  /** The options, as they were read, of plain JSON but for functions. */
  readonly options: Readonly<Record<string, unknown>>;
  #state: State | null = null;

  constructor(options: Readonly<Record<string, unknown>>) {
    this.options = options;
  }

  /** The result of the last `fit`; null before it, and for kinds that learn nothing. */
  get state(): State | null {
    return this.#state;
  }

  /**
   * Learns from all rows of a dataset, in one pass, and returns this preprocessor. A second `fit` begins anew.
   *
   * @throws DataError for columns that do not exist, or whose values have the wrong type
   */
  async fit(dataset: Dataset<any>): Promise<this> {
    const aggregates = this.aggregates();
    if (aggregates !== undefined) this.#state = this.learn(await (dataset as Dataset).aggregate(aggregates));
    return this;
  }

  /**
   * The dataset with transformed columns. Rows are transformed when the dataset is used.
   *
   * @throws DataError where `fit` is needed first
   */
  transform<U extends AnyRow = AnyRow>(dataset: Dataset<any>): Dataset<U> {
    this.checkFitted();
    const transformed = (dataset as Dataset).mapBatches(transformBySpec.bind(undefined, this.spec()));
    return transformed as unknown as Dataset<U>;
  }

  /** `fit`, then `transform`. */
  async fitTransform<U extends AnyRow = AnyRow>(dataset: Dataset<any>): Promise<Dataset<U>> {
    await this.fit(dataset);
    return this.transform<U>(dataset);
  }

  /**
   * Transforms a batch in this process: an object of columns gives one, an array of rows gives rows.
   *
   * @throws DataError where `fit` is needed first, and for columns that do not exist
   */
  transformBatch<B extends AnyBatch>(batch: B): B extends readonly unknown[] ? AnyRow[] : Readonly<Record<string, AnyColumn>>;
  transformBatch(batch: AnyBatch): AnyRow[] | Readonly<Record<string, AnyColumn>> {
    this.checkFitted();
    if (Array.isArray(batch)) return this.#transformRows(batch as readonly AnyRow[]);
    if (!isPlainObject(batch))
      throw new TypeError(
        `Cannot call transformBatch: it takes an object of columns, or an array of rows: received ${describeValue(batch)}`,
      );
    const columns = batch as Columns;
    const read: ReadColumn = (name) => valuesOf(columns[name], name, Object.keys(columns));
    return this.changed(columns, this.apply(read, lengthOf(columns)));
  }

  /** As JSON: `JSON.stringify(preprocessor)` writes it, and `preprocessorFromJson` reads it. @throws DataError for functions among the options */
  toJSON(): PreprocessorJson {
    const found = Object.entries(this.options).find(([, value]) => typeof value === "function");
    if (found !== undefined)
      throw new DataError(`Cannot write ${this.kind} as JSON: its option ${found[0]} is a function`, {
        hint: "make the preprocessor in the program that uses it, and keep its state alone",
      });
    return this.spec();
  }

  /** @internal Everything that another process needs. */
  spec(): PreprocessorJson {
    return { kind: this.kind, version: VERSION, options: this.options, state: this.#state };
  }

  /** @internal */
  restore(state: State | null): this {
    this.#state = state;
    return this;
  }

  /** Aggregates of a fit; undefined for kinds that learn nothing. */
  protected aggregates(): Aggregates | undefined {
    return undefined;
  }

  /** The state by the results of the aggregates. */
  protected learn(_results: Readonly<Record<string, any>>): State {
    return {};
  }

  /** New or changed columns of a batch. */
  protected abstract apply(read: ReadColumn, rowCount: number): Columns;

  /** The batch with the new columns. */
  protected changed(batch: Columns, made: Columns): Columns {
    return { ...batch, ...made };
  }

  protected checkFitted(): void {
    if (this.#state === null && this.aggregates() !== undefined)
      throw new DataError(`Cannot transform with ${this.kind}: it has not been fitted`, { hint: "await preprocessor.fit(dataset) first" });
  }

  #transformRows(rows: readonly AnyRow[]): AnyRow[] {
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const read: ReadColumn = (name) => {
      if (rows.length > 0 && !names.includes(name)) throw unknownColumn(name, names);
      return rows.map((row) => row[name] as unknown);
    };
    const columns = Object.fromEntries(names.map((name) => [name, read(name) as unknown[]]));
    const made = this.changed(columns, this.apply(read, rows.length));
    const lists = Object.entries(made).map(([name, column]) => [name, valuesOf(column, name, names)] as const);
    return rows.map((_, row) => Object.fromEntries(lists.map(([name, values]) => [name, values[row]])));
  }
}

function unknownColumn(name: string, names: readonly string[]): DataError {
  return new DataError(`There is no column ${JSON.stringify(name)}`, { hint: `there are ${names.join(", ")}` });
}

function valuesOf(column: AnyColumn | undefined, name: string, names: readonly string[]): Values {
  if (column === undefined) throw unknownColumn(name, names);
  if (column instanceof Column) return column.toArray();
  if ("shape" in column) {
    const { data, shape } = column;
    const width = shape.slice(1).reduce((product, size) => product * size, 1);
    return Array.from({ length: shape[0] ?? 0 }, (_, row) => (shape.length === 1 ? data[row] : data.slice(row * width, (row + 1) * width)));
  }
  return column;
}

function lengthOf(columns: Columns): number {
  const [first] = Object.values(columns);
  if (first === undefined) return 0;
  return "shape" in first ? (first.shape[0] ?? 0) : first.length;
}

const MADE_BY_KIND = new Map<string, (options: any) => Preprocessor>();

/** Names a class for `preprocessorFromJson`, in the file that defines it. */
export function definePreprocessor(kind: string, preprocessorClass: new (options: any) => Preprocessor): void {
  MADE_BY_KIND.set(kind, (options) => new preprocessorClass(options));
}

/**
 * Reads what `toJSON` wrote, as an object or as its text.
 *
 * @throws DataError for other values, and for a kind or a version that this version of Shoal does not know
 */
export function preprocessorFromJson(json: unknown): Preprocessor {
  const spec = typeof json === "string" ? parsed(json) : json;
  if (!isPlainObject(spec) || typeof spec["kind"] !== "string" || !isPlainObject(spec["options"]))
    throw new DataError(`Cannot read a preprocessor: { kind, version, options, state } is needed: received ${describeValue(spec)}`);
  const { kind, version, options, state } = spec as unknown as PreprocessorJson;
  const make = MADE_BY_KIND.get(kind);
  if (make === undefined || version !== VERSION)
    throw new DataError(`Cannot read a preprocessor of the kind ${JSON.stringify(kind)} in version ${String(version)}`, {
      hint: `known are ${[...MADE_BY_KIND.keys()].join(", ")}, in version ${VERSION}`,
    });
  if (state !== null && !isPlainObject(state))
    throw new DataError(`Cannot read ${kind}: its state is an object, or null before a fit: received ${describeValue(state)}`);
  return make(options).restore(state);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DataError(`Cannot read a preprocessor: its text is no JSON: ${messageOf(error)}`, { cause: error });
  }
}

const READY = new WeakMap<PreprocessorJson, Preprocessor>();

/** Transforms a batch in a worker, which gets the spec once and keeps the preprocessor. */
export function transformBySpec(spec: PreprocessorJson, batch: AnyBatch): AnyBatch {
  let ready = READY.get(spec);
  if (ready === undefined) {
    ready = preprocessorFromJson(spec);
    READY.set(spec, ready);
  }
  return ready.transformBatch(batch) as AnyBatch;
}
