/**
 * Runs a pipeline of `shoal/data` that is written as steps; `ray_data.py` runs the same steps on `ray.data`.
 *
 * A step is the name of a method and its arguments; the first, and one after a write, makes a dataset. What cannot be written as JSON is named: a function, an aggregate, a dataset, a path.
 */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as data from "shoal/data";

export type Step = readonly [name: string, ...args: unknown[]];

/** A function or a class of `FUNCTIONS`. */
export const fn = (name: string): object => ({ $fn: name });
export const aggregate = (name: string, ...args: unknown[]): object => ({ $aggregate: [name, ...args] });
export const dataset = (...steps: Step[]): object => ({ $dataset: steps });
/** The column with functions of expressions called one after the other, such as `["str.slice", 1, 3]`. */
export const expression = (column: string, ...calls: Step[]): object => ({ $expression: [column, ...calls] });
/** A path in the folder of the scenario. */
export const path = (name: string): object => ({ $path: name });

type Row = Record<string, any>;
type Columns = Record<string, any>;

class AddConstant {
  readonly #by: number;
  constructor(by: number) {
    this.#by = by;
  }
  call({ id }: Columns): Columns {
    return { id: Array.from(id as Iterable<number>, (x) => x + this.#by) };
  }
}

/** By its name the outcome knows it as the user's. */
class AppError extends Error {
  override name = "AppError";
}

class FailsToStart {
  constructor() {
    throw new AppError("no start");
  }
  call(batch: Columns): Columns {
    return batch;
  }
}

const FUNCTIONS: Readonly<Record<string, unknown>> = {
  square: ({ id }: Row) => ({ id, square: id * id }),
  twice: ({ id }: Row) => [{ id }, { id }],
  asMany: ({ id }: Row) => Array.from({ length: id }, () => ({ id })),
  isEven: ({ id }: Row) => id % 2 === 0,
  never: () => false,
  hasText: ({ value }: Row) => value !== null,
  residue: ({ id }: Row) => ({ id, residue: id % 3 }),
  failAtThree: ({ id }: Row) => {
    if (id === 3) throw new AppError("three");
    return { id };
  },
  sizeOf: ({ id }: Columns) => ({ size: [id.length] }),
  double: ({ id }: Columns) => ({ double: Array.from(id as Iterable<number>, (x) => 2 * x) }),
  halves: function* ({ id }: Columns) {
    const values = Array.from(id as Iterable<number>);
    yield { id: values.slice(0, 2), half: values.slice(0, 2).map(() => 1) };
    yield { id: values.slice(2), half: values.slice(2).map(() => 2) };
  },
  uneven: () => ({ a: [1, 2], b: [1] }),
  noRow: () => 7,
  noBatch: () => 7,
  rowsOfBatch: ({ id }: Columns) => Array.from(id as Iterable<number>, (x) => ({ id: x, text: `row ${x}` })),
  nullAtThree: ({ id }: Row) => ({ id, value: id === 3 ? null : id / 2 }),
  keyOfFour: ({ id }: Row) => ({ id, key: id % 4 === 3 ? null : `k${id % 4}`, value: id % 5 === 0 ? null : id }),
  largest: ({ key, value }: Columns) => ({ key: [key.at(0)], largest: [Math.max(...(value as Iterable<number>))] }),
  groupSize: ({ key, value }: Columns) => ({ key: [key.at(0)], size: [value.length] }),
  AddConstant,
  FailsToStart,
};

const AGGREGATES = { ...data } as unknown as Readonly<Record<string, (...args: unknown[]) => unknown>>;

/** Steps that are no methods: they put a file into the folder, and are before the first dataset. */
const FILES: Readonly<Record<string, (to: string, content: string) => void>> = {
  file: (to, content) => writeFileSync(to, content),
  fixture: (to, name) => copyFileSync(join(dirname(fileURLToPath(import.meta.url)), "fixtures", name), to),
};

export async function runSteps(steps: readonly Step[], folder: string): Promise<unknown> {
  return plain(await run(steps, folder), folder);
}

async function run(steps: readonly Step[], folder: string): Promise<unknown> {
  let current: unknown;
  for (const [name, ...args] of steps) {
    if (name in FILES) {
      const to = join(folder, args[0] as string);
      mkdirSync(dirname(to), { recursive: true });
      FILES[name]?.(to, args[1] as string);
      continue;
    }
    const given = await Promise.all(args.map((value) => decode(value, folder)));
    const owner = (current ?? data) as Readonly<Record<string, (...values: unknown[]) => unknown>>;
    if (name === "iterBatches") current = await batches(owner as unknown as data.Dataset, given[0] as object);
    else if (name === "schema") current = [...(await (current as data.Dataset).schema()).names];
    else if (name === "types") current = [...(await (current as data.Dataset).schema()).types];
    else if (name === "each") current = await Promise.all((current as data.Dataset[]).map((part) => part[given[0] as "takeAll"]()));
    else if (name === "summary") current = await statistics(current as data.Dataset, given[0] as object | undefined);
    else if (name === "stats") current = (await (current as data.Dataset).stats()) !== undefined;
    else current = await (owner[name] as (...values: unknown[]) => unknown).apply(owner, given);
    if (name.startsWith("write")) current = undefined;
  }
  return current;
}

/** The statistics of each column that are no nulls. */
async function statistics(of: data.Dataset, options?: object): Promise<object> {
  const summary = await of.summary(options);
  const ofColumn = (column: string): object =>
    Object.fromEntries(Object.entries(summary.column(column)).filter(([, value]) => value !== null && !Number.isNaN(value)));
  return Object.fromEntries(summary.columns.map((column) => [column, ofColumn(column)]));
}

async function batches(of: data.Dataset, options: object): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const batch of of.iterBatches(options))
    found.push(Object.fromEntries(Object.entries(batch).map(([name, column]) => [name, Array.from(column as Iterable<unknown>)])));
  return found;
}

