/**
 * Copies elements and ranges of bytes of scattered rows: the inner loops below sorting, partitioning, filtering and joining.
 *
 * There is one loop for each width of elements, as a loop that meets typed arrays of several classes runs several times slower. Elements of 64 bits that are no float64 are copied
 * as two halves: reading them as they are makes a bigint for each, and through a float64 the bits of some would change.
 */
/** A typed array. */
type Elements = ArrayBufferView & { readonly BYTES_PER_ELEMENT: number };

/** Ranges shorter than this are copied byte by byte: a call of `set` costs as much. */
const SHORT_BYTES = 48;

/** `target[i] = source[indices[i]]`, for two arrays of one class. */
export function gatherElements(target: Elements, source: Elements, indices: Uint32Array): void {
  if (source instanceof Float64Array) gatherDoubles(target as Float64Array, source, indices);
  else if (source.BYTES_PER_ELEMENT === 8) gatherPairs(wordsOf(target), wordsOf(source), indices);
  else if (source.BYTES_PER_ELEMENT === 4) gatherWords(wordsOf(target), wordsOf(source), indices);
  else if (source.BYTES_PER_ELEMENT === 2) gatherShorts(shortsOf(target), shortsOf(source), indices);
  else gatherBytes(bytesOf(target), bytesOf(source), indices);
}

/** The bytes of rows that lie between offsets, one row behind the other. */
export function gatherRanges(target: Uint8Array, source: Uint8Array, offsets: Int32Array, indices: Uint32Array): void {
  let at = 0;
  for (let i = 0; i < indices.length; i += 1) {
    const row = indices[i] as number;
    const end = offsets[row + 1] as number;
    let from = offsets[row] as number;
    if (end - from >= SHORT_BYTES) {
      target.set(source.subarray(from, end), at);
      at += end - from;
    } else {
      for (; from < end; from += 1, at += 1) target[at] = source[from] as number;
    }
  }
}

function gatherDoubles(target: Float64Array, source: Float64Array, indices: Uint32Array): void {
  for (let i = 0; i < indices.length; i += 1) target[i] = source[indices[i] as number] as number;
}

function gatherPairs(target: Uint32Array, source: Uint32Array, indices: Uint32Array): void {
  for (let i = 0; i < indices.length; i += 1) {
    const from = (indices[i] as number) * 2;
    target[2 * i] = source[from] as number;
    target[2 * i + 1] = source[from + 1] as number;
  }
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

function wordsOf({ buffer, byteOffset, byteLength }: Elements): Uint32Array {
  return new Uint32Array(buffer, byteOffset, byteLength >> 2);
}

function shortsOf({ buffer, byteOffset, byteLength }: Elements): Uint16Array {
  return new Uint16Array(buffer, byteOffset, byteLength >> 1);
}

function bytesOf({ buffer, byteOffset, byteLength }: Elements): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
