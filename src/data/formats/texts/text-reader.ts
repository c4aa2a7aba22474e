/**
 * Reads text files into blocks: a row a line, in the column `text`, without the newline (LF or CRLF).
 *
 * Lines without any character but spaces are dropped unless options say otherwise. Texts of other encodings come as UTF-8 (`text-encoding.ts`).
 * A byte that is none of the file's encoding is an error that names the file and the place.
 */
import { shownPath } from "../../../storage/paths.ts";
import { readTextChunks } from "../../../storage/read-file.ts";
import type { Block } from "../../blocks/block.ts";
import { STRING } from "../../blocks/data-type.ts";
import { LossSum } from "../../blocks/memory/losses.ts";
import { READ_BLOCK_BYTES } from "../../limits.ts";
import { ByteWindow } from "../byte-window.ts";
import { UTF8, utf8Text } from "./text-encoding.ts";

export interface TextOptions {
  /** Default: true. */
  readonly dropEmptyLines?: boolean;
  /** A name or label of the Encoding Standard. A byte order mark in the file goes before it. Default: `utf-8`. */
  readonly encoding?: string;
  /** Whether bytes outside the encoding are errors or U+FFFD. Default: errors. */
  readonly encodingErrors?: "raise" | "replace";
  /** About the size of a block. Default: 8 MiB. */
  readonly blockBytes?: number;
}

const BYTE_ORDER_MARK_LENGTH = 3;
const LF = 10;
const CR = 13;

/**
 * The lines of a text file. A file without lines gives no block.
 *
 * @throws DataError for bytes that are no text in the encoding
 */
export function readTextFile(path: string, options: TextOptions = {}): AsyncGenerator<Block, void, undefined> {
  return textBlocks(readTextChunks(path), shownPath(path), options);
}

/** {@link readTextFile} for bytes from elsewhere. `file` names them in errors. */
export async function* textBlocks(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  { dropEmptyLines = true, encoding = UTF8, encodingErrors, blockBytes = READ_BLOCK_BYTES }: TextOptions,
): AsyncGenerator<Block, void, undefined> {
  const losses = new LossSum();
  const text = await utf8Text(chunks, file, encoding, losses.replacing(encodingErrors));
  const window = new ByteWindow(text.chunks, file, text.encoding);
  try {
    await window.fill(Math.max(blockBytes, BYTE_ORDER_MARK_LENGTH));
    window.skipByteOrderMark();
    for (;;) {
      window.endLastLine();
      const end = window.bytes.subarray(0, window.end).lastIndexOf(LF) + 1;
      if (end > window.start) {
        window.checkUtf8(end);
        const block = lines(window.bytes, window.start, end, dropEmptyLines);
        window.start = end;
        if (block.rowCount > 0) yield losses.beside(block);
      } else if (!window.isLast) await window.grow();
      if (window.isLast && window.length === 0) break;
      await window.fill(blockBytes);
    }
    yield* losses.rest();
  } finally {
    await window.close();
  }
}

/** The block of the lines from `start` on; `end` is behind a newline. */
function lines(bytes: Uint8Array, start: number, end: number, dropEmptyLines: boolean): Block {
  const values = new Uint8Array(end - start);
  let offsets = new Int32Array(1024);
  let rowCount = 0;
  let length = 0;
  for (let at = start; at < end; ) {
    const newline = bytes.indexOf(LF, at);
    const last = newline > at && bytes[newline - 1] === CR ? newline - 1 : newline;
    if (!dropEmptyLines || !isBlank(bytes, at, last)) {
      values.set(bytes.subarray(at, last), length);
      length += last - at;
      rowCount += 1;
      if (rowCount >= offsets.length) {
        const grown = new Int32Array(offsets.length * 2);
        grown.set(offsets);
        offsets = grown;
      }
      offsets[rowCount] = length;
    }
    at = newline + 1;
  }
  const vector = {
    type: STRING,
    length: rowCount,
    nullCount: 0,
    bitOffset: 0,
    values: values.subarray(0, length),
    offsets: offsets.subarray(0, rowCount + 1),
  };
  return { rowCount, names: ["text"], vectors: [vector] };
}

function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] !== 32 && bytes[at] !== 9) return false;
  return true;
}
