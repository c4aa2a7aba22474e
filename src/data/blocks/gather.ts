/**
 * Copies elements and ranges of bytes of scattered rows: the inner loops below sorting, partitioning, filtering and joining. Rows are gathered from anywhere into their order,
 * or scattered to their places while they are read in order, which is faster where they go to a few hundred places and many more rows.
 *
 * There is one loop for each width of elements, as a loop that meets typed arrays of several classes runs several times slower. Elements of 64 bits that are no float64 do not go
 * through one, which would change the bits of some. A bigint that is only copied is not made once the loop is compiled.
 */
/** A typed array. */
type Elements = ArrayBufferView & { readonly BYTES_PER_ELEMENT: number };

/** Ranges shorter than this are copied in a loop: a call of `set` costs as much. */
const SHORT_BYTES = 64;

/** A short range is copied by so many bytes at a time, also beyond its end, where the next range is written afterwards. */
const STEP_BYTES = 8;

/** `target[i] = source[indices[i]]`, for two arrays of one class. */
export function gatherElements(target: Elements, source: Elements, indices: Uint32Array): void {
  if (source instanceof Float64Array) gatherDoubles(target as Float64Array, source, indices);
  else if (source.BYTES_PER_ELEMENT === 8) gatherWide(wideOf(target), wideOf(source), indices);
  else if (source.BYTES_PER_ELEMENT === 4) gatherWords(wordsOf(target), wordsOf(source), indices);
  else if (source.BYTES_PER_ELEMENT === 2) gatherShorts(shortsOf(target), shortsOf(source), indices);
  else gatherBytes(bytesOf(target), bytesOf(source), indices);
}

/**
 * The bytes of rows that lie between offsets, one row behind the other.
 *
 * @param totalBytes - of all rows of `indices`
 */
export function gatherRanges(source: Uint8Array, offsets: Int32Array, indices: Uint32Array, totalBytes: number): Uint8Array {
  const target = new Uint8Array(totalBytes + STEP_BYTES);
  const from = new DataView(source.buffer, source.byteOffset, source.byteLength);
  const to = new DataView(target.buffer);
  const lastStep = source.byteLength - STEP_BYTES;
  let at = 0;
  for (let i = 0; i < indices.length; i += 1) {
    const row = indices[i] as number;
    const begin = offsets[row] as number;
    const end = offsets[row + 1] as number;
    if (end - begin >= SHORT_BYTES || end > lastStep) target.set(source.subarray(begin, end), at);
    else for (let j = begin, k = at; j < end; j += STEP_BYTES, k += STEP_BYTES) to.setBigInt64(k, from.getBigInt64(j, true), true);
    at += end - begin;
  }
  return target.subarray(0, totalBytes);
}

/** `target[places[i]] = source[i]`, for two arrays of one class. */
export function scatterElements(target: Elements, source: Elements, places: Uint32Array): void {
  if (source instanceof Float64Array) scatterDoubles(target as Float64Array, source, places);
  else if (source.BYTES_PER_ELEMENT === 8) scatterWide(wideOf(target), wideOf(source), places);
  else if (source.BYTES_PER_ELEMENT === 4) scatterWords(wordsOf(target), wordsOf(source), places);
  else if (source.BYTES_PER_ELEMENT === 2) scatterShorts(shortsOf(target), shortsOf(source), places);
  else scatterBytes(bytesOf(target), bytesOf(source), places);
}

/** Rows of bytes and their destinations: the bytes go to the end of a bin, the offset to the row's place. */
interface ScatteredRanges {
  readonly source: Uint8Array;
  readonly offsets: Int32Array;
  readonly bins: Uint32Array;
  readonly places: Uint32Array;
}

/** @param ends - of each bin so far; moved on */
export function scatterRanges(
  target: { readonly values: Uint8Array; readonly offsets: Int32Array },
  { source, offsets, bins, places }: ScatteredRanges,
  ends: Int32Array,
): void {
  const from = new DataView(source.buffer, source.byteOffset, source.byteLength);
  const to = new DataView(target.values.buffer, target.values.byteOffset, target.values.byteLength);
  const own = target.offsets;
  for (let row = 0; row < places.length; row += 1) {
    const begin = offsets[row] as number;
    const length = (offsets[row + 1] as number) - begin;
    const bin = bins[row] as number;
    const at = ends[bin] as number;
    ends[bin] = at + length;
    own[(places[row] as number) + 1] = at + length;
    // Nothing beyond the end is written here: the next bin may begin there. So the last step goes back to end where the range does.
    if (length >= SHORT_BYTES) target.values.set(source.subarray(begin, begin + length), at);
    else if (length >= STEP_BYTES) {
      const last = length - STEP_BYTES;
      for (let i = 0; i < last; i += STEP_BYTES) to.setBigInt64(at + i, from.getBigInt64(begin + i, true), true);
      to.setBigInt64(at + last, from.getBigInt64(begin + last, true), true);
    } else for (let i = 0; i < length; i += 1) to.setUint8(at + i, from.getUint8(begin + i));
  }
}

function gatherDoubles(target: Float64Array, source: Float64Array, indices: Uint32Array): void {
  for (let i = 0; i < indices.length; i += 1) target[i] = source[indices[i] as number] as number;
}

function gatherWide(target: BigInt64Array, source: BigInt64Array, indices: Uint32Array): void {
  for (let i = 0; i < indices.length; i += 1) target[i] = source[indices[i] as number] as bigint;
}

function gatherWords(target: Uint32Array, source: Uint32Array, indices: Uint32Array): void {
  for (let i = 0; i < indices.length; i += 1) target[i] = source[indices[i] as number] as number;
}

function gatherShorts(target: Uint16Array, source: Uint16Array, indices: Uint32Array): void {
  for (let i = 0; i < indices.length; i += 1) target[i] = source[indices[i] as number] as number;
}

function gatherBytes(target: Uint8Array, source: Uint8Array, indices: Uint32Array): void {
  for (let i = 0; i < indices.length; i += 1) target[i] = source[indices[i] as number] as number;
}

function scatterDoubles(target: Float64Array, source: Float64Array, places: Uint32Array): void {
  for (let i = 0; i < places.length; i += 1) target[places[i] as number] = source[i] as number;
}

function scatterWide(target: BigInt64Array, source: BigInt64Array, places: Uint32Array): void {
  for (let i = 0; i < places.length; i += 1) target[places[i] as number] = source[i] as bigint;
}

function scatterWords(target: Uint32Array, source: Uint32Array, places: Uint32Array): void {
  for (let i = 0; i < places.length; i += 1) target[places[i] as number] = source[i] as number;
}

function scatterShorts(target: Uint16Array, source: Uint16Array, places: Uint32Array): void {
  for (let i = 0; i < places.length; i += 1) target[places[i] as number] = source[i] as number;
}

function scatterBytes(target: Uint8Array, source: Uint8Array, places: Uint32Array): void {
  for (let i = 0; i < places.length; i += 1) target[places[i] as number] = source[i] as number;
}

function wideOf({ buffer, byteOffset, byteLength }: Elements): BigInt64Array {
  return new BigInt64Array(buffer, byteOffset, byteLength >> 3);
}

function wordsOf({ buffer, byteOffset, byteLength }: Elements): Uint32Array {
  return new Uint32Array(buffer, byteOffset, byteLength >> 2);
}

function shortsOf({ buffer, byteOffset, byteLength }: Elements): Uint16Array {
  return new Uint16Array(buffer, byteOffset, byteLength >> 1);
}

function bytesOf({ buffer, byteOffset, byteLength }: Elements): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
