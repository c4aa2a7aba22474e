/** From a callback to an async iterable: an engine's library pushes tokens, and the request takes them. */
import { Fifo } from "../../../core/internal.ts";
import type { Token } from "../engine.ts";

export class TokenQueue {
  readonly #tokens = new Fifo<Token>();
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  push(token: Token): void {
    this.#tokens.push(token);
    this.#wake?.();
  }

  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** Bound: it is passed on as a callback. */
  readonly fail = (error: unknown): void => {
    this.#failure = { error };
    this.end();
  };

  async *[Symbol.asyncIterator](): AsyncGenerator<Token, void, undefined> {
    for (;;) {
      const token = this.#tokens.shift();
      if (token !== undefined) yield token;
      else if (this.#failure !== undefined) throw this.#failure.error;
      else if (this.#isOver) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
