/**
 * Codes of dictionary columns: for each row the place of its value in the column's dictionary.
 *
 * A dictionary has no nulls, but it may have duplicate and unused values. The code of a null row means nothing and may be any number. The column's maker
 * chooses codes of 8, 16 or 32 bits. Pure functions on arrays; `vector.ts` makes vectors with them.
 */

export type Codes = Int8Array | Int16Array | Int32Array;

/** An array for codes of the same width. */
export function newCodes({ BYTES_PER_ELEMENT: width }: { readonly BYTES_PER_ELEMENT: number }, length: number): Codes {
  return width === 1 ? new Int8Array(length) : width === 2 ? new Int16Array(length) : new Int32Array(length);
}

/** Codes of at least the width of all of these, wide enough for a dictionary of so many values. */
export function codesFor(codes: readonly Codes[], wordCount: number, length: number): Codes {
  const needed = wordCount <= 2 ** 7 ? 1 : wordCount <= 2 ** 15 ? 2 : 4;
  return newCodes({ BYTES_PER_ELEMENT: Math.max(needed, ...codes.map((own) => own.BYTES_PER_ELEMENT)) }, length);
}

/** Codes of the values that some row has, in the order of the dictionary, and which values those are. */
export function compactCodes(
  codes: Codes,
  wordCount: number,
  isNullAt: ((row: number) => boolean) | undefined,
): { codes: Codes; used: Uint32Array } {
  if (codes.length * FEW_TIMES < wordCount) return compactFewCodes(codes, isNullAt);
  const isUsed = new Uint8Array(wordCount);
  for (let row = 0; row < codes.length; row += 1) if (isNullAt?.(row) !== true) isUsed[codes[row] as number] = 1;
  const places = new Uint32Array(wordCount);
  let count = 0;
  for (let word = 0; word < wordCount; word += 1) {
    places[word] = count;
    count += isUsed[word] as number;
  }
  const used = new Uint32Array(count);
  for (let word = 0; word < wordCount; word += 1) if (isUsed[word] === 1) used[places[word] as number] = word;
  const compact = newCodes(codes, codes.length);
  for (let row = 0; row < codes.length; row += 1) if (isNullAt?.(row) !== true) compact[row] = places[codes[row] as number] as number;
  return { codes: compact, used };
}

/** Rows are few where the dictionary has more values than so many times as many: it is not gone through for each slice then. */
const FEW_TIMES = 64;

function compactFewCodes(codes: Codes, isNullAt: ((row: number) => boolean) | undefined): { codes: Codes; used: Uint32Array } {
  const isValue = (_: number, row: number): boolean => isNullAt?.(row) !== true;
  const used = new Uint32Array(new Set((codes as Int32Array).filter(isValue))).sort();
  const places = new Map(Array.from(used, (word, place) => [word, place]));
  const compact = newCodes(codes, codes.length);
  // The code of a null is any number, so that it may be none of those.
  for (let row = 0; row < codes.length; row += 1) compact[row] = places.get(codes[row] as number) ?? 0;
  return { codes: compact, used };
}

/** Texts, or other ranges of bytes: where each begins, and the end behind the last. */
export interface Ranges {
  readonly values: Uint8Array;
  readonly offsets: Int32Array;
  readonly length: number;
}

/** For each range the number of those that are equal to it, and the first range of each number. Numbers are in the order in which ranges first come. */
export function distinctRanges({ values, offsets, length }: Ranges): { ids: Uint32Array; firstRows: Uint32Array } {
  const places = new Uint32Array(2 ** (33 - Math.clz32(Math.max(8, length))));
  const mask = places.length - 1;
  const ids = new Uint32Array(length);
  const firstRows = new Uint32Array(length);
  let count = 0;
  for (let row = 0; row < length; row += 1) {
    let place = hashRange(values, offsets[row] as number, offsets[row + 1] as number) & mask;
    // A place has a number counted from 1, or 0 where nothing is.
    while (places[place] !== 0 && !isSame({ values, offsets, length }, firstRows[(places[place] as number) - 1] as number, row))
      place = (place + 1) & mask;
    if (places[place] === 0) {
      firstRows[count] = row;
      count += 1;
      places[place] = count;
    }
    ids[row] = (places[place] as number) - 1;
  }
  return { ids, firstRows: firstRows.slice(0, count) };
}

/** FNV-1a, of which the upper bits are mixed into the lower ones. */
function hashRange(bytes: Uint8Array, begin: number, end: number): number {
  let h = 0x811c9dc5;
  for (let i = begin; i < end; i += 1) h = Math.imul(h ^ (bytes[i] as number), 0x01000193);
  return h ^ (h >>> 15);
}

function isSame({ values, offsets }: Ranges, a: number, b: number): boolean {
  const [start, other] = [offsets[a] as number, offsets[b] as number];
  const length = (offsets[a + 1] as number) - start;
  if ((offsets[b + 1] as number) - other !== length) return false;
  for (let i = 0; i < length; i += 1) if (values[start + i] !== values[other + i]) return false;
  return true;
}
