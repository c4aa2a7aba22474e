/**
 * Values of a space as arrays of a frame, and back.
 *
 * Spaces of numbers are one array `[rows, ...shape]`. A `Dict` or a `Tuple` has one for each part, with the key behind a slash: `obs/camera`. `Text` has no array, and does not travel.
 * Values that arrive are compared with the space, each of them.
 */
import { Box } from "../spaces/box.ts";
import { columnLayout, type ColumnData } from "../spaces/columns.ts";
import { Dict, Tuple } from "../spaces/composite.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { MultiBinary } from "../spaces/multi-binary.ts";
import { MultiDiscrete } from "../spaces/multi-discrete.ts";
import type { Space } from "../spaces/space.ts";
import { FrameError, type WireArray } from "./frames.ts";

/** A part of a space that is one array. */
interface Leaf {
  readonly name: string;
  readonly space: Space;
  /** The keys from the whole value to the part. */
  readonly keys: readonly (string | number)[];
}

/** How values of a space travel. */
export class SpaceArrays {
  readonly #space: Space;
  readonly #leaves: readonly Leaf[];

  /** @param name - of the array, or the beginning of the names of several. @throws TypeError for spaces with texts */
  constructor(space: Space, name: string) {
    this.#space = space;
    this.#leaves = leavesOf(space, name, []);
  }

  /** Bytes of one value. */
  get rowBytes(): number {
    return this.#leaves.reduce((sum, { space }) => sum + (columnLayout(space).allocate(1) as NumericArray).byteLength, 0);
  }

  /** Writes values, one a row. */
  write(values: readonly unknown[], into: Map<string, WireArray>): void {
    for (const { name, space, keys } of this.#leaves) {
      const layout = columnLayout(space);
      const data = layout.allocate(values.length) as NumericArray;
      for (const [row, value] of values.entries()) layout.write(data, row, partOf(value, keys));
      into.set(name, { shape: [values.length, ...shapeOf(space)], data });
    }
  }

  /** Reads the values of `rows` rows. @throws FrameError where an array is missing, or has another shape, dtype or range than the space */
  read(arrays: ReadonlyMap<string, WireArray>, rows: number): unknown[] {
    const columns = this.#leaves.map((leaf) => columnOf(leaf, arrays.get(leaf.name), rows));
    return Array.from({ length: rows }, (_, row) => {
      const value = this.#valueAt(columns, row);
      const misfit = this.#space.misfit(value);
      if (misfit !== undefined)
        throw new FrameError(`row ${row} of ${this.#leaves[0]?.name.split("/")[0]} does not fit its space: ${misfit}`);
      return value;
    });
  }

  #valueAt(columns: readonly ColumnData[], row: number): unknown {
    let index = 0;
    const build = (space: Space): unknown => {
      if (space instanceof Dict) {
        const entries = Object.entries(space.spaces as Readonly<Record<string, Space>>);
        return Object.fromEntries(entries.map(([key, part]) => [key, build(part)]));
      }
      if (space instanceof Tuple) return (space.spaces as readonly Space[]).map(build);
      const value = columnLayout(space).read(columns[index] as ColumnData, row);
      index += 1;
      return value;
    };
    return build(this.#space);
  }
}

function leavesOf(space: Space, name: string, keys: readonly (string | number)[]): Leaf[] {
  if (space instanceof Dict || space instanceof Tuple)
    return Object.entries(space.spaces as Readonly<Record<string, Space>>).flatMap(([key, part]) =>
      leavesOf(part, `${name}/${key}`, [...keys, key]),
    );
  if (columnLayout(space).size === undefined)
    throw new TypeError(
      `Cannot use an external environment: ${name} is a space ${space.type}, which has no array. Use Box, Discrete, MultiDiscrete, MultiBinary, or Dict and Tuple of them`,
    );
  return [{ name, space, keys }];
}

function partOf(value: unknown, keys: readonly (string | number)[]): unknown {
  return keys.reduce((whole, key) => (whole as Readonly<Record<string | number, unknown>>)[key], value);
}

function shapeOf(space: Space): readonly number[] {
  if (space instanceof Box) return space.shape;
  if (space instanceof MultiDiscrete) return [space.counts.length];
  if (space instanceof MultiBinary) return [space.n];
  return [];
}

function columnOf({ name, space }: Leaf, array: WireArray | undefined, rows: number): ColumnData {
  if (array === undefined) throw new FrameError(`the array ${JSON.stringify(name)} is missing`);
  const shape = [rows, ...shapeOf(space)];
  const column = columnLayout(space).allocate(0) as NumericArray;
  const dtype = column.constructor.name;
  if (array.data.constructor !== column.constructor)
    throw new FrameError(`${JSON.stringify(name)} is a ${dtype}: received a ${array.data.constructor.name}`);
  if (array.shape.join() !== shape.join())
    throw new FrameError(`${JSON.stringify(name)} has the shape [${shape.join(", ")}]: received [${array.shape.join(", ")}]`);
  return array.data;
}

/** A column of plain numbers. @throws FrameError where it is missing, or has another size, dtype, or numbers that are not finite */
export function numbersOf<A extends NumericArray>(
  arrays: ReadonlyMap<string, WireArray>,
  { name, size, array }: { readonly name: string; readonly size: number; readonly array: new (length: number) => A },
): A {
  const found = arrays.get(name);
  if (found === undefined) throw new FrameError(`the array ${JSON.stringify(name)} is missing`);
  if (!(found.data instanceof array))
    throw new FrameError(`${JSON.stringify(name)} is a ${array.name}: received a ${found.data.constructor.name}`);
  if (found.data.length !== size) throw new FrameError(`${JSON.stringify(name)} has ${size} numbers: received ${found.data.length}`);
  if (!found.data.every(Number.isFinite)) throw new FrameError(`${JSON.stringify(name)} has finite numbers: received others`);
  return found.data;
}
