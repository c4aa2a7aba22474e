/**
 * Drains a node: it takes no new work, waits for its present work, and leaves the cluster.
 *
 * The node leaves when nothing has run for a moment and no program is connected, or when the deadline has passed. It looks from time to time, because no single event
 * marks the end of all work. The daemon owns the drain; its entry point carries out the leaving.
 */
import type { DrainReason, NodeDrainingHeader } from "../../wire/cluster/cluster-messages.ts";

const LOOK_EVERY_MS = 100;
/** Between the end of one task and the begin of the next a node looks idle. */
const IDLE_LOOKS = 3;

interface DrainOptions {
  /** Returns the number of running leases, actors and programs, with the work of extensions. */
  readonly busy: () => number;
  /** Undefined: as long as it takes. */
  readonly deadlineMs: number | undefined;
  readonly reason: DrainReason;
  readonly nowMs: () => number;
  readonly onDone: (reason: string) => void;
}

export class Drain {
  readonly #options: DrainOptions;
  readonly #beganMs: number;
  readonly #timer: NodeJS.Timeout;

  constructor(options: DrainOptions) {
    this.#options = options;
    const { busy, deadlineMs, nowMs, onDone } = options;
    const beganMs = nowMs();
    this.#beganMs = beganMs;
    let idleLooks = 0;
    this.#timer = setInterval(() => {
      const running = busy();
      idleLooks = running === 0 ? idleLooks + 1 : 0;
      const isLate = deadlineMs !== undefined && nowMs() - beganMs >= deadlineMs;
      if (idleLooks < IDLE_LOOKS && !isLate) return;
      clearInterval(this.#timer);
      onDone(running === 0 ? "it was drained" : `it was drained, and its time was over with ${running} tasks, actors and programs on it`);
    }, LOOK_EVERY_MS);
  }

  /** The present notice to the node's processes. */
  get notice(): NodeDrainingHeader {
    const { deadlineMs, nowMs, reason } = this.#options;
    return { leftMs: deadlineMs === undefined ? undefined : Math.max(0, this.#beganMs + deadlineMs - nowMs()), reason };
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
