/**
 * Reads NumPy's files: `.npy` as the column `data`, whose first dimension are the rows, and `.npz` with a column for each of its arrays.
 *
 * Arrays in C order are read as a stream, some rows at a time. Arrays in Fortran order and archives are read whole. Elements become little-endian and take a
 * column's type: half floats are float32, and `nd-arrays.ts` maps the others.
 */
import { readChunks, readWhole } from "../../../storage/read-file.ts";
import { WHOLE_FILE_BYTES_MAX } from "../../../storage/limits.ts";
import { zipEntries } from "../../../storage/compression/zip-file.ts";
import { NdArray } from "../../../core/index.ts";
import { isBeyondNumbers } from "../../blocks/values/safe-integers.ts";
import type { Block } from "../../blocks/block.ts";
import { elementsOf } from "../../blocks/data-type.ts";
import { vectorOfNdArray } from "../../blocks/values/nd-arrays.ts";
import type { Vector } from "../../blocks/vector.ts";
import { DataError } from "../../errors.ts";
import { NPY_PREFIX_BYTES, READ_BLOCK_BYTES } from "../../limits.ts";
import { ByteWindow } from "../byte-window.ts";
import { type NpyHeader, npyHeaderRange, parseNpyHeader } from "./npy-header.ts";

export interface NumpyOptions {
  /** Columns of 64-bit whole numbers that are read as `bigint`. Others are where their file's first 8 MiB have one beyond 2^53. */
  readonly bigintColumns?: readonly string[];
  /** About the size of a block. Default: 8 MiB. */
  readonly blockBytes?: number;
}

const ARCHIVE = /\.npz$/i;

/** The rows of a file. Runs in workers. */
export async function* readNumpyFile(path: string, options: NumpyOptions = {}): AsyncGenerator<Block, void, undefined> {
  if (ARCHIVE.test(path)) yield await archiveBlock(path, options);
  else yield* npyBlocks(readChunks(path), path, options);
}

/** The rows of the bytes of a `.npy` file. */
export async function* npyBlocks(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  { bigintColumns = [], blockBytes = READ_BLOCK_BYTES }: NumpyOptions = {},
): AsyncGenerator<Block, void, undefined> {
  const window = new ByteWindow(chunks, file);
  try {
    const header = await readHeader(window);
    const { rowCount, rowBytes } = layoutOf(header, file);
    const rowsAtOnce = Math.max(1, header.isFortran ? rowCount : Math.floor(blockBytes / Math.max(1, rowBytes)));
    let asBigint = bigintColumns.includes("data");
    for (let row = 0; row === 0 || row < rowCount; row += rowsAtOnce) {
      const rows = Math.min(rowsAtOnce, rowCount - row);
      const bytes = await takeBytes(window, rows * rowBytes, (rowCount - row) * rowBytes);
      const vector = vectorOfElements(bytes, header, rows);
      if (row === 0) asBigint ||= isBeyondNumbers(readAs(vector, false));
      yield { rowCount: rows, names: ["data"], vectors: [readAs(vector, asBigint)] };
    }
  } finally {
    await window.close();
  }
}

/** The array of a `.npy` file in memory. Whole numbers of 64 bits are bigints. @throws DataError for other bytes */
export async function ndArrayOfNpy(bytes: Uint8Array, file = "the array"): Promise<NdArray> {
  const window = new ByteWindow(
    (async function* whole() {
      yield bytes;
    })(),
    file,
  );
  const header = await readHeader(window);
  const { rowCount, rowBytes } = layoutOf(header, file);
  const elements = await takeBytes(window, rowCount * rowBytes, rowCount * rowBytes);
  return arrayOfElements(elements, header, rowCount);
}

async function readHeader(window: ByteWindow): Promise<NpyHeader> {
  const { file } = window;
  await window.fill(NPY_PREFIX_BYTES);
  const { start, end } = npyHeaderRange(window.bytes.subarray(window.start, Math.min(window.end, window.start + NPY_PREFIX_BYTES)), file);
  await window.fill(end);
  if (window.length < end) throw new DataError(`Cannot read ${file}: it is cut off in its header, at byte ${window.length}`);
  const header = parseNpyHeader(window.bytes.subarray(window.start + start, window.start + end), file);
  window.start += end;
  return header;
}

/** The rows of an array; one for a single number. */
function layoutOf({ shape, bytes, isFortran }: NpyHeader, file: string): { rowCount: number; rowBytes: number } {
  const [rowCount = 1, ...rest] = shape;
  const rowBytes = bytes * elementsOf(rest);
  const atOnce = isFortran || rowBytes === 0 ? Math.max(rowBytes, 1) * rowCount : rowBytes;
  if (!Number.isSafeInteger(rowCount * rowBytes) || atOnce > WHOLE_FILE_BYTES_MAX)
    throw new DataError(
      `Cannot read ${file}: it has the shape (${shape.join(", ")}): ${atOnce} bytes at once, and at most ${WHOLE_FILE_BYTES_MAX} are read`,
      {
        hint: isFortran ? "save it in C's order: numpy.ascontiguousarray(array)" : "save it as several arrays",
      },
    );
  return { rowCount, rowBytes };
}

