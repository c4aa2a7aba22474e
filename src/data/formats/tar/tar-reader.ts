/**
 * The files in a tar archive, one after the other: ustar, GNU's long names, and the extended headers of pax.
 *
 * Folders, links and devices are left out. Nothing is unpacked to disk: names are for keys and columns alone.
 * Each file is held whole, so its size is limited before its bytes are read.
 */
import { DataError } from "../../errors.ts";
import { RECORD_BYTES_MAX } from "../../limits.ts";
import type { ByteWindow } from "../byte-window.ts";

export const TAR_BLOCK_LENGTH = 512;

interface TarEntry {
  readonly name: string;
  /** A copy, which the reader may keep. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Fields of an extended header, for the file behind that header. */
interface Extended {
  path?: string;
  size?: number;
}

/** @throws DataError for anything but a whole tar archive */
export async function* tarEntries(window: ByteWindow): AsyncGenerator<TarEntry, void, undefined> {
  let extended: Extended = {};
  let common: Extended = {};
  for (;;) {
    await window.fill(TAR_BLOCK_LENGTH);
    if (window.length === 0) return;
    const at = window.offsetOf(window.start);
    if (window.length < TAR_BLOCK_LENGTH) throw cutOff(window, at);
    const header = Buffer.from(window.bytes.buffer, window.bytes.byteOffset + window.start, TAR_BLOCK_LENGTH);
    // Blocks of zeros end an archive; the bytes behind them fill the last block of a tape.
    if (header.every((byte) => byte === 0)) return;
    checkHeader(header, window.file, at);
    const kind = String.fromCharCode(header[156] as number);
    const isHeader = kind === "x" || kind === "g" || kind === "L" || kind === "K";
    const size = (isHeader ? undefined : (extended.size ?? common.size)) ?? numberAt(header, 124, 12);
    const name = extended.path ?? common.path ?? nameOf(header);
    if (!(size >= 0 && size <= RECORD_BYTES_MAX))
      throw new DataError(
        `Cannot read ${window.file}: ${JSON.stringify(name)} at byte ${at} is too large: received ${size} bytes, at most ${RECORD_BYTES_MAX} are read`,
      );
    const bytes = await contents(window, size, at);
    const text = (): string => new TextDecoder().decode(bytes);
    if (kind === "x") extended = paxRecords(text(), window.file, at);
    else if (kind === "g") common = paxRecords(text(), window.file, at);
    else if (kind === "L") extended = { ...extended, path: text().replace(/\0.*$/s, "") };
    else if (kind !== "K") {
      extended = {};
      // "7" is a file that lies in one piece, and "\0" one of before ustar.
      if ((kind === "0" || kind === "7" || kind === "\0") && !name.endsWith("/")) yield { name, bytes };
    }
  }
}

async function contents(window: ByteWindow, size: number, at: number): Promise<Uint8Array<ArrayBuffer>> {
  const padded = Math.ceil(size / TAR_BLOCK_LENGTH) * TAR_BLOCK_LENGTH;
  await window.fill(TAR_BLOCK_LENGTH + padded);
  if (window.length < TAR_BLOCK_LENGTH + size) throw cutOff(window, at);
  const start = window.start + TAR_BLOCK_LENGTH;
  const bytes = window.bytes.slice(start, start + size);
  window.start = Math.min(window.end, start + padded);
  return bytes;
}

function cutOff(window: ByteWindow, at: number): DataError {
  return new DataError(
    `Cannot read ${window.file}: it is cut off in the file at byte ${at}: the archive ends at byte ${at + window.length}`,
    {
      hint: "was it copied to its end?",
    },
  );
}

/** @throws DataError where the checksum of the header differs */
function checkHeader(header: Buffer, file: string, at: number): void {
  let sum = 0;
  for (let i = 0; i < TAR_BLOCK_LENGTH; i += 1) sum += i >= 148 && i < 156 ? 32 : (header[i] as number);
  if (sum === numberAt(header, 148, 8)) return;
  const isGzip = at === 0 && header[0] === 0x1f && header[1] === 0x8b;
  throw new DataError(`Cannot read ${file}: byte ${at} begins no file of a tar archive: the checksum of its header differs`, {
    hint: isGzip ? "the archive is compressed by gzip: give it a name that ends in .tar.gz" : "see whether the archive is whole",
  });
}

/** A number in octal digits, or one of 64 bits as GNU writes large ones. */
function numberAt(header: Buffer, start: number, length: number): number {
  if (((header[start] as number) & 0x80) !== 0) return Number(header.readBigInt64BE(start + length - 8));
  const text = header
    .toString("latin1", start, start + length)
    .replace(/\0.*$/s, "")
    .trim();
  return text === "" ? 0 : /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
}

function nameOf(header: Buffer): string {
  const text = (start: number, length: number): string => header.toString("utf8", start, start + length).replace(/\0.*$/s, "");
  const isUstar = header.toString("latin1", 257, 263) === "ustar\0";
  const prefix = isUstar ? text(345, 155) : "";
  return prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`;
}

/** Records of pax: `<length> <key>=<value>\n`, the length in bytes. */
function paxRecords(text: string, file: string, at: number): Extended {
  const found: Extended = {};
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length && bytes[start] !== 0; ) {
    const [, digits = ""] = /^(\d+) /.exec(bytes.toString("latin1", start, start + 20)) ?? [];
    const length = Number(digits);
    if (digits === "" || length <= digits.length + 1 || start + length > bytes.length)
      throw new DataError(`Cannot read ${file}: the extended header at byte ${at} is damaged`, { hint: "write the archive again" });
    const [, key, value = ""] = /^([^=]*)=(.*)\n$/s.exec(bytes.toString("utf8", start + digits.length + 1, start + length)) ?? [];
    if (key === "path") found.path = value;
    if (key === "size") found.size = Number(value);
    start += length;
  }
  return found;
}
