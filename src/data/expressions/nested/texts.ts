/**
 * Functions of texts. They give what JavaScript's methods of strings give, so lengths and places count UTF-16 units.
 *
 * Searches work on the UTF-8 bytes, which say the same as the characters.
 * So do lengths and changes of case where all bytes are ASCII.
 */
import { bitmapBytes, setBit } from "../../blocks/values/bitmap.ts";
import { BOOL, type DataType, STRING } from "../../blocks/data-type.ts";
import { nullVector, packVector, type Vector } from "../../blocks/vector.ts";
import { valueReader } from "../../blocks/value-reader.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import type { TextFunctionName } from "../nodes.ts";
import { booleans, isNullOperand, type Kernel, nullsOf, type Operand, requireTypes, RowProblem } from "../operations/operand.ts";
import { groupsOf, likeTest } from "../operations/patterns.ts";

const INT32: DataType = { kind: "int32" };
const TEXTS: DataType = { kind: "list", of: STRING, as: "array" };

interface TextVector extends Vector {
  readonly values: Uint8Array;
  readonly offsets: Int32Array;
}

/** A kernel of one text, which gives a vector of `type`. */
function ofText(type: DataType, compute: (vector: TextVector, input: Operand, args: readonly unknown[]) => Vector): Kernel {
  return (inputs, length, args) => {
    requireTypes(inputs, "a text", ({ kind }) => kind === "string", 'cast("string") makes a text of most values');
    const input = inputs[0] as Operand;
    return isNullOperand(input) ? nullVector(type, length) : compute(input.vector as TextVector, input, args);
  };
}

/** By JavaScript's strings, one a row. */
function byStrings(type: DataType, change: (text: string, args: readonly unknown[]) => unknown): Kernel {
  return ofText(type, (vector, _, args) => {
    const read = valueReader(vector);
    const changed = new Array<unknown>(vector.length);
    let row = 0;
    try {
      for (; row < changed.length; row += 1) {
        const text = read(row);
        changed[row] = text === null ? null : change(text as string, args);
      }
    } catch (error) {
      if (error instanceof RangeError) throw new RowProblem(row, "would be a longer text than JavaScript has, of 512 Mi characters");
      throw error;
    }
    return buildVector(changed, type);
  });
}

/** As {@link byStrings}, by a function that is made of the arguments once for all rows. */
function byPrepared(type: DataType, prepare: (args: readonly unknown[]) => (text: string) => unknown): Kernel {
  return (inputs, length, args) => byStrings(type, prepare(args))(inputs, length, []);
}

/** All bytes that the rows have, and maybe some between them. */
function allBytes({ values, offsets, length }: TextVector): Uint8Array {
  return values.subarray(offsets[0], offsets[length]);
}

function isAscii(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i += 1) if ((bytes[i] as number) > 127) return false;
  return true;
}

function cased(first: number, difference: number, change: (text: string) => string): Kernel {
  const slowly = byStrings(STRING, change);
  return ofText(STRING, (vector, input, args) => {
    if (!isAscii(allBytes(vector))) return slowly([input], vector.length, args);
    const packed = packVector(vector);
    const values = (packed.values as Uint8Array).slice();
    for (let i = 0; i < values.length; i += 1) {
      const byte = values[i] as number;
      if (byte >= first && byte < first + 26) values[i] = byte + difference;
    }
    return { ...packed, values };
  });
}

/** How many units of UTF-16 each row has, or how many bytes. */
const lengths = (ofBytes: boolean): Kernel =>
  ofText(INT32, (vector, input) => {
    const { offsets } = vector;
    const values = new Int32Array(vector.length);
    if (ofBytes || isAscii(allBytes(vector)))
      for (let i = 0; i < values.length; i += 1) values[i] = (offsets[i + 1] as number) - (offsets[i] as number);
    else {
      const read = valueReader(vector);
      for (let i = 0; i < values.length; i += 1) values[i] = ((read(i) as string | null) ?? "").length;
    }
    return { type: INT32, length: vector.length, ...nullsOf([input], vector.length), values };
  });

/** Whether the bytes of each row begin, or end, with those of the text. */
function atEdge(isEnd: boolean): Kernel {
  return ofText(BOOL, (vector, input, args) => {
    const { values, offsets } = vector;
    const wanted = Buffer.from(args[0] as string);
    const bits = new Uint8Array(bitmapBytes(vector.length));
    for (let row = 0; row < vector.length; row += 1) {
      const start = offsets[row] as number;
      const end = offsets[row + 1] as number;
      if (end - start < wanted.length) continue;
      const from = isEnd ? end - wanted.length : start;
      let i = 0;
      while (i < wanted.length && values[from + i] === wanted[i]) i += 1;
      if (i === wanted.length) setBit(bits, row);
    }
    return booleans(bits, vector.length, nullsOf([input], vector.length));
  });
}

