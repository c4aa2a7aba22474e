/**
 * When a worker that has become quiet collects garbage: an idle process never does so by itself, and what its tasks have dropped keeps objects in the store.
 *
 * Decides by what was touched last: read from the store as a view, or received as a handle. It may be dropped long after that, as a task may hold its arguments for hours, and nothing tells when. So
 * after the first collection others follow, each after twice the time, as long as something is left that only a collection could end. A worker that keeps a view for good, a model
 * for instance, collects once a minute, and one whose collections are slow for a hundredth of its time at most. Owned by a worker's objects; a driver's collections are its own.
 */
const QUIET_MS = 1000;
const QUIET_MAX_MS = 60_000;
/** Of the time of a quiet worker: collections. */
const PART_OF_TIME = 0.01;

interface QuietCollectorOptions {
  readonly collect: () => void;
  /** Whether there is anything that may turn out to be garbage. */
  readonly isKeeping: () => boolean;
  readonly nowMs: () => number;
}

export class QuietCollector {
  readonly #options: QuietCollectorOptions;
  #timer: NodeJS.Timeout | undefined;
  #isTouched = false;
  #quietMs = QUIET_MS;

  constructor(options: QuietCollectorOptions) {
    this.#options = options;
  }

  /** Something was read or received that is garbage some time. */
  touched(): void {
    this.#isTouched = true;
    if (this.#timer === undefined) this.#lookAfter(QUIET_MS);
    else if (this.#quietMs > QUIET_MS) {
      clearTimeout(this.#timer);
      this.#lookAfter(QUIET_MS);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #lookAfter(ms: number): void {
    this.#quietMs = ms;
    this.#timer = setTimeout(() => this.#look(), ms).unref();
  }

  #look(): void {
    const { collect, isKeeping, nowMs } = this.#options;
    this.#timer = undefined;
    if (!isKeeping()) return;
    if (this.#isTouched) {
      this.#isTouched = false;
      this.#lookAfter(QUIET_MS);
      return;
    }
    const beganMs = nowMs();
    collect();
    const restMs = (nowMs() - beganMs) / PART_OF_TIME;
    this.#lookAfter(Math.max(restMs, Math.min(QUIET_MAX_MS, this.#quietMs * 2)));
  }
}
