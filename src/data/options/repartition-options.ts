/**
 * The options of `repartition`, and the step that they ask for.
 *
 * Blocks of a number of rows are cut as blocks pass by, in order. Everything else brings all rows together: cut evenly, by a hash of keys, or at random.
 */
import { count, custom, flag, readOptions } from "../../core/internal.ts";
import type { Transform } from "../engine/tasks/transform.ts";
import type { ExchangePlan } from "../plan/logical-plan.ts";

export interface RepartitionOptions<K extends string = string> {
  /** How many blocks there are to be; with `keys` some may have no rows, and are left out. Default: as many as suit the bytes, and as many as there are with `rowsPerBlock`. */
  blocks?: number | undefined;
  /** Rows of a block. The last block of a task may have fewer. With `strict` alone. */
  rowsPerBlock?: number | undefined;
  /** Whether each block but the last one has exactly `rowsPerBlock` rows, unless that were larger than 128 MiB. Tasks then read blocks that two of them share. Default: false. */
  strict?: boolean | undefined;
  /** Rows of equal values in these columns come into the same block, unless that were larger than 128 MiB. */
  keys?: readonly K[] | undefined;
  /** Whether the rows of each block are sorted by `keys`, so that readers of the written files can skip row groups. Default: false. */
  sort?: boolean | undefined;
  /** Brings the rows into random order. Not with `keys`. Default: false. */
  shuffle?: boolean | undefined;
  /** Seed of the random order: a whole number. Default: a new one each time. */
  seed?: number | undefined;
}

const OPTIONS = {
  blocks: count({ min: 1 }, undefined),
  rowsPerBlock: count({ min: 1 }, undefined),
  keys: custom<readonly string[] | undefined>("an array of column names is needed", undefined, (value) =>
    Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string") ? "ok" : "wrong type",
  ),
  sort: flag(false),
  strict: flag(false),
  shuffle: flag(false),
  seed: custom<number | undefined>("a whole number is needed", undefined, (value) => (Number.isSafeInteger(value) ? "ok" : "wrong type")),
};

type Repartition =
  | Extract<Transform, { kind: "rebatch" }>
  | { readonly kind: "exchange"; readonly exchange: Omit<ExchangePlan, "kind" | "input"> };

/** @throws TypeError, RangeError */
export function readRepartition(given: number | RepartitionOptions): Repartition {
  const written = typeof given === "number" ? { blocks: given } : given;
  const options = readOptions(written, { of: "repartition", options: OPTIONS });
  const { blocks, rowsPerBlock, strict, keys, sort, shuffle, seed } = options;
  if (blocks === undefined && rowsPerBlock === undefined && keys === undefined && !shuffle)
    throw new TypeError(
      "Cannot call repartition: it takes a number of blocks, or { blocks, rowsPerBlock, keys, shuffle }: received none of them",
    );
  if (rowsPerBlock !== undefined) {
    if (blocks !== undefined || keys !== undefined || sort || shuffle)
      throw new TypeError(
        "Cannot call repartition: it takes rowsPerBlock alone, or with strict: rows keep their order, and there are as many blocks as that makes",
      );
    return { kind: "rebatch", name: `repartition(${rowsPerBlock} rows${strict ? ", strict" : ""})`, rows: rowsPerBlock, isStrict: strict };
  }
  if (strict)
    throw new TypeError("Cannot call repartition: it takes strict with rowsPerBlock alone: a number of blocks is kept in any case");
  if (sort && keys === undefined)
    throw new TypeError("Cannot call repartition: it takes sort with keys alone: they are what the rows of a block are sorted by");
  if (keys !== undefined && shuffle)
    throw new TypeError("Cannot call repartition: it takes keys or shuffle: keys decide where a row belongs");
  if (seed !== undefined && !shuffle) throw new TypeError("Cannot call repartition: it takes a seed with shuffle: true alone");
  const size = blocks === undefined ? [] : [`${blocks}`];
  const name = `repartition(${[...size, ...(keys ?? []), ...(sort ? ["sort"] : []), ...(shuffle ? ["shuffle"] : [])].join(", ")})`;
  const partitions = blocks === undefined ? {} : { partitions: blocks };
  if (shuffle) {
    const random = { kind: "random", seed: seed ?? Math.floor(Math.random() * 2 ** 32) } as const;
    return { kind: "exchange", exchange: { name, partitioning: random, ...partitions, after: { kind: "orderByHidden", name } } };
  }
  const partitioning = keys === undefined ? ({ kind: "even" } as const) : ({ kind: "hash", keys, use: "repartition by" } as const);
  const sortKeys = sort ? (keys ?? []).map((column) => ({ column, descending: false })) : [];
  const after = sort ? ({ kind: "sortBlock", name, keys: sortKeys } as const) : ({ kind: "oneBlock", name } as const);
  return { kind: "exchange", exchange: { name, partitioning, ...partitions, after } };
}