/** Searches all rows at once: from each find on, the row in which it lies, if it lies in one. */
const contains: Kernel = ofText(BOOL, (vector, input, args) => {
  const { values, offsets } = vector;
  const wanted = Buffer.from(args[0] as string);
  const bits = new Uint8Array(bitmapBytes(vector.length));
  if (wanted.length === 0) bits.fill(0xff);
  else {
    const buffer = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
    let row = 0;
    for (let at = buffer.indexOf(wanted, offsets[0]); at >= 0 && row < vector.length; ) {
      while (row < vector.length && (offsets[row + 1] as number) <= at) row += 1;
      if (row === vector.length) break;
      const end = offsets[row + 1] as number;
      if (at + wanted.length <= end) {
        setBit(bits, row);
        at = buffer.indexOf(wanted, end);
      } else at = buffer.indexOf(wanted, at + 1);
    }
  }
  return booleans(bits, vector.length, nullsOf([input], vector.length));
});

/** The texts of all inputs one behind the other. */
export const textConcat: Kernel = (inputs, rows) => {
  requireTypes(inputs, "texts", ({ kind }) => kind === "string", 'cast("string") makes a text of most values');
  if (inputs.some(isNullOperand)) return nullVector(STRING, rows);
  const readers = inputs.map(({ vector, isConstant }) => {
    const read = valueReader(vector);
    return isConstant ? () => read(0) : read;
  });
  const texts = Array.from({ length: rows }, (_, row) => {
    const parts = readers.map((read) => read(row) as string | null);
    return parts.includes(null) ? null : parts.join("");
  });
  return buildVector(texts, STRING);
};

