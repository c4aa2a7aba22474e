/**
 * Answers that clients have not taken yet: cuts off clients that take nothing, or too little, and bounds what all of them make a proxy hold.
 *
 * Owns no answer: each is registered when it begins and leaves when its connection or stream ends. A step looks at all of them, so a request itself costs a place in a set.
 * A client is judged only while it owes something: an application that is slow to write has nothing unsent. Called by `client-exchange.ts`. Pure but for its timer.
 */
import { STALLED_MS_MIN, STREAM_WINDOW_BYTES, UNSENT_BYTES_MAX, UNSENT_EVERY_MS } from "../limits.ts";

/** An answer on its way to a client. */
export interface AnswerUnderWay {
  /** Bytes that the client has not taken. */
  readonly unsentBytes: number;
  /** Bytes of the answer so far, less those. */
  readonly takenBytes: number;
  /** Other answers of the connection are before it. */
  readonly isQueued: boolean;
  /** Ends the connection or the stream. */
  cutOff(): void;
}

/** Since when a client owes how much. */
interface Mark {
  readonly sinceMs: number;
  readonly takenBytes: number;
  readonly owedBytes: number;
}

export class AnswersUnderWay {
  readonly #open = new Map<AnswerUnderWay, Mark | undefined>();
  readonly #pauseMs: number;
  readonly #leastBytes: number;
  #timer: NodeJS.Timeout | undefined;

  /** @param leastBytes that a client has to take in each `pauseMs`, unless there is less */
  constructor({ pauseMs, leastBytes }: { pauseMs: number; leastBytes: number }) {
    this.#pauseMs = pauseMs;
    this.#leastBytes = leastBytes;
  }

  begin(answer: AnswerUnderWay): void {
    this.#open.set(answer, undefined);
    this.#timer ??= setInterval(() => this.step(performance.now()), Math.min(UNSENT_EVERY_MS, this.#pauseMs / 4)).unref();
  }

  end(answer: AnswerUnderWay): void {
    this.#open.delete(answer);
  }

  /** @internal called by the timer, and by tests */
  step(nowMs: number): void {
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    let heldBytes = 0;
    const stalled: AnswerUnderWay[] = [];
    for (const [answer, mark] of this.#open) {
      const { unsentBytes, takenBytes } = answer;
      if (unsentBytes > 0) heldBytes += unsentBytes + STREAM_WINDOW_BYTES;
      if (unsentBytes === 0 || answer.isQueued) {
        if (mark !== undefined) this.#open.set(answer, undefined);
      } else if (mark === undefined || takenBytes - mark.takenBytes >= mark.owedBytes)
        this.#open.set(answer, { sinceMs: nowMs, takenBytes, owedBytes: Math.max(1, Math.min(unsentBytes, this.#leastBytes)) });
      else if (nowMs - mark.sinceMs >= this.#pauseMs) {
        heldBytes -= unsentBytes + STREAM_WINDOW_BYTES;
        answer.cutOff();
      } else if (nowMs - mark.sinceMs >= STALLED_MS_MIN) stalled.push(answer);
    }
    if (heldBytes > UNSENT_BYTES_MAX) this.#makeRoom(stalled, heldBytes);
  }

  /** Cuts off stalled clients until there is room, those with the most bytes first. */
  #makeRoom(stalled: AnswerUnderWay[], heldBytes: number): void {
    let leftBytes = heldBytes;
    for (const answer of stalled.sort((a, b) => b.unsentBytes - a.unsentBytes)) {
      if (leftBytes <= UNSENT_BYTES_MAX) return;
      leftBytes -= answer.unsentBytes + STREAM_WINDOW_BYTES;
      answer.cutOff();
    }
  }
}
