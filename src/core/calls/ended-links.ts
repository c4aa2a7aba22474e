/**
 * What became of calls whose worker could no longer be reached before it had answered them.
 *
 * A connection ends for one of three reasons, and the news of it may come before or after the end: the worker has ended; the worker has given up the connection's
 * lease, and says how many of its calls it had read; or the network broke, which nobody reports. A connection is identified by its worker and its lease, because
 * there may be another one to the same worker by then. Owned by the submitter, which decides what happens to the calls. Invariant: a call counts as not begun only
 * where that is certain.
 */
import { timeoutAfterIo } from "../../runtime/base/timeout-after-io.ts";
import { BEGUN_MAX } from "../../runtime/os/limits.ts";
import type { ProcessId } from "../../runtime/base/ids.ts";
import type { WorkerExitedHeader } from "../../runtime/wire/messages.ts";
import { type CallRecord, callIdOf } from "./call-record.ts";

/** An interrupt slot has one word for a lease. */
const WORD_RANGE = 2 ** 32;

/** Why a connection to a worker ended, where it is known; `read`: the worker had read so many of the calls that were sent over it, and answered them all. */
export type Ending = WorkerExitedHeader | { readonly read: number };

/** What was sent over a connection that has ended. */
export interface EndedLink {
  readonly worker: ProcessId;
  readonly leaseId: number;
  /** How many calls. */
  readonly sent: number;
  /** Those without an answer so far, in the order of their sending: a worker that has ended may have left answers behind. */
  readonly unanswered: Iterable<CallRecord>;
  /** It ended behind the last answer that the worker had sent: none was lost. */
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

  /** What is unanswered, until it is known what became of it. */
  *calls(): Generator<CallRecord> {
    for (const { unanswered } of this.#waiting) yield* unanswered;
  }

  opened(worker: ProcessId, leaseId: number): void {
    this.#open.set(worker, { leaseId, ending: undefined });
  }

  /** It was never made, or nobody has to know. */
  forget(worker: ProcessId): void {
    this.#open.delete(worker);
  }

  /** @param onKnown called once and later, with nothing when nobody has said why in time */
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

  /** The worker reads nothing more of the connection. */
  readOver(worker: ProcessId, leaseId: number, read: number): void {
    const open = this.#open.get(worker);
    if (open?.leaseId === leaseId) open.ending = { read };
    for (const link of this.#waiting) if (link.worker === worker && link.leaseId === leaseId) link.settle({ read });
  }

  /** Nobody is told anything any more. */
  close(): void {
    for (const { takeBack } of this.#waiting) takeBack();
    this.#waiting.clear();
  }
}

/**
 * Those that may have begun, and those that certainly have not. Tasks begin in the order of their sending: those that parked had begun, and so had all up to the one that the worker
 * had marked; where that one was answered, none behind it had. Without a mark, the first that had not parked was running. Where answers may have been lost with the
 * connection, any may have run, unless the worker says how many it had read.
 */
export function splitBegun(link: EndedLink, ending: Ending | undefined): { begun: CallRecord[]; notBegun: CallRecord[] } {
  const { sent, isWhole } = link;
  const unanswered = Array.from(link.unanswered);
  if (ending === undefined) return { begun: unanswered, notBegun: [] };
  if ("read" in ending) {
    // What was not read was sent last, and none of it was answered.
    const at = Math.max(0, unanswered.length - Math.max(0, sent - ending.read));
    return { begun: unanswered.slice(0, at), notBegun: unanswered.slice(at) };
  }
  const marks = ending.begun;
  // Those of all connections on which calls had begun: the worker ended by a call of another.
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
 * The place of the call that the worker had marked: the last that began of those sent over the connection (`isLast`), or the one that it ran when it ended. -1 where it is none of
 * these; a running one that had parked says nothing of those behind it.
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
