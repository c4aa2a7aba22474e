/**
 * Receives the bytes of one object from another node: checks each chunk and writes it to its place.
 *
 * Bytes for memory are written as they arrive, without being gathered. Bytes for disk are written chunk by chunk beside the event loop. A chunk out of order
 * or with a wrong checksum is damage. Written chunks are reported in order. The extent is abandoned only after the writes under way. The receiver's shell
 * calls this file.
 */
import { asError } from "../../base/texts/describe.ts";
import { checksumOf } from "../../os/digest.ts";
import type { ObjectExtent } from "../arenas/object-extent.ts";
import type { ChunkHead } from "./chunk-parser.ts";

export type Arrival = { kind: "stored"; sizeBytes: number } | { kind: "damaged" } | { kind: "full"; error: Error };

export class IncomingObject {
  readonly extent: ObjectExtent;
  readonly #checks: boolean;
  readonly #onArrival: (pull: number, arrival: Arrival) => void;
  /** The number of the pull at the present source. */
  #pull = 0;
  /** Where the next byte belongs. */
  #offset = 0;
  #checksum = 0;
  #gathered: Buffer | undefined;
  #writes: Promise<void> = Promise.resolve();
  #writing = 0;
  #isAbandoned = false;

  constructor(extent: ObjectExtent, options: { checks: boolean; onArrival: (pull: number, arrival: Arrival) => void }) {
    this.extent = extent;
    this.#checks = options.checks;
    this.#onArrival = options.onArrival;
  }

  /** From now on that pull brings the bytes, from there on. */
  begin(pull: number, offset: number): void {
    this.#pull = pull;
    this.#offset = offset;
    this.#checksum = 0;
    this.#gathered = undefined;
  }

  bytes(head: ChunkHead, offset: number, bytes: Uint8Array): void {
    if (head.pull !== this.#pull || this.#isAbandoned) return;
    const { location } = this.extent;
    if (offset !== this.#offset || head.offset + head.sizeBytes > location.sizeBytes) {
      this.#arrived({ kind: "damaged" });
      return;
    }
    this.#offset += bytes.byteLength;
    if (this.#checks) this.#checksum = checksumOf(bytes, this.#checksum);
    if (location.kind === "memory") {
      this.#write(offset, bytes);
      return;
    }
    this.#gathered ??= Buffer.allocUnsafeSlow(head.sizeBytes);
    this.#gathered.set(bytes, offset - head.offset);
  }

  end(head: ChunkHead): void {
    if (head.pull !== this.#pull || this.#isAbandoned) return;
    const isWhole = this.#offset === head.offset + head.sizeBytes && (!this.#checks || this.#checksum === head.checksum);
    const gathered = this.#gathered;
    this.#checksum = 0;
    this.#gathered = undefined;
    if (!isWhole) this.#arrived({ kind: "damaged" });
    else if (gathered === undefined) this.#onArrival(head.pull, { kind: "stored", sizeBytes: head.sizeBytes });
    else this.#writeLater(head, gathered);
  }

  abandon(): void {
    if (this.#isAbandoned) return;
    this.#isAbandoned = true;
    if (this.#writing === 0) this.extent.abandon();
  }

  #write(offset: number, bytes: Uint8Array): void {
    try {
      this.extent.write(offset, bytes);
    } catch (error) {
      this.#arrived({ kind: "full", error: asError(error) });
    }
  }

  #writeLater({ pull, offset, sizeBytes }: ChunkHead, bytes: Buffer): void {
    this.#writing += 1;
    // The writes come one after the other, so the reported bytes have no gaps.
    this.#writes = this.#writes.then(async () => {
      let arrival: Arrival = { kind: "stored", sizeBytes };
      try {
        if (!this.#isAbandoned) await this.extent.writeLater(offset, bytes);
      } catch (error) {
        arrival = { kind: "full", error: asError(error) };
      }
      this.#writing -= 1;
      if (!this.#isAbandoned) this.#onArrival(pull, arrival);
      else if (this.#writing === 0) this.extent.abandon();
    });
  }

  /** Nothing more is heard of this pull. */
  #arrived(arrival: Arrival): void {
    const pull = this.#pull;
    this.#pull = 0;
    this.#onArrival(pull, arrival);
  }
}
