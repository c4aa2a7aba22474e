/**
 * Brings the rows of several blocks into bins, by the number of a bin for each row: by counting, in two passes. The rows of a bin keep their order.
 *
 * Columns of one element a row, and texts, are read in their order and written to as many places as there are bins. Columns of other types are put together first, and then
 * taken. No column is copied twice otherwise, and blocks need not be one block before.
 */
import { alignBlock, type Block, mapVectors, schemaOf, unifySchemas } from "../blocks/block.ts";
import { bitmapBytes, getBit, setBit } from "../blocks/values/bitmap.ts";
import { scatterElements, scatterRanges } from "../blocks/gather.ts";
import { freeArrays } from "../blocks/memory/memory.ts";
import { concatVectors, newValueArray, takeVector, type ValueArray, type Vector } from "../blocks/vector.ts";

/** Where the rows of some blocks go. */
interface Places {
  readonly rowCount: number;
  /** The bin of each row of each block. */
  readonly bins: readonly Uint32Array[];
  readonly places: readonly Uint32Array[];
  readonly binCount: number;
}

/** Rows by bins: where each bin begins, and the end behind the last. */
interface Binned {
  readonly block: Block;
  readonly starts: Uint32Array;
}

/**
 * @param blocks - at least one
 * @param bins - the bin of each row of each block, each below `binCount`
 */
export function binBlocks(blocks: readonly Block[], bins: readonly Uint32Array[], binCount: number): Binned {
  const fields = unifySchemas(blocks.map(schemaOf));
  const aligned = blocks.map((block) => alignBlock(block, fields));
  const starts = startsOf(bins, binCount);
  const next = starts.slice();
  const where = { rowCount: starts[binCount] as number, bins, places: bins.map((own) => placesOf(own, next)), binCount };
  const vectors = mapVectors(aligned, (own) => binVectors(own, where));
  freeArrays(where.places);
  return { block: { rowCount: where.rowCount, names: fields.map(({ name }) => name), vectors }, starts };
}

/** Bins of as many hashes each. */
export function binsOfHashes(hashes: Uint32Array, binCount: number): Uint32Array {
  const bins = new Uint32Array(hashes.length);
  const scale = binCount / 4294967296;
  for (let row = 0; row < bins.length; row += 1) bins[row] = (hashes[row] as number) * scale;
  return bins;
}

/** The rows of the first part, then those of the second, and so on; and where each part begins, with the end behind the last. */
export function rowsByPart(parts: Uint32Array, count: number): { rows: Uint32Array; starts: Uint32Array } {
  const starts = startsOf([parts], count);
  return { rows: rowsAt([placesOf(parts, starts.slice())], parts.length), starts };
}

function startsOf(bins: readonly Uint32Array[], binCount: number): Uint32Array {
  const starts = new Uint32Array(binCount + 1);
  for (const own of bins)
    for (let row = 0; row < own.length; row += 1) {
      const next = (own[row] as number) + 1;
      starts[next] = (starts[next] as number) + 1;
    }
  for (let bin = 0; bin < binCount; bin += 1) starts[bin + 1] = (starts[bin + 1] as number) + (starts[bin] as number);
  return starts;
}

/** @param next - the next place of each bin; moved on */
function placesOf(bins: Uint32Array, next: Uint32Array): Uint32Array {
  const places = new Uint32Array(bins.length);
  for (let row = 0; row < bins.length; row += 1) {
    const bin = bins[row] as number;
    const place = next[bin] as number;
    places[row] = place;
    next[bin] = place + 1;
  }
  return places;
}

/** The row at each place, where rows are numbered over all blocks. */
function rowsAt(places: readonly Uint32Array[], rowCount: number): Uint32Array {
  const rows = new Uint32Array(rowCount);
  let first = 0;
  for (const own of places) {
    for (let row = 0; row < own.length; row += 1) rows[own[row] as number] = first + row;
    first += own.length;
  }
  return rows;
}

function binVectors(vectors: readonly Vector[], where: Places): Vector {
  const { type } = vectors[0] as Vector;
  const values = type.kind === "string" || type.kind === "binary" ? binRanges(vectors, where) : binElements(vectors, where);
  if (values === undefined) return takeVector(concatVectors(vectors), rowsAt(where.places, where.rowCount));
  const nullCount = vectors.reduce((sum, vector) => sum + vector.nullCount, 0);
  const validity = nullCount === 0 ? {} : { validity: binValidity(vectors, where) };
  return { type, length: where.rowCount, nullCount, bitOffset: 0, ...validity, ...values };
}

function binElements(vectors: readonly Vector[], { places, rowCount }: Places): Partial<Vector> | undefined {
  const values = newValueArray((vectors[0] as Vector).type.kind, rowCount);
  if (values === undefined) return undefined;
  for (const [i, vector] of vectors.entries()) scatterElements(values, vector.values as ValueArray, places[i] as Uint32Array);
  return { values };
}

function binRanges(vectors: readonly Vector[], { bins, places, rowCount, binCount }: Places): Partial<Vector> {
  const bytes = new Float64Array(binCount);
  for (const [i, { offsets }] of vectors.entries()) addLengths(bytes, offsets as Int32Array, bins[i] as Uint32Array);
  const ends = new Int32Array(binCount);
  let total = 0;
  for (let bin = 0; bin < binCount; bin += 1) {
    ends[bin] = total;
    total += bytes[bin] as number;
  }
  const target = { values: new Uint8Array(total), offsets: new Int32Array(rowCount + 1) };
  for (const [i, { values, offsets }] of vectors.entries()) {
    const ranges = { source: values as Uint8Array, offsets: offsets as Int32Array };
    scatterRanges(target, { ...ranges, bins: bins[i] as Uint32Array, places: places[i] as Uint32Array }, ends);
  }
  return target;
}

function addLengths(bytes: Float64Array, offsets: Int32Array, bins: Uint32Array): void {
  for (let row = 0; row < bins.length; row += 1) {
    const bin = bins[row] as number;
    bytes[bin] = (bytes[bin] as number) + (offsets[row + 1] as number) - (offsets[row] as number);
  }
}

function binValidity(vectors: readonly Vector[], { places, rowCount }: Places): Uint8Array {
  const validity = new Uint8Array(bitmapBytes(rowCount));
  for (const [i, own] of places.entries()) {
    const { validity: bits, bitOffset } = vectors[i] as Vector;
    for (let row = 0; row < own.length; row += 1)
      if (bits === undefined || getBit(bits, bitOffset + row)) setBit(validity, own[row] as number);
  }
  return validity;
}
