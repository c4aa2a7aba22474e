/**
 * A result that is read in pieces: a file without a name, so that no death leaves anything behind.
 *
 * A heap snapshot may exceed the daemon's memory. Owned by `node-inspections.ts`.
 */
import { open, unlink, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { temporaryRoot } from "../files/sessions/temporary-folder.ts";
import { randomHex } from "../random.ts";
import { RESULT_BYTES_MAX } from "./limits.ts";

export class ResultFile implements AsyncDisposable {
  readonly #file: FileHandle;
  #size = 0;

  /** @throws Error where the temporary folder cannot be written */
  static async create(): Promise<ResultFile> {
    const path = join(temporaryRoot(), `shoal-result-${randomHex(16)}`);
    const file = await open(path, "wx+", 0o600);
    await unlink(path);
    return new ResultFile(file);
  }

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  get sizeBytes(): number {
    return this.#size;
  }

  async write(text: string): Promise<void> {
    const bytes = Buffer.from(text, "utf8");
    if (this.#size + bytes.length > RESULT_BYTES_MAX) throw new Error(`the result has more than ${RESULT_BYTES_MAX} bytes`);
    const at = this.#size;
    this.#size += bytes.length;
    for (let done = 0; done < bytes.length; ) done += (await this.#file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
  }

  async read(at: number, bytesMax: number): Promise<Uint8Array> {
    const bytes = Buffer.alloc(Math.max(0, Math.min(bytesMax, this.#size - at)));
    const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, at);
    return bytes.subarray(0, bytesRead);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}
