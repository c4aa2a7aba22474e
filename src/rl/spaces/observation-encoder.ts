/**
 * Turns observations into the numbers that networks take: flat float32, with one-hot choices.
 *
 * The parts of `Dict` and `Tuple` lie one after another, in the order of the space. Pictures of bytes become numbers from 0 to 1.
 * Runners encode whole vectors, policies single observations.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { Box } from "./box.ts";
import { Dict, Tuple } from "./composite.ts";
import { Discrete } from "./discrete.ts";
import type { ColumnData } from "./columns.ts";
import type { NumericArray } from "./dtype.ts";
import { MultiBinary } from "./multi-binary.ts";
import { MultiDiscrete } from "./multi-discrete.ts";
import type { Space } from "./space.ts";

type WriteNumbers = (value: unknown, into: Float32Array, at: number) => void;

/** The place of a `Box` of three dimensions among the numbers. */
export interface PicturePlace {
  readonly at: number;
  readonly shape: readonly [height: number, width: number, channels: number];
}

interface Encoding {
  readonly size: number;
  readonly write: WriteNumbers;
  readonly pictures?: readonly PicturePlace[];
}

const BYTE_MAX = 255;

/** Whether a space has pictures of bytes. */
export function isBytePicture(space: Space): boolean {
  if (!(space instanceof Box) || space.shape.length !== 3 || space.dtype !== "uint8") return false;
  return [space.low, space.high].every((bounds, index) => Array.from(bounds).every((bound) => bound === index * BYTE_MAX));
}

export class ObservationEncoder {
  /** Numbers of an observation, those of a mask among them. */
  readonly size: number;
  /** Numbers of the action mask, which are the last ones; 0 where there is none. */
  readonly maskSize: number;
  readonly pictures: readonly PicturePlace[];
  readonly #write: WriteNumbers;
  /** Elements of a flat column's row where these are the numbers themselves. */
  readonly #isPlain: boolean;
  readonly #isList: boolean;

  /** @throws TypeError for spaces without a form in numbers, such as `Text` */
  constructor(space: Space) {
    const masked = maskedParts(space);
    const { size, write, pictures = [] } = encodingOf(masked ?? space, "the observation space");
    this.pictures = pictures;
    this.size = size;
    this.maskSize = masked === undefined ? 0 : new ObservationEncoder(masked.spaces["actionMask"] as Space).size;
    this.#write = write;
    this.#isPlain = (space instanceof Box && !isBytePicture(space)) || space instanceof MultiBinary;
    this.#isList = space instanceof Dict || space instanceof Tuple;
  }

  encode(value: unknown, into: Float32Array, at: number): void {
    this.#write(value, into, at);
  }

  /** Encodes the rows of a column, one after another. */
  encodeColumn(column: ColumnData, rows: number, into: Float32Array): void {
    if (this.#isPlain) return into.set(column as NumericArray);
    const width = column.length / rows;
    for (let row = 0; row < rows; row += 1) this.encodeRow(column, row, { into, at: row * this.size, width });
  }

  /** Encodes one row of a column whose rows have `width` entries. */
  encodeRow(column: ColumnData, row: number, { into, at, width }: { into: Float32Array; at: number; width: number }): void {
    if (this.#isList || width === 1) this.#write(this.#isPlain ? [column[row]] : column[row], into, at);
    else this.#write((column as NumericArray).subarray(row * width, (row + 1) * width), into, at);
  }
}

/** The space of observations with a mask of actions, the mask last; `undefined` for other spaces. */
function maskedParts(space: Space): Dict | undefined {
  if (!(space instanceof Dict)) return undefined;
  const { observations, actionMask, ...others } = space.spaces as Readonly<Record<string, Space>>;
  if (observations === undefined || actionMask === undefined || Object.keys(others).length > 0) return undefined;
  return new Dict({ observations, actionMask });
}

function encodingOf(space: Space, what: string): Encoding {
  if (space instanceof Box && space.shape.length === 3) {
    const write: WriteNumbers = (value, into, at) => into.set(value as ArrayLike<number>, at);
    return { size: space.size, write: isBytePicture(space) ? writeScaled : write, pictures: [{ at: 0, shape: space.shape as never }] };
  }
  if (space instanceof Box || space instanceof MultiBinary) {
    const size = space instanceof Box ? space.size : space.n;
    return { size, write: (value, into, at) => into.set(value as ArrayLike<number>, at) };
  }
  if (space instanceof Discrete) {
    const { n, start } = space;
    return {
      size: n,
      write: (value, into, at) => void into.fill(0, at, at + n).fill(1, at + (value as number) - start, at + (value as number) - start + 1),
    };
  }
  if (space instanceof MultiDiscrete) return oneHots(space.counts);
  if (space instanceof Dict) {
    const parts = Object.entries(space.spaces as Readonly<Record<string, Space>>).map(([key, part]) => ({
      key,
      ...encodingOf(part, `${what}, ${key}`),
    }));
    return joined(parts);
  }
  if (space instanceof Tuple)
    return joined((space.spaces as readonly Space[]).map((part, key) => ({ key, ...encodingOf(part, `${what}, part ${key}`) })));
  throw new TypeError(
    `Cannot make a network: ${what} is a Box, Discrete, MultiDiscrete, MultiBinary, or a Dict or Tuple of these: received ${describeValue(space.toJSON())}`,
  );
}

function writeScaled(value: unknown, into: Float32Array, at: number): void {
  const bytes = value as ArrayLike<number>;
  for (let index = 0; index < bytes.length; index += 1) into[at + index] = (bytes[index] as number) / BYTE_MAX;
}

function oneHots(counts: readonly number[]): { size: number; write: WriteNumbers } {
  const size = counts.reduce((sum, count) => sum + count, 0);
  const write: WriteNumbers = (value, into, at) => {
    into.fill(0, at, at + size);
    let from = at;
    for (const [index, count] of counts.entries()) {
      into[from + ((value as ArrayLike<number>)[index] as number)] = 1;
      from += count;
    }
  };
  return { size, write };
}

function joined(parts: readonly (Encoding & { readonly key: string | number })[]): Encoding {
  const write: WriteNumbers = (value, into, at) => {
    let from = at;
    for (const part of parts) {
      part.write((value as Readonly<Record<string | number, unknown>>)[part.key], into, from);
      from += part.size;
    }
  };
  let size = 0;
  const pictures: PicturePlace[] = [];
  for (const part of parts) {
    for (const { at, shape } of part.pictures ?? []) pictures.push({ at: size + at, shape });
    size += part.size;
  }
  return { size, write, pictures };
}
