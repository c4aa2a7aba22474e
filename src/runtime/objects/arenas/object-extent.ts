/**
 * Room in the store for one object whose bytes come piece by piece, as those of a copy from another node do.
 *
 * Decides how a piece is written: into memory at once, which is a copy of bytes; to disk beside the event loop, as a disk may take its time. Nobody
 * reads the object before `seal`; `abandon` gives the room back. Made by the arena writer, owned by whoever fetches the object. Exactly one of the two ends is called,
 * after the last write has ended.
 */
import { writeAt } from "../../os/files/store/positioned-io.ts";
import type { StoreFile } from "../../os/files/store/store-file.ts";
import type { ObjectLocation } from "./layout.ts";

export class ObjectExtent {
  readonly location: ObjectLocation;
  readonly #file: StoreFile;
  #onDone: ((isSealed: boolean) => void) | undefined;

  constructor(location: ObjectLocation, file: StoreFile, onDone: (isSealed: boolean) => void) {
    this.location = location;
    this.#file = file;
    this.#onDone = onDone;
  }

  /** @throws ENOSPC when the file system is full */
  write(offset: number, bytes: Uint8Array): void {
    this.#file.write(this.#placeOf(offset, bytes), [bytes]);
  }

  /** Beside the event loop; the bytes are left alone until then. @throws ENOSPC when the disk is full */
  async writeLater(offset: number, bytes: Uint8Array): Promise<void> {
    await writeAt(this.#file.fd, bytes, this.#placeOf(offset, bytes));
  }

  seal(): void {
    this.#done(true);
  }

  abandon(): void {
    this.#done(false);
  }

  #placeOf(offset: number, bytes: Uint8Array): number {
    const { sizeBytes } = this.location;
    // Bytes from a connection must not reach a neighbour's pages, whatever its header promised.
    if (!(offset >= 0 && offset + bytes.byteLength <= sizeBytes)) {
      throw new RangeError(`Cannot write a piece of an object: it has ${sizeBytes} bytes: received ${bytes.byteLength} bytes at ${offset}`);
    }
    return this.location.offset + offset;
  }

  #done(isSealed: boolean): void {
    const onDone = this.#onDone;
    this.#onDone = undefined;
    onDone?.(isSealed);
  }
}
