/**
 * Judges clients while they send a request or take an answer: cuts off those that stand still, and bounds the bytes that all of them make a proxy hold.
 *
 * Owns no request: each transfer is registered when it begins and leaves when its connection or stream ends. A step looks at all of them, so a request itself costs a
 * place in a map. A client is judged only while the proxy waits for it: an application that is slow to read or to write has no effect. Used by the fronts of HTTP and
 * of gRPC. Pure but for its timer.
 */
import {
  STALLED_MS_MIN,
  STREAM_WINDOW_BYTES,
  UNSENT_APP_BYTES_MAX,
  UNSENT_BYTES_MAX,
  UNSENT_CONNECTION_BYTES_MAX,
  UNSENT_EVERY_MS,
} from "../../limits.ts";

/** How long clients may take. */
export interface TransferLimits {
  /** Time in which a client has to move `leastBytes`, unless there is less. */
  readonly pauseMs: number;
  readonly leastBytes: number;
  /** Time that the proxy waits for the client in all. */
  readonly totalMs: number;
}

/** The body of a request on its way from a client, or an answer on its way to one. */
export interface Transfer {
  readonly limits: TransferLimits;
  /** The application's name. */
  readonly app: string;
  /** Identifies the connection. */
  readonly connection: unknown;
  /** Bytes that the client has to send or take now; 0 while the proxy does not wait for it. */
  readonly owedBytes: number;
  /** Bytes that the client has sent or taken so far. */
  readonly movedBytes: number;
  /** Bytes that the proxy holds for the client. */
  readonly heldBytes: number;
  /** The transfer keeps a place of `maxOngoingRequests`. */
  readonly holdsPlace: boolean;
  /** The connection has to send earlier answers first. */
  readonly isQueued: boolean;
  /** Ends the connection or the stream. */
  cutOff(): void;
}

/** Progress of a client since the proxy began to wait for it. */
interface Mark {
  movedBytes: number;
  owedBytes: number;
  /** Time for which the proxy has waited since `movedBytes`. */
  owedMs: number;
  totalMs: number;
}

export class SlowClients {
  readonly #open = new Map<Transfer, Mark | undefined>();
  readonly #isWaitedFor: (app: string) => boolean;
  #timer: NodeJS.Timeout | undefined;
  #everyMs = UNSENT_EVERY_MS;
  #steppedMs = 0;

  /** @param isWaitedFor whether requests wait for a place of an application */
  constructor(isWaitedFor: (app: string) => boolean) {
    this.#isWaitedFor = isWaitedFor;
  }

  begin(transfer: Transfer): void {
    this.#open.set(transfer, undefined);
    const everyMs = Math.min(UNSENT_EVERY_MS, transfer.limits.pauseMs / 4);
    if (this.#timer !== undefined && everyMs >= this.#everyMs) return;
    clearInterval(this.#timer);
    this.#everyMs = everyMs;
    this.#timer = setInterval(() => this.step(performance.now()), everyMs).unref();
  }

  end(transfer: Transfer): void {
    this.#open.delete(transfer);
  }

  /** @internal called by the timer, and by tests */
  step(nowMs: number): void {
    // A proxy that was held up itself blames no client for that.
    const sinceMs = Math.min(nowMs - this.#steppedMs, 2 * this.#everyMs);
    this.#steppedMs = nowMs;
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#everyMs = UNSENT_EVERY_MS;
    }
    const stalled: Transfer[] = [];
    for (const [transfer, known] of this.#open) {
      if (transfer.owedBytes === 0 || transfer.isQueued) continue;
      const mark = known ?? this.#mark(transfer);
      if (known !== undefined) {
        mark.owedMs += sinceMs;
        mark.totalMs += sinceMs;
      }
      if (this.#isOverdue(transfer, mark)) {
        this.#open.delete(transfer);
        transfer.cutOff();
      } else if (isStalled(transfer, mark)) stalled.push(transfer);
    }
    this.#makeRoom(stalled);
  }

  #mark(transfer: Transfer): Mark {
    const mark: Mark = { movedBytes: transfer.movedBytes, owedBytes: owedOf(transfer), owedMs: 0, totalMs: 0 };
    this.#open.set(transfer, mark);
    return mark;
  }

  #isOverdue(transfer: Transfer, mark: Mark): boolean {
    const { movedBytes, limits } = transfer;
    if (mark.totalMs >= limits.totalMs) return true;
    if (movedBytes - mark.movedBytes >= mark.owedBytes) {
      mark.movedBytes = movedBytes;
      mark.owedBytes = owedOf(transfer);
      mark.owedMs = 0;
    }
    return mark.owedMs >= limits.pauseMs;
  }

  /** Cuts off stalled clients until every bound holds again, those with the most bytes first, and those that keep others from a place. */
  #makeRoom(stalled: readonly Transfer[]): void {
    if (stalled.length === 0) return;
    const held = new Map<unknown, number>();
    const change = (transfer: Transfer, bytes: number): void => {
      for (const group of groupsOf(transfer)) held.set(group, (held.get(group) ?? 0) + bytes);
    };
    for (const transfer of this.#open.keys()) change(transfer, heldOf(transfer));
    const isTooMuch = (transfer: Transfer): boolean =>
      (held.get(ALL) ?? 0) > UNSENT_BYTES_MAX ||
      (held.get(`app ${transfer.app}`) ?? 0) > UNSENT_APP_BYTES_MAX ||
      (held.get(transfer.connection) ?? 0) > UNSENT_CONNECTION_BYTES_MAX;
    for (const transfer of [...stalled].sort((a, b) => b.heldBytes - a.heldBytes)) {
      if (!isTooMuch(transfer) && !(transfer.holdsPlace && this.#isWaitedFor(transfer.app))) continue;
      change(transfer, -heldOf(transfer));
      this.#open.delete(transfer);
      transfer.cutOff();
    }
  }
}

const ALL = Symbol("all");

function groupsOf({ app, connection }: Transfer): unknown[] {
  return [ALL, `app ${app}`, connection];
}

/** Counts the window of a stream too: the replica may have filled it. */
function heldOf({ heldBytes }: Transfer): number {
  return heldBytes === 0 ? 0 : heldBytes + STREAM_WINDOW_BYTES;
}

function owedOf({ owedBytes, limits }: Transfer): number {
  return Math.max(1, Math.min(owedBytes, limits.leastBytes));
}

/** Whether a client has moved less than its rate for a while, or nothing at all. */
function isStalled({ movedBytes, limits }: Transfer, mark: Mark): boolean {
  if (mark.owedMs < STALLED_MS_MIN) return false;
  return movedBytes - mark.movedBytes <= (limits.leastBytes * mark.owedMs) / limits.pauseMs / 2;
}
