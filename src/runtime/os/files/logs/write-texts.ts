/**
 * Writes a long text that comes in pieces into a file, no faster than the disk takes them.
 *
 * A name that ends with `.gz` makes a compressed file. A file that could not be written whole is removed, so that none looks complete
 * without being so.
 */
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";

/** @throws Error of the system where the file cannot be written, and the error of a text that breaks off */
export async function writeTexts(path: string, texts: AsyncIterable<string>): Promise<void> {
  const file = createWriteStream(path);
  let isOpen = false;
  file.once("open", () => {
    isOpen = true;
  });
  try {
    if (path.endsWith(".gz")) await pipeline(Readable.from(texts), createGzip(), file);
    else await pipeline(Readable.from(texts), file);
  } catch (error) {
    // A file that could not be opened is another user's, or none.
    if (isOpen) await rm(path, { force: true });
    throw error;
  }
}
