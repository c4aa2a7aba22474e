/**
 * Texts of any encoding as UTF-8, which the parsers of CSV and of lines take.
 *
 * UTF-8 passes as it is. A byte order mark at the beginning of a file goes before the encoding that was asked for, as in the Encoding Standard, so files of Excel ("Unicode text") need
 * no option. Texts are decoded in pieces of whole characters: that says where a byte is wrong, and decoders of some versions of Node refuse characters that are cut.
 */
import { badUtf8At } from "../../../storage/utf8.ts";
import { DataError } from "../../errors.ts";

export const UTF8 = "utf-8";

/** Characters of two bytes and more, none of whose later bytes is below `0`. */
const MULTI_BYTE = ["gbk", "gb18030", "big5", "euc-jp", "shift_jis", "euc-kr"];

/** Code pages of DOS, in which Excel's "CSV (MS-DOS)" is written and which `TextDecoder` does not have: the characters of their bytes from 128 on. */
const DOS_PAGES: Readonly<Record<string, string>> = {
  ibm437:
    "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0",
  ibm850:
    "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0",
  ibm852:
    "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u00ad˝˛ˇ˘§÷¸°¨˙űŘř■\u00a0",
};

/** The meaning of bytes depends on all before them. */
const WITH_STATES = "iso-2022-jp";

/** Names of the Encoding Standard. Each has others, such as `latin1`, which is read as windows-1252 there, and `utf-16`. */
export const ENCODINGS: readonly string[] = [
  UTF8,
  "utf-16le",
  "utf-16be",
  ...[1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258, 874].map((page) => `windows-${page}`),
  ...[2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15].map((part) => `iso-8859-${part}`),
  "koi8-r",
  "koi8-u",
  "ibm866",
  ...Object.keys(DOS_PAGES),
  "macintosh",
  "x-mac-cyrillic",
  ...MULTI_BYTE,
  WITH_STATES,
];

interface Decoder {
  readonly encoding: string;
  /** Decodes bytes, with U+FFFD for those outside the encoding. Absent where there are none. */
  decodeLoosely?(bytes: Uint8Array): string;
  /** Decodes bytes. @throws for bytes outside the encoding */
  decode(bytes: Uint8Array): string;
}

/** The decoder of a name or of another label; undefined where there is none. Marks are left to their texts. */
function decoderOf(label: string): Decoder | undefined {
  const page = label.trim().toLowerCase().replace(/^cp/, "ibm");
  if (Object.hasOwn(DOS_PAGES, page)) return dosDecoder(page, DOS_PAGES[page] as string);
  try {
    const decoder = new TextDecoder(label, { fatal: true, ignoreBOM: true });
    if (!ENCODINGS.includes(decoder.encoding)) return undefined;
    const loose = new TextDecoder(label, { ignoreBOM: true });
    return {
      encoding: decoder.encoding,
      decode: (bytes) => decoder.decode(bytes),
      decodeLoosely: (bytes) => loose.decode(bytes),
    };
  } catch {
    return undefined;
  }
}

function dosDecoder(encoding: string, upper: string): Decoder {
  const decode = (bytes: Uint8Array): string => {
    // Each byte becomes the character of the same number; the upper half is then replaced.
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      .toString("latin1")
      .replace(/[\u0080-\u00ff]/g, (character) => upper.charAt(character.charCodeAt(0) - 128));
  };
  return { encoding, decode };
}

export function isEncoding(label: string): boolean {
  return decoderOf(label) !== undefined;
}

/** A text in UTF-8, and what it was. */
interface Utf8Text {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The encoding of the file: the bytes are at other places there if it is not UTF-8. */
  readonly encoding: string;
}

/**
 * Detects the encoding at the beginning of a file. Bytes of UTF-8 are not checked here.
 *
 * @param label - the encoding, unless the file itself declares one
 * @param onReplaced - told how many characters stand for bytes outside the encoding. Default: such bytes are errors
 * @throws DataError for an unknown label and, during the read, for bytes outside the encoding
 */
export async function utf8Text(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  label: string,
  onReplaced?: (count: number) => void,
): Promise<Utf8Text> {
  const asked = decoderOf(label);
  if (asked === undefined)
    throw new DataError(`There is no encoding ${JSON.stringify(label)}`, { hint: `there are ${ENCODINGS.join(", ")}` });
  const rest = chunks[Symbol.asyncIterator]();
  let head: Uint8Array = new Uint8Array(0);
  try {
    while (head.length < 3) {
      const { value, done } = await rest.next();
      if (done === true) break;
      head = joined([head, value]);
    }
  } catch (error) {
    await rest.return?.();
    throw error;
  }
  const mark = MARKS.find(({ bytes }) => bytes.every((byte, i) => head[i] === byte));
  const decoder = mark === undefined ? asked : (decoderOf(mark.encoding) as Decoder);
  const { encoding } = decoder;
  // The mark of UTF-8 is left to the parser, which counts its bytes.
  if (encoding === UTF8) {
    const bytes = following(head, rest);
    return onReplaced === undefined ? { chunks: bytes, encoding } : { chunks: repaired(bytes, onReplaced), encoding: REPAIRED };
  }
  const origin = mark?.bytes.length ?? 0;
  return { chunks: decoded(following(head.subarray(origin), rest), decoder, { file, origin, onReplaced }), encoding };
}

