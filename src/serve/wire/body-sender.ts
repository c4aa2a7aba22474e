/**
 * The sending end of one direction of a stream: sends pieces of a body while the other end gives credit. Messages of a WebSocket need credit, too; each is one
 * frame.
 *
 * Owns the bytes that wait for credit, at most those of one `write`: a writer awaits its promise before the next. Frames keep their order. A gathering sender also
 * holds small pieces until the turn of the event loop ends: the pieces of one turn are one frame instead of a thousand. Nothing is delayed, because the frames of a
 * turn leave together anyway.
 */
import { BODY_PIECE_BYTES, GATHERED_PIECES_BYTES, KEPT_GATHER_BYTES } from "../limits.ts";
import type { Message } from "./frames.ts";

export class BodySender {
  readonly #send: (bytes: Uint8Array) => void;
  #credit: number;
  #waiting: (() => void)[] = [];
  #isStopped = false;
  readonly #gather: (() => void) | undefined;
  #gathered: Buffer | undefined;
  #gatheredSize = 0;

  /**
   * @param send puts one piece into a frame; the bytes are copied before it returns
   * @param credit what may be sent before the other end says anything
   * @param gather asks for a call of `flush` at the end of the turn. Default: each piece goes out by itself
   */
  constructor(send: (bytes: Uint8Array) => void, credit: number, gather?: () => void) {
    this.#send = send;
    this.#credit = credit;
    this.#gather = gather;
  }

  /**
   * Sends bytes, and waits if the credit is used up.
   *
   * @returns false if the other end wants no more
   */
  write(bytes: Uint8Array): boolean | Promise<boolean> {
    if (this.#isStopped) return false;
    const size = bytes.byteLength;
    if (this.#credit <= 0 || size > BODY_PIECE_BYTES) {
      this.flush();
      return this.#writePieces(bytes);
    }
    this.#credit -= size;
    if (this.#gatheredSize + size > GATHERED_PIECES_BYTES) this.flush();
    if (this.#gather === undefined || size > GATHERED_PIECES_BYTES) this.#send(bytes);
    else this.#keep(bytes, this.#gather);
    return true;
  }

  /**
   * Sends a message in one frame, as soon as there is credit at all; it may use more than there is.
   *
   * @returns false where the other end wants no more
   */
  writeMessage(message: Message, send: (message: Message) => void): boolean | Promise<boolean> {
    if (this.#isStopped) return false;
    if (this.#credit <= 0) return this.ready().then((isWanted) => isWanted && this.writeMessage(message, send));
    this.#credit -= message.byteLength;
    send(message);
    return true;
  }

  /** Waits for the first credit. @returns false where the other end wants nothing */
  async ready(): Promise<boolean> {
    while (this.#credit <= 0 && !this.#isStopped) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return !this.#isStopped;
  }

  credited(bytes: number): void {
    this.#credit += bytes;
    if (this.#credit > 0) this.#wake();
  }

  /** Sends the gathered pieces. */
  flush(): void {
    if (this.#gatheredSize === 0) return;
    const buffer = this.#gathered as Buffer;
    this.#send(buffer.subarray(0, this.#gatheredSize));
    this.#gatheredSize = 0;
    if (buffer.length > KEPT_GATHER_BYTES) this.#gathered = undefined;
  }

  /** Ends the sending: the rest is dropped, and further writes return false. */
  stop(): void {
    this.#isStopped = true;
    this.#gatheredSize = 0;
    this.#wake();
  }

  #keep(bytes: Uint8Array, gather: () => void): void {
    const offset = this.#gatheredSize;
    const size = offset + bytes.byteLength;
    if (offset === 0) gather();
    if (this.#gathered === undefined || this.#gathered.length < size) {
      const larger = Buffer.allocUnsafe(Math.min(GATHERED_PIECES_BYTES, Math.max(256, size * 2)));
      if (offset > 0) larger.set((this.#gathered as Buffer).subarray(0, offset));
      this.#gathered = larger;
    }
    this.#gathered.set(bytes, offset);
    this.#gatheredSize = size;
  }

  async #writePieces(bytes: Uint8Array): Promise<boolean> {
    for (let offset = 0; offset < bytes.byteLength; offset += BODY_PIECE_BYTES) {
      // No separate turn of the event loop for each piece.
      if (this.#isStopped || (this.#credit <= 0 && !(await this.ready()))) return false;
      const piece = bytes.subarray(offset, Math.min(offset + BODY_PIECE_BYTES, bytes.byteLength));
      this.#credit -= piece.byteLength;
      this.#send(piece);
    }
    return true;
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
