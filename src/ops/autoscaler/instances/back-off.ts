/**
 * Pauses of node types whose launches fail: 10 s after the first failure, twice as long after each further one of the same cause, up to 10
 * minutes. A node of the type that joins ends the pause. Pure.
 */
import { BACK_OFF_MAX_MS, BACK_OFF_MIN_MS } from "../limits.ts";
import type { BackOff } from "../plan/snapshot.ts";

interface Entry extends BackOff {
  readonly failures: number;
}

export class BackOffs {
  readonly #entries = new Map<string, Entry>();

  get all(): ReadonlyMap<string, BackOff> {
    return this.#entries;
  }

  /** Several failures of one moment count as one. */
  failed(
    type: string,
    { cause, message, retryAfterMs = 0 }: { cause: string; message: string; retryAfterMs?: number | undefined },
    nowMs: number,
  ): void {
    const known = this.#entries.get(type);
    if (known !== undefined && known.cause === cause && nowMs < known.untilMs) return;
    const failures = known?.cause === cause ? known.failures + 1 : 1;
    const pauseMs = Math.min(BACK_OFF_MAX_MS, BACK_OFF_MIN_MS * 2 ** (failures - 1));
    this.#entries.set(type, { failures, cause, message, untilMs: nowMs + Math.max(pauseMs, Math.min(retryAfterMs, BACK_OFF_MAX_MS)) });
  }

  joined(type: string): void {
    this.#entries.delete(type);
  }

  clear(): void {
    this.#entries.clear();
  }
}
