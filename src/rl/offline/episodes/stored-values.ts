/**
 * Values of spaces as the files of episodes have them, and back.
 *
 * Numbers are stored as lists of the space's type, and the parts of a `Dict` as an object. A `Tuple` is an object with the keys `0`, `1` and so on, as a list of Parquet has
 * one type. Reading accepts the forms of other programs too: nested lists, large whole numbers, and a single number for a `Box` of one.
 */
import { Box } from "../../spaces/box.ts";
import { columnLayout } from "../../spaces/columns.ts";
import { Dict, Tuple } from "../../spaces/composite.ts";
import { Discrete } from "../../spaces/discrete.ts";
import { DTYPES } from "../../spaces/dtype.ts";
import { MultiBinary } from "../../spaces/multi-binary.ts";
import { MultiDiscrete } from "../../spaces/multi-discrete.ts";
import type { Space } from "../../spaces/space.ts";

type Parts = Readonly<Record<string, unknown>>;

/** The parts of a space, by their names in files; `undefined` for a space without parts. */
function partsOf(space: Space): [string, Space][] | undefined {
  if (space instanceof Dict) return Object.entries(space.spaces);
  if (space instanceof Tuple)
    return Array.from(space.spaces as readonly Space[], (part, place) => [String(place), part] as [string, Space]);
  return undefined;
}

/** A copy of a value of the space, as files have it. */
export function toStored(space: Space, value: unknown): unknown {
  const parts = partsOf(space);
  if (parts !== undefined) return Object.fromEntries(parts.map(([name, part]) => [name, toStored(part, (value as Parts)[name])]));
  const layout = columnLayout(space);
  const column = layout.allocate(1);
  layout.write(column, 0, value);
  return layout.read(column, 0);
}

/** The value behind a stored one. A stored value that does not fit gives one that `misfit` of the space refuses. */
export function fromStored(space: Space, stored: unknown): unknown {
  if (space instanceof Discrete) return typeof stored === "bigint" ? Number(stored) : stored;
  if (space instanceof Box) return numbersOf(stored, space.size, DTYPES[space.dtype as keyof typeof DTYPES].array);
  if (space instanceof MultiDiscrete) return numbersOf(stored, space.counts.length, Int32Array);
  if (space instanceof MultiBinary) return numbersOf(stored, space.n, Int8Array);
  const parts = partsOf(space);
  if (parts === undefined || typeof stored !== "object" || stored === null) return stored;
  const read = parts.map(([name, part]) => [name, fromStored(part, (stored as Parts)[name])] as const);
  return space instanceof Tuple ? read.map(([, value]) => value) : Object.fromEntries(read);
}

/** A flat array of the numbers in nested lists. Lists with another count of numbers, or with anything else, stay as they are. */
function numbersOf(stored: unknown, size: number, arrayClass: new (length: number) => ArrayLike<number>): unknown {
  if (stored instanceof arrayClass && stored.length === size) return stored;
  const numbers: number[] = [];
  if (!collect(stored, numbers, size) || numbers.length !== size) return stored;
  const into = new arrayClass(size) as number[];
  for (const [at, number] of numbers.entries()) into[at] = number;
  // A number that the type cannot hold is no value of the space.
  const isExact = arrayClass === (Float32Array as unknown) || numbers.every((number, at) => into[at] === number || Number.isNaN(number));
  return isExact ? into : stored;
}

/** Adds the numbers of nested lists. @returns false where something else stands there, or there are too many */
function collect(stored: unknown, into: number[], sizeMax: number): boolean {
  if (typeof stored === "number" || typeof stored === "bigint") return into.push(Number(stored)) <= sizeMax;
  if (typeof stored !== "object" || stored === null) return false;
  const { length } = stored as ArrayLike<unknown>;
  if (typeof length !== "number") return false;
  for (let at = 0; at < length; at += 1) if (!collect((stored as ArrayLike<unknown>)[at], into, sizeMax)) return false;
  return true;
}
