/**
 * TensorFlow's records: each is its length (8 bytes), the masked checksum of that, its bytes, and their masked checksum.
 *
 * Both checksums are compared, so that a damaged file ends the read with the byte. A record is a view that holds until the next one is read.
 */
import { maskedCrc32c } from "../../../storage/compression/crc32c.ts";
import { DataError } from "../../errors.ts";
import { RECORD_BYTES_MAX } from "../../limits.ts";
import type { ByteWindow } from "../byte-window.ts";

const HEADER_BYTES = 12;
const RECORD_CHECKSUM_BYTES = 4;
const GZIP_MAGIC = 0x8b1f;

/** The next record as a view; undefined at the end of the file. @throws DataError for a damaged or cut file */
export async function nextRecord(window: ByteWindow): Promise<Uint8Array | undefined> {
  await window.fill(HEADER_BYTES);
  if (window.length === 0) return undefined;
  const at = window.offsetOf(window.start);
  if (window.length < HEADER_BYTES) throw cutOff(window, at);
  const { bytes, start } = window;
  const header = new DataView(bytes.buffer, bytes.byteOffset + start, HEADER_BYTES);
  if (maskedCrc32c(bytes, start, start + 8) !== header.getUint32(8, true)) throw noRecord(window, at, header);
  const length = Number(header.getBigUint64(0, true));
  if (length > RECORD_BYTES_MAX)
    throw new DataError(
      `Cannot read ${window.file}: the record at byte ${at} is too large: received ${length} bytes, at most ${RECORD_BYTES_MAX} are read`,
    );
  await window.fill(HEADER_BYTES + length + RECORD_CHECKSUM_BYTES);
  if (window.length < HEADER_BYTES + length + RECORD_CHECKSUM_BYTES) throw cutOff(window, at);
  const from = window.start + HEADER_BYTES;
  const end = from + length;
  const stored = new DataView(window.bytes.buffer, window.bytes.byteOffset + end, RECORD_CHECKSUM_BYTES).getUint32(0, true);
  if (maskedCrc32c(window.bytes, from, end) !== stored)
    throw new DataError(`Cannot read ${window.file}: the record at byte ${at} is damaged: its checksum differs`, {
      hint: "copy the file again",
    });
  window.start = end + RECORD_CHECKSUM_BYTES;
  return window.bytes.subarray(from, end);
}

function cutOff(window: ByteWindow, at: number): DataError {
  return new DataError(
    `Cannot read ${window.file}: it is cut off in the record at byte ${at}: the file ends at byte ${at + window.length}`,
    {
      hint: "was it copied to its end?",
    },
  );
}

function noRecord({ file }: ByteWindow, at: number, header: DataView): DataError {
  const isCompressed = at === 0 && header.getUint16(0, true) === GZIP_MAGIC;
  const hint = isCompressed
    ? "the file is compressed by gzip: give it a name that ends in .gz"
    : at === 0
      ? "is it a file of TensorFlow's records?"
      : "copy the file again";
  return new DataError(`Cannot read ${file}: byte ${at} begins no record of TensorFlow: the checksum of its length differs`, { hint });
}

/** The bytes before a record, and those behind. */
export function recordFrame(record: Uint8Array): { readonly before: Uint8Array; readonly behind: Uint8Array } {
  const before = new Uint8Array(HEADER_BYTES);
  const view = new DataView(before.buffer);
  view.setBigUint64(0, BigInt(record.length), true);
  view.setUint32(8, maskedCrc32c(before, 0, 8), true);
  const behind = new Uint8Array(RECORD_CHECKSUM_BYTES);
  new DataView(behind.buffer).setUint32(0, maskedCrc32c(record), true);
  return { before, behind };
}