async function decode(value: unknown, folder: string): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map((inner) => decode(inner, folder)));
  if (typeof value !== "object" || value === null) return value === "NaN" ? Number.NaN : value;
  const [[key, inner] = []] = Object.entries(value);
  if (key === "$fn") return FUNCTIONS[inner];
  if (key === "$path") return join(folder, inner);
  if (key === "$expression") return calling(inner as [string, ...Step[]]);
  if (key === "$dataset") return run(inner, folder);
  if (key === "$aggregate") {
    const [kind, ...args] = inner as [string, ...unknown[]];
    return AGGREGATES[kind]?.(...args);
  }
  const entries = Object.entries(value).map(async ([name, one]) => [name, await decode(one, folder)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

type Methods = Readonly<Record<string, any>>;

function calling([column, ...calls]: readonly [string, ...Step[]]): unknown {
  return calls.reduce(
    (value: Methods, [name, ...args]) => {
      const names = name.split(".");
      const owner = names.slice(0, -1).reduce((inner: Methods, part) => inner[part] as Methods, value);
      return owner[names.at(-1) as string](...args) as Methods;
    },
    data.col(column) as unknown as Methods,
  );
}

/** As JSON, with the names that both sides give to what JSON has not. Fractions have the twelve digits that no order of additions changes. */
function plain(value: unknown, folder: string): unknown {
  if (value === null || value === undefined) return "null";
  if (typeof value === "number") return Number.isNaN(value) ? "NaN" : Number.isInteger(value) ? value : Number(value.toPrecision(12));
  if (typeof value === "string") return value.replaceAll(folder, "FOLDER");
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}`;
  if (value instanceof Date) return value.toISOString().slice(0, 19);
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) return value.map((inner) => plain(inner, folder));
  if (value instanceof data.Column || ArrayBuffer.isView(value))
    return Array.from(value as unknown as Iterable<unknown>, (inner) => plain(inner, folder));
  if (typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner, folder)]));
}
