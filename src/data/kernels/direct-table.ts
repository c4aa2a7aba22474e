/**
 * Groups whole numbers of a small range, such as ids and codes: each number has its place in an array, so none is hashed or compared.
 *
 * `hash.ts` and `key-table.ts` ask here first. Groups are numbered in the order of their first appearance, as in a hash table. Numbers of any type count as
 * whole if 32 bits hold them all, because values that a program makes are float64.
 */
import type { Vector } from "../blocks/vector.ts";

/** No number has so many places: an array of places is worth its memory up to here, and those of few rows cost nothing. */
const PLACES_PER_ROW = 4;
const PLACES_MIN = 4096;

export class DirectTable {
  /** The group of each row. */
  readonly ids: Uint32Array;
  /** The first row of each group. */
  readonly firstRows: Uint32Array;
  readonly #least: number;
  /** Groups by number, from the least one on: counted from 1, or 0 where no row has the number. */
  readonly #places: Uint32Array;

  /** The table of a column; undefined where it has nulls, numbers that are not whole, or numbers that are far apart. */
  static of(vector: Vector): DirectTable | undefined {
    const numbers = vector.nullCount > 0 ? undefined : wholeNumbers(vector);
    if (numbers === undefined) return undefined;
    const [least, most] = rangeOf(numbers);
    return areNear(least, most, numbers.length) ? new DirectTable(numbers, least, most - least + 1) : undefined;
  }

  private constructor(numbers: Int32Array, least: number, placeCount: number) {
    const ids = new Uint32Array(numbers.length);
    const places = new Uint32Array(placeCount);
    const firstRows = new Uint32Array(Math.min(numbers.length, placeCount));
    let count = 0;
    for (let row = 0; row < numbers.length; row += 1) {
      const place = (numbers[row] as number) - least;
      let group = places[place] as number;
      if (group === 0) {
        firstRows[count] = row;
        count += 1;
        group = count;
        places[place] = group;
      }
      ids[row] = group - 1;
    }
    this.ids = ids;
    this.firstRows = firstRows.subarray(0, count);
    this.#least = least;
    this.#places = places;
  }

  /** The group of each row of another column, and 0xffffffff where there is none; undefined where it has numbers that are not whole. */
  find(vector: Vector): Uint32Array | undefined {
    const numbers = wholeNumbers(vector);
    if (numbers === undefined) return undefined;
    const least = this.#least;
    const places = this.#places;
    const ids = new Uint32Array(numbers.length);
    for (let row = 0; row < ids.length; row += 1) {
      const place = (numbers[row] as number) - least;
      // Less than 0, as a number without a sign, is what 0 less 1 is: no group.
      ids[row] = place >= 0 && place < places.length ? (places[place] as number) - 1 : -1;
    }
    return ids;
  }
}

/**
 * The bin of each row, by ranges of equally many numbers.
 *
 * @param vectors - a column of several blocks
 * @returns undefined where a table of them all would have no places for its numbers
 */
export function binsOfNumbers(vectors: readonly Vector[], binCount: number): Uint32Array[] | undefined {
  const columns: Int32Array[] = [];
  let rowCount = 0;
  let [least, most] = [Infinity, -Infinity];
  for (const vector of vectors) {
    const numbers = vector.nullCount > 0 ? undefined : wholeNumbers(vector);
    if (numbers === undefined) return undefined;
    const [first, last] = rangeOf(numbers);
    [least, most, rowCount] = [Math.min(least, first), Math.max(most, last), rowCount + numbers.length];
    columns.push(numbers);
  }
  if (!areNear(least, most, rowCount)) return undefined;
  const scale = binCount / (most - least + 1);
  return columns.map((numbers) => {
    const bins = new Uint32Array(numbers.length);
    for (let row = 0; row < bins.length; row += 1) bins[row] = ((numbers[row] as number) - least) * scale;
    return bins;
  });
}

function areNear(least: number, most: number, rowCount: number): boolean {
  return most - least < Math.max(PLACES_MIN, PLACES_PER_ROW * rowCount);
}

/** The values as numbers of 32 bits; undefined where one of them is none, and for other types. */
function wholeNumbers({ type, length, values }: Vector): Int32Array | undefined {
  switch (type.kind) {
    case "int32":
    case "date":
    case "time32":
      return (values as Int32Array).subarray(0, length);
    case "int8":
    case "int16":
    case "uint8":
    case "uint16":
      return new Int32Array((values as Int16Array).subarray(0, length));
    case "float64":
      return ofNumbers((values as Float64Array).subarray(0, length));
    case "float32":
    case "uint32":
      return ofNumbers(new Float64Array((values as Float32Array).subarray(0, length)));
    case "int64":
    case "uint64":
    case "timestamp":
    case "time64":
    case "duration":
      return ofHalves(new Int32Array((values as BigInt64Array).buffer, (values as BigInt64Array).byteOffset, 2 * length), type.kind);
    default:
      return undefined;
  }
}

function ofNumbers(values: Float64Array): Int32Array | undefined {
  const numbers = new Int32Array(values.length);
  for (let row = 0; row < numbers.length; row += 1) {
    const value = values[row] as number;
    const whole = value | 0;
    if (whole !== value) return undefined;
    numbers[row] = whole;
  }
  return numbers;
}

/** @param halves - of each number the lower one, then the higher one, which is its sign where 32 bits hold it */
function ofHalves(halves: Int32Array, kind: string): Int32Array | undefined {
  const numbers = new Int32Array(halves.length / 2);
  for (let row = 0; row < numbers.length; row += 1) {
    const low = halves[2 * row] as number;
    if (halves[2 * row + 1] !== low >> 31 || (low < 0 && kind === "uint64")) return undefined;
    numbers[row] = low;
  }
  return numbers;
}

function rangeOf(numbers: Int32Array): [least: number, most: number] {
  let least = numbers[0] ?? 0;
  let most = least;
  for (let i = 1; i < numbers.length; i += 1) {
    const number = numbers[i] as number;
    if (number < least) least = number;
    else if (number > most) most = number;
  }
  return [least, most];
}
