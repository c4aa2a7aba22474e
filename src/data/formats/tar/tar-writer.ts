/** Files of a tar archive in the form of ustar; a name that this form does not hold gets an extended header of pax. */
import { TAR_BLOCK_LENGTH } from "./tar-reader.ts";

const USTAR_NAME_BYTES_MAX = 100;

/** The header of a file. Owners and times are left out, so that equal rows make equal archives. */
export function tarHeader(name: string, size: number): Uint8Array {
  const bytes = Buffer.from(name);
  if (bytes.length <= USTAR_NAME_BYTES_MAX && bytes.every((byte) => byte < 0x80)) return header(bytes, size, "0");
  const record = paxRecord("path", name);
  return Buffer.concat([
    header(Buffer.from("PaxHeaders"), record.length, "x"),
    record,
    tarPadding(record.length),
    header(bytes.subarray(0, USTAR_NAME_BYTES_MAX), size, "0"),
  ]);
}

/** Zeros that fill the last block of a file. */
export function tarPadding(size: number): Uint8Array {
  return new Uint8Array((TAR_BLOCK_LENGTH - (size % TAR_BLOCK_LENGTH)) % TAR_BLOCK_LENGTH);
}

/** The end of an archive. */
export function tarEnd(): Uint8Array {
  return new Uint8Array(2 * TAR_BLOCK_LENGTH);
}

function header(name: Uint8Array, size: number, kind: "0" | "x"): Buffer {
  const block = Buffer.alloc(TAR_BLOCK_LENGTH);
  block.set(name);
  const octal = (value: number, start: number, digits: number): void => {
    block.write(value.toString(8).padStart(digits, "0"), start, "latin1");
  };
  octal(0o644, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size, 124, 11);
  octal(0, 136, 11);
  block.write("        ", 148, "latin1");
  block.write(kind, 156, "latin1");
  block.write("ustar\x0000", 257, "latin1");
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  block.write("\0 ", 154, "latin1");
  return block;
}

/** The length of a record counts its own digits. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return Buffer.from(`${length} ${key}=${value}\n`);
}
