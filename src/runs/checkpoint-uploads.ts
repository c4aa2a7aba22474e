/**
 * Checkpoints that are uploaded while the run goes on: a few at a time, told in the order in which they were reported.
 *
 * A rank that reports faster than its storage takes waits for room, so that neither disk nor memory fills up with what was not sent. Waiting callers receive the first failure, and
 * uploads behind it still end. The reporter owns the uploads and ends them with `drain` or `abort`.
 */
import { UPLOADS_AT_A_TIME } from "./limits.ts";

export class CheckpointUploads {
  readonly #max: number;
  readonly #stop = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  /** Ends when all that were begun so far have been told. */
  #told: Promise<unknown> = Promise.resolve();

  constructor({ max = UPLOADS_AT_A_TIME }: { readonly max?: number } = {}) {
    this.#max = max;
  }

  /**
   * Begins an upload as soon as there is room.
   *
   * @param upload - ends early when its signal aborts
   * @returns once it has begun; `done` settles with it, after those that began before
   */
  async begin<T>(upload: (signal: AbortSignal) => Promise<T>): Promise<{ readonly done: Promise<T> }> {
    while (this.#underWay.size >= this.#max) await Promise.race(this.#underWay);
    this.#stop.signal.throwIfAborted();
    const own = upload(this.#stop.signal);
    const settled = own.then(
      () => undefined,
      () => undefined,
    );
    this.#underWay.add(settled);
    void settled.then(() => this.#underWay.delete(settled));
    const before = this.#told;
    const done = settled.then(() => before).then(() => own);
    this.#told = done.catch(() => undefined);
    // Callers may ignore `done`: its failure must not become an unhandled rejection.
    done.catch(() => undefined);
    return { done };
  }

  /** Waits until all uploads have ended, well or not. */
  async drain(): Promise<void> {
    await this.#told;
  }

  /** Ends all uploads, which leave nothing that is listed. */
  async abort(reason: Error): Promise<void> {
    this.#stop.abort(reason);
    await this.#told;
  }
}