const MARKS = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: UTF8 },
  { bytes: [0xff, 0xfe], encoding: "utf-16le" },
  { bytes: [0xfe, 0xff], encoding: "utf-16be" },
];

async function* following(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    if (first.length > 0) yield first;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** Places in the text are no places in the file any more. */
const REPAIRED = "utf-8 with replacements";

/** UTF-8 in pieces of whole characters, with U+FFFD for bytes that are none. */
async function* repaired(
  chunks: AsyncIterable<Uint8Array>,
  onReplaced: (count: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const decoder = new TextDecoder(UTF8, { ignoreBOM: true });
  let held: Uint8Array = new Uint8Array(0);
  const piece = (bytes: Uint8Array): Uint8Array => {
    if (badUtf8At(bytes) < 0) return bytes;
    const before = countOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1"), "\u00ef\u00bf\u00bd");
    const text = decoder.decode(bytes);
    onReplaced(countOf(text, "\ufffd") - before);
    return Buffer.from(text);
  };
  for await (const chunk of chunks) {
    const bytes = held.length === 0 ? chunk : joined([held, chunk]);
    const end = wholeCharacters(bytes);
    held = bytes.subarray(end);
    if (end > 0) yield piece(bytes.subarray(0, end));
  }
  if (held.length > 0) yield piece(held);
}

/** Where a character that is cut off begins at the end of UTF-8; the length where none is. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function countOf(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}

interface Place {
  readonly file: string;
  /** The first byte's place in the file. */
  readonly origin: number;
  readonly onReplaced: ((count: number) => void) | undefined;
}

async function* decoded(
  chunks: AsyncIterable<Uint8Array>,
  decoder: Decoder,
  { file, origin, onReplaced }: Place,
): AsyncGenerator<Uint8Array, void, undefined> {
  let at = origin;
  let held: Uint8Array[] = [];
  const textOf = (piece: Uint8Array): Uint8Array => {
    try {
      return Buffer.from(decoder.decode(piece));
    } catch (error) {
      if (onReplaced !== undefined && decoder.decodeLoosely !== undefined) {
        const text = decoder.decodeLoosely(piece);
        onReplaced(countOf(text, "\ufffd"));
        return Buffer.from(text);
      }
      const bad = Math.min(badCharacterAt(piece, decoder), piece.length - 1);
      const byte = (piece[bad] as number).toString(16).padStart(2, "0");
      throw new DataError(`Cannot read ${file}: byte ${at + bad} (0x${byte}) is no ${decoder.encoding}`, {
        cause: error,
        hint: 'name the encoding that the file has by the option encoding; encodingErrors: "replace" reads such bytes as U+FFFD, and counts them',
      });
    }
  };
  for await (const chunk of chunks) {
    held.push(chunk);
    // Files in ISO-2022-JP are letters, and are held whole.
    if (decoder.encoding === WITH_STATES) continue;
    const bytes = joined(held);
    const end = borderIn(bytes, decoder.encoding);
    if (end > 0) yield textOf(bytes.subarray(0, end));
    at += end;
    held = end === bytes.length ? [] : [bytes.subarray(end)];
  }
  const last = joined(held);
  if (last.length > 0) yield textOf(last);
}

/** The last place where a character begins or ends for sure, in bytes that begin with one; 0 where there is none. */
function borderIn(bytes: Uint8Array, encoding: string): number {
  if (encoding === WITH_STATES) return 0;
  if (encoding.startsWith("utf-16")) {
    const even = bytes.length - (bytes.length % 2);
    const high = bytes[encoding === "utf-16le" ? even - 1 : even - 2];
    return high !== undefined && (high & 0xfc) === 0xd8 ? even - 2 : even;
  }
  return MULTI_BYTE.includes(encoding) ? bytes.findLastIndex((byte) => byte < 0x30) + 1 : bytes.length;
}

/** Finds the first bytes that decode to no character: halves the range between two borders, then steps by single characters. */
function badCharacterAt(bytes: Uint8Array, decoder: Decoder): number {
  const isText = (start: number, end: number): boolean => {
    try {
      decoder.decode(bytes.subarray(start, end));
      return true;
    } catch {
      return false;
    }
  };
  let good = 0;
  for (let bad = bytes.length; bad - good > 1; ) {
    const middle = good + borderIn(bytes.subarray(good, (good + bad) >> 1), decoder.encoding);
    if (middle === good) break;
    if (isText(good, middle)) good = middle;
    else bad = middle;
  }
  for (;;) {
    const length = [1, 2, 3, 4].find((count) => good + count <= bytes.length && isText(good, good + count));
    if (length === undefined) return good;
    good += length;
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}
