/**
 * Results of an `imap` that can be computed before anybody reads them: `join` of a pool has accepted work finished.
 *
 * Owns the iteration. Its reader takes results one by one, as they are computed; `finish` computes all of the others and keeps them for
 * that reader. A failure is kept at its place.
 */
export class KeptResults<R> {
  readonly #results: AsyncGenerator<R, void, undefined>;
  readonly #kept: Promise<IteratorResult<R, void>>[] = [];
  readonly #onEnd: () => void;

  /** @param onEnd - called when the reader has all results, or wants no more */
  constructor(results: AsyncGenerator<R, void, undefined>, onEnd: () => void) {
    this.#results = results;
    this.#onEnd = onEnd;
  }

  async *read(): AsyncGenerator<R, void, undefined> {
    try {
      for (;;) {
        const step = await (this.#kept.shift() ?? this.#results.next());
        if (step.done === true) return;
        yield step.value;
      }
    } finally {
      this.#onEnd();
      await this.#results.return();
    }
  }

  /** Computes the results that have not been read. Never rejects: the reader gets the failure. */
  async finish(): Promise<void> {
    for (let isOver = false; !isOver; ) {
      const step = this.#results.next();
      this.#kept.push(step);
      isOver = await step.then(
        ({ done }) => done === true,
        () => true,
      );
    }
  }
}
