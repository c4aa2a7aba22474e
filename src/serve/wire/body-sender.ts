/**
 * Sending end of one direction of a stream: sends pieces of a body as long as the other end has given credit for them.
 * Messages of a WebSocket need credit, too; each goes in one frame.
 *
 * Owns the bytes that wait for credit, which are at most what one `write` brought: a writer waits for its promise before it brings more. Frames keep their order.
 */
import { BODY_PIECE_BYTES } from "../limits.ts";
import type { Message } from "./frames.ts";

export class BodySender {
  readonly #send: (bytes: Uint8Array) => void;
  #credit: number;
  #waiting: (() => void)[] = [];
  #isStopped = false;

  /**
   * @param send puts one piece into a frame; the bytes are copied before it returns
   * @param credit what may be sent before the other end says anything
   */
  constructor(send: (bytes: Uint8Array) => void, credit: number) {
    this.#send = send;
    this.#credit = credit;
  }

  /**
   * Sends all of it, and waits for credit where that is used up.
   *
   * @returns false where the other end wants no more
   */
  write(bytes: Uint8Array): boolean | Promise<boolean> {
    if (this.#isStopped) return false;
    if (this.#credit <= 0 || bytes.byteLength > BODY_PIECE_BYTES) return this.#writePieces(bytes);
    this.#credit -= bytes.byteLength;
    this.#send(bytes);
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

  /** Ends the sending: the rest is dropped, and further writes return false. */
  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }

  async #writePieces(bytes: Uint8Array): Promise<boolean> {
    for (let offset = 0; offset < bytes.byteLength; offset += BODY_PIECE_BYTES) {
      // Without a turn of its own for each piece.
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
