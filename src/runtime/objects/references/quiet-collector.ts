/**
 * Decides when a quiet worker collects garbage. An idle process never does so by itself, and values dropped by its tasks keep objects in the store.
 *
 * The clock starts when a view is read from the store or a handle is received. A task may hold its arguments for hours and drops them without notice. So the
 * first collection is followed by others, each after twice the time, while any view or handle is left that only a collection could end. A worker that keeps
 * a view for good, such as a model, collects once a minute. Slow collections take a hundredth of a worker's time at most. A worker's objects own the
 * collector; a driver collects by its own rules.
 */
const QUIET_MS = 1000;
const QUIET_MAX_MS = 60_000;
/** Limit on the part of a quiet worker's time that collections take. */
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