/** The functions of one text. */
export const textFunctions: Readonly<Record<Exclude<TextFunctionName, "str.concat">, Kernel>> = {
  "str.length": lengths(false),
  "str.byteLength": lengths(true),
  "str.upper": cased(97, -32, (text) => text.toUpperCase()),
  "str.lower": cased(65, 32, (text) => text.toLowerCase()),
  "str.capitalize": byStrings(STRING, capitalized),
  "str.title": byStrings(STRING, (text) => text.replace(/[\p{Lu}\p{Ll}\p{Lt}]+/gu, capitalized)),
  "str.swapCase": byStrings(STRING, (text) =>
    text.replace(/[\p{Lu}\p{Ll}\p{Lt}]/gu, (letter) => (/\p{Ll}/u.test(letter) ? letter.toUpperCase() : letter.toLowerCase())),
  ),
  "str.trim": trimmed((text) => text.trim(), true, true),
  "str.trimStart": trimmed((text) => text.trimStart(), true, false),
  "str.trimEnd": trimmed((text) => text.trimEnd(), false, true),
  "str.contains": contains,
  "str.startsWith": atEdge(false),
  "str.endsWith": atEdge(true),
  // By a function, as `$` means something in a replacement.
  "str.replace": byStrings(STRING, (text, [from, to]) => text.replaceAll(from as string, () => to as string)),
  "str.slice": byStrings(STRING, (text, [start, end]) => text.slice(start as number, end as number | undefined)),
  "str.split": byStrings(TEXTS, (text, [separator]) => text.split(separator as string)),
  "str.padStart": byStrings(STRING, (text, [size, fill]) => text.padStart(size as number, fill as string)),
  "str.padEnd": byStrings(STRING, (text, [size, fill]) => text.padEnd(size as number, fill as string)),
  "str.center": byStrings(STRING, (text, [size, fill]) => centered(text, size as number, fill as string)),
  "str.reverse": byStrings(STRING, (text) => Array.from(text).reverse().join("")),
  "str.repeat": byStrings(STRING, (text, [times]) => text.repeat(times as number)),
  "str.find": byStrings(INT32, (text, [part]) => text.indexOf(part as string)),
  "str.count": byStrings(INT32, (text, [part]) => text.split(part as string).length - 1),
  "str.replaceSlice": byStrings(STRING, (text, [start, end, by]) => {
    const head = text.slice(0, start as number);
    return `${head}${by as string}${text.slice(Math.max(head.length, placeIn(text, end as number)))}`;
  }),
  "str.splitWhitespace": byStrings(TEXTS, (text) => text.split(/\s+/u)),
  "str.matchLike": byPrepared(BOOL, ([pattern]) => likeTest(pattern as string)),
  "str.matchRegex": byStrings(BOOL, (text, [pattern]) => text.search(pattern as RegExp) >= 0),
  "str.findRegex": byStrings(INT32, (text, [pattern]) => text.search(pattern as RegExp)),
  "str.countRegex": byStrings(INT32, (text, [pattern]) => text.match(pattern as RegExp)?.length ?? 0),
  "str.replaceRegex": byStrings(STRING, (text, [pattern, to]) => text.replace(pattern as RegExp, to as string)),
  "str.splitRegex": byPrepared(TEXTS, ([pattern]) => {
    const perPart = 1 + groupsOf(pattern as RegExp).length;
    // `split` puts the groups' matches between the parts.
    return (text) => text.split(pattern as RegExp).filter((_, i) => i % perPart === 0);
  }),
  "str.extract": (inputs, length, args) => {
    const pattern = args[0] as RegExp;
    const fields = Object.keys(groupsOf(pattern).groups ?? {}).map((name) => ({ name, type: STRING }));
    // A pattern with the flag g gives no groups to `match`.
    const first = new RegExp(pattern.source, pattern.flags.replace("g", ""));
    const found = (text: string): object | null => {
      const groups = first.exec(text)?.groups;
      return groups === undefined ? null : { ...groups };
    };
    return byStrings({ kind: "struct", fields }, found)(inputs, length, args);
  },
  "str.isAlpha": byStrings(BOOL, (text) => /^\p{L}+$/u.test(text)),
  "str.isAlnum": byStrings(BOOL, (text) => /^[\p{L}\p{N}]+$/u.test(text)),
  "str.isDigit": byStrings(BOOL, (text) => /^[\p{Nd}\p{No}]+$/u.test(text)),
  "str.isDecimal": byStrings(BOOL, (text) => /^\p{Nd}+$/u.test(text)),
  "str.isNumeric": byStrings(BOOL, (text) => /^\p{N}+$/u.test(text)),
  "str.isSpace": byStrings(BOOL, (text) => text !== "" && text.trim() === ""),
  "str.isLower": byStrings(BOOL, (text) => /\p{Ll}/u.test(text) && !/[\p{Lu}\p{Lt}]/u.test(text)),
  "str.isUpper": byStrings(BOOL, (text) => /\p{Lu}/u.test(text) && !/[\p{Ll}\p{Lt}]/u.test(text)),
  "str.isTitle": byStrings(BOOL, (text) => /[\p{Lu}\p{Lt}]/u.test(text) && !NO_TITLE.test(text)),
  "str.isPrintable": byStrings(BOOL, (text) => !/(?! )[\p{C}\p{Z}]/u.test(text)),
  // A character beyond ASCII has more bytes in UTF-8 than units in UTF-16.
  "str.isAscii": byStrings(BOOL, (text) => Buffer.byteLength(text) === text.length),
};

/** A small letter at the beginning of a word, or a capital one behind it. */
const NO_TITLE = /(?<![\p{Lu}\p{Ll}\p{Lt}])\p{Ll}|(?<=[\p{Lu}\p{Ll}\p{Lt}])[\p{Lu}\p{Lt}]/u;

function capitalized(text: string): string {
  const [first = ""] = text;
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
}

/** With the odd unit of padding behind the text. */
function centered(text: string, size: number, fill: string): string {
  return text.padStart(text.length + Math.floor(Math.max(0, size - text.length) / 2), fill).padEnd(size, fill);
}

/** Without white space at the ends, or without the characters of the argument where there is one. */
function trimmed(ofSpace: (text: string) => string, atStart: boolean, atEnd: boolean): Kernel {
  return byPrepared(STRING, ([characters]) => {
    if (characters === undefined) return ofSpace;
    const cut = new Set(characters as string);
    return (text) => {
      const kept = Array.from(text);
      let [start, end] = [0, kept.length];
      if (atStart) while (start < end && cut.has(kept[start] as string)) start += 1;
      if (atEnd) while (end > start && cut.has(kept[end - 1] as string)) end -= 1;
      return kept.slice(start, end).join("");
    };
  });
}

/** A place that counts from the end where it is negative. */
function placeIn({ length }: string, place: number): number {
  return Math.min(length, place < 0 ? Math.max(0, length + place) : place);
}
