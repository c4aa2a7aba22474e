/**
 * Decides what became of unanswered calls whose worker can no longer be reached.
 *
 * A connection ends for one of three reasons, and the news may come before or after the end. The worker has ended. Or
 * the worker has given up the connection's lease, and says how many calls were read. Or the network broke, and nobody
 * reports that. Worker and lease identify a connection, because there may be another connection to the same
 * worker by then.
 *
 * The submitter owns this object and decides what happens to the calls. Invariant: a call counts as not begun only
 * when that is certain.
 */
import { timeoutAfterIo } from "../../../runtime/base/time/timeout-after-io.ts";
import { BEGUN_MAX } from "../../../runtime/os/limits.ts";
import type { ProcessId } from "../../../runtime/base/ids.ts";
import type { WorkerExitedHeader } from "../../../runtime/wire/messages.ts";
import { type CallRecord, callIdOf } from "../call-record.ts";

/** Range of the word that an interrupt slot has for the number of a lease. */
const WORD_RANGE = 2 ** 32;

/**
 * Why a connection to a worker ended, if that is known. `read`: the worker had read and answered that many of the
 * calls sent over it.
 */
export type Ending = WorkerExitedHeader | { readonly read: number };

/** The calls that were sent over a connection that has ended. */
export interface EndedLink {
  readonly worker: ProcessId;
  readonly leaseId: number;
  /** Number of calls. */
  readonly sent: number;
  /** Unanswered calls, in the order of sending. A worker that has ended may have left answers behind. */
  readonly unanswered: Iterable<CallRecord>;
  /** Whether the connection ended behind the worker's last answer, so that no answer was lost. */
  readonly isWhole: boolean;
}

interface OpenLink {
  readonly leaseId: number;
  ending: Ending | undefined;
}

interface WaitingLink extends EndedLink {
  readonly settle: (ending: Ending | undefined) => void;
  readonly takeBack: () => void;
}

export class EndedLinks {
  readonly #open = new Map<ProcessId, OpenLink>();
  readonly #waiting = new Set<WaitingLink>();

  /** Yields the unanswered calls until it is known what became of them. */
  *calls(): Generator<CallRecord> {
    for (const { unanswered } of this.#waiting) yield* unanswered;
  }

  opened(worker: ProcessId, leaseId: number): void {
    this.#open.set(worker, { leaseId, ending: undefined });
  }

  /** Forgets a connection that was never made, or whose end matters to nobody. */
  forget(worker: ProcessId): void {
    this.#open.delete(worker);
  }

  /**
   * Waits for the reason of an end. @param onKnown called once and later; without an argument when no reason came in
   * time
   */
  ended(link: EndedLink, withinMs: number, onKnown: (ending: Ending | undefined) => void): void {
    const known = this.#open.get(link.worker)?.ending;
    this.#open.delete(link.worker);
    const settle = (ending: Ending | undefined): void => {
      if (!this.#waiting.delete(waiting)) return;
      waiting.takeBack();
      onKnown(ending);
    };
    const waiting: WaitingLink = { ...link, settle, takeBack: timeoutAfterIo(withinMs, () => settle(undefined)) };
    this.#waiting.add(waiting);
    if (known !== undefined) queueMicrotask(() => settle(known));
  }

  workerExited(exit: WorkerExitedHeader): void {
    const open = this.#open.get(exit.workerId);
    if (open !== undefined) open.ending ??= exit;
    for (const link of this.#waiting) if (link.worker === exit.workerId) link.settle(exit);
  }

  /** Notes that the worker reads nothing more of the connection. */
  readOver(worker: ProcessId, leaseId: number, read: number): void {
    const open = this.#open.get(worker);
    if (open?.leaseId === leaseId) open.ending = { read };
    for (const link of this.#waiting) if (link.worker === worker && link.leaseId === leaseId) link.settle({ read });
  }

  /** Drops every waiting call without a word. */
  close(): void {
    for (const { takeBack } of this.#waiting) takeBack();
    this.#waiting.clear();
  }
}

/**
 * Separates the calls that may have begun from those that certainly have not.
 *
 * Tasks begin in the order of sending. A parked call had begun, and so had every call up to the one that the worker
 * had marked. When the marked call was answered, no call behind it had begun. Without a mark, the first call that had
 * not parked was running. When answers may have been lost with the connection, any call may have run, unless the
 * worker says how many it had read.
 */
export function splitBegun(link: EndedLink, ending: Ending | undefined): { begun: CallRecord[]; notBegun: CallRecord[] } {
  const { sent, isWhole } = link;
  const unanswered = Array.from(link.unanswered);
  if (ending === undefined) return { begun: unanswered, notBegun: [] };
  if ("read" in ending) {
    // Unread calls were sent last, and none of them was answered.
    const at = Math.max(0, unanswered.length - Math.max(0, sent - ending.read));
    return { begun: unanswered.slice(0, at), notBegun: unanswered.slice(at) };
  }
  const marks = ending.begun;
  // Unanswered calls of all connections on which calls had begun: a call of another connection ended the worker.
  if (marks !== undefined && marks.length < BEGUN_MAX && !marks.some(([madeFor]) => madeFor === link.leaseId % WORD_RANGE))
    return { begun: [], notBegun: unanswered };
  const { at: marked, isLast } = markedOf(link.leaseId, unanswered, ending);
  if (marked < 0 && !isWhole) return { begun: unanswered, notBegun: [] };
  const lastParked = unanswered.findLastIndex(({ hasParked }) => hasParked);
  const running = marked < 0 && isLast ? lastParked : marked < 0 ? unanswered.findIndex(({ hasParked }) => !hasParked) : marked;
  const hasBegun = (record: CallRecord, index: number): boolean => record.hasParked || index <= running;
  return { begun: unanswered.filter(hasBegun), notBegun: unanswered.filter((record, index) => !hasBegun(record, index)) };
}

/**
 * Returns the place of the call that the worker had marked: the last that began of those sent over the connection
 * (`isLast`), or the one that it ran when it ended. Returns -1 when it is none of these. A running call that had
 * parked says nothing of the calls behind it.
 */
function markedOf(
  leaseId: number,
  unanswered: readonly CallRecord[],
  { begun, running }: WorkerExitedHeader,
): { at: number; isLast: boolean } {
  const last = begun?.find(([madeFor]) => madeFor === leaseId % WORD_RANGE);
  if (last !== undefined) return { at: unanswered.findIndex(({ sequence }) => callIdOf(sequence) === last[1]), isLast: true };
  const isRunning = ({ sequence, hasParked }: CallRecord): boolean => !hasParked && callIdOf(sequence) === running?.[1];
  return { at: running === undefined ? -1 : unanswered.findIndex(isRunning), isLast: false };
}
