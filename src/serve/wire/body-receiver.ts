/**
 * Receiving end of one direction of a stream: buffers pieces until the reader takes them, and credits the taken bytes to the sender.
 * Pieces are bytes of a body, or messages of a WebSocket.
 *
 * Owns at most `STREAM_WINDOW_BYTES` and one piece: an honest sender never has more under way. Read by one reader, as an async iterator or piece by piece.
 */
import { Fifo } from "../../core/internal.ts";
import { STREAM_CREDIT_BYTES } from "../limits.ts";

type Trailers = readonly string[];

/** `P` is bytes, or a `Message`. */
export class BodyReceiver<P extends { readonly byteLength: number } = Uint8Array> implements AsyncIterable<P> {
  readonly #credit: (bytes: number) => void;
  readonly #pieces = new Fifo<P>();
  #taken = 0;
  #isEnded = false;
  #failure: Error | undefined;
  #waiting: (() => void) | undefined;
  /** Headers that came after the body. */
  trailers: Trailers = [];
  /** Called after the last bytes have arrived; some may still be unread. */
  onOver: (() => void) | undefined;

  /** @param credit tells the sender that it may send so many bytes more */
  constructor(credit: (bytes: number) => void) {
    this.#credit = credit;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** A piece has come; the bytes are this receiver's from now on. */
  arrived(piece: P): void {
    if (this.#isEnded || piece.byteLength === 0) return;
    this.#pieces.push(piece);
    this.#wake();
  }

  ended(trailers: Trailers): void {
    if (this.#isEnded) return;
    this.trailers = trailers;
    this.#isEnded = true;
    this.onOver?.();
    this.#wake();
  }

  /** Ends the body with an error. Received bytes can still be read. */
  failed(error: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#failure = error;
    this.#wake();
  }

  /** The next piece; undefined at the end. @throws what `failed` was given */
  async next(): Promise<P | undefined> {
    while (this.#pieces.size === 0) {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#isEnded) return undefined;
      await new Promise<void>((resolve) => (this.#waiting = resolve));
    }
    const piece = this.#pieces.shift() as P;
    this.#taken += piece.byteLength;
    if (this.#taken >= STREAM_CREDIT_BYTES && !this.#isEnded) {
      this.#credit(this.#taken);
      this.#taken = 0;
    }
    return piece;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<P, void, undefined> {
    for (let piece = await this.next(); piece !== undefined; piece = await this.next()) yield piece;
  }

  #wake(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }
}