/** Takes the next bytes, in memory of their own that begins where numbers may lie. */
async function takeBytes(window: ByteWindow, length: number, announced: number): Promise<Uint8Array<ArrayBuffer>> {
  await window.fill(length);
  if (window.length < length) {
    const begins = window.offsetOf(window.start);
    throw new DataError(
      `Cannot read ${window.file}: it is cut off at byte ${begins + window.length}: its elements go to byte ${begins + announced}`,
      {
        hint: "was it copied to its end?",
      },
    );
  }
  const bytes = window.bytes.slice(window.start, window.start + length);
  window.start += length;
  return bytes;
}

function vectorOfElements(bytes: Uint8Array<ArrayBuffer>, header: NpyHeader, rows: number): Vector {
  return vectorOfNdArray(arrayOfElements(bytes, header, rows));
}

function arrayOfElements(bytes: Uint8Array<ArrayBuffer>, { shape, isFortran, ...type }: NpyHeader, rows: number): NdArray {
  const own = shape.length === 0 ? [1] : [rows, ...shape.slice(1)];
  swapToLittleEndian(bytes, type.isBigEndian ? type.wordBytes : 1);
  const ordered = isFortran && own.length > 1 ? transposed(bytes, own, type.bytes) : bytes;
  const dtype = type.dtype === "float16" ? "float32" : type.dtype;
  return new NdArray(elementsIn(ordered.buffer, type.dtype), own, dtype);
}

function swapToLittleEndian(bytes: Uint8Array, wordBytes: number): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (wordBytes === 2) buffer.swap16();
  else if (wordBytes === 4) buffer.swap32();
  else if (wordBytes === 8) buffer.swap64();
}

const ARRAYS = {
  bool: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
  complex64: Float32Array,
  complex128: Float64Array,
} as const;

function elementsIn(buffer: ArrayBuffer, dtype: string): NdArray["data"] {
  if (dtype === "float16") return Float32Array.from(new Uint16Array(buffer), halfToNumber);
  return new (Object.hasOwn(ARRAYS, dtype) ? ARRAYS[dtype as keyof typeof ARRAYS] : BigInt64Array)(buffer);
}

/** The number of which these are the bits, by IEEE 754 with 16 of them. */
function halfToNumber(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Elements whose first index runs fastest, such that the last one does. */
function transposed(bytes: Uint8Array<ArrayBuffer>, shape: readonly number[], elementBytes: number): Uint8Array<ArrayBuffer> {
  const target = new Uint8Array(bytes.length);
  const count = bytes.length / elementBytes;
  const steps = shape.map((_, i) => elementsOf(shape.slice(0, i)) * elementBytes);
  const index = new Array<number>(shape.length).fill(0);
  for (let element = 0, from = 0; element < count; element += 1) {
    for (let i = 0; i < elementBytes; i += 1) target[element * elementBytes + i] = bytes[from + i] as number;
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      from += steps[axis] as number;
      index[axis] = (index[axis] as number) + 1;
      if ((index[axis] as number) < (shape[axis] as number)) break;
      from -= (steps[axis] as number) * (shape[axis] as number);
      index[axis] = 0;
    }
  }
  return target;
}

function readAs(vector: Vector, asBigint: boolean): Vector {
  const { kind } = vector.type;
  return kind === "int64" || kind === "uint64" ? { ...vector, type: { kind, as: asBigint ? "bigint" : "number" } } : vector;
}

/** All arrays of an archive, a column each. */
async function archiveBlock(path: string, { bigintColumns = [] }: NumpyOptions): Promise<Block> {
  const names: string[] = [];
  const vectors: Vector[] = [];
  for (const entry of zipEntries(await readWhole(path), path)) {
    const name = entry.name.replace(/\.npy$/, "");
    const own = `${path}: ${entry.name}`;
    const window = new ByteWindow(once(entry.bytes()), own);
    const header = await readHeader(window);
    const { rowCount, rowBytes } = layoutOf(header, own);
    const vector = vectorOfElements(await takeBytes(window, rowCount * rowBytes, rowCount * rowBytes), header, rowCount);
    names.push(name);
    vectors.push(readAs(vector, bigintColumns.includes(name) || isBeyondNumbers(readAs(vector, false))));
  }
  const rowCount = vectors[0]?.length ?? 0;
  const odd = vectors.findIndex(({ length }) => length !== rowCount);
  if (odd >= 0)
    throw new DataError(
      `Cannot read ${path}: the arrays of an archive have equally many rows: ${names[0]} has ${rowCount}, ${names[odd]} has ${vectors[odd]?.length}`,
    );
  return { rowCount, names, vectors };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}
