/**
 * The holds of answers that may never have arrived: what is given back when a worker ends between registering them and sending the answer.
 *
 * A pure table in the node daemon, beside the ledger that counts those holds. A worker numbers, on each link from a caller, the answers and items that come with holds;
 * the caller says from time to time how many it has read, and for good once the link has ended. What is above that number was never read, and nobody else would
 * release it. Links are named by the caller. Only workers' answers are in here: plain ones have no holds, and no entry.
 */
import type { ObjectId, ProcessId } from "../../base/ids.ts";
import { Fifo } from "../../base/fifo.ts";

export interface AnswerLink {
  readonly worker: ProcessId;
  readonly caller: ProcessId;
  /** Number of the link, given by the caller. */
  readonly link: number;
}

export interface UnreadHold {
  /** The answer that it came with. */
  readonly number: number;
  readonly id: ObjectId;
  readonly owner: ProcessId;
}

interface Link extends AnswerLink {
  readonly holds: Fifo<UnreadHold>;
}

export class UnreadAnswers {
  readonly #links = new Map<ProcessId, Map<string, Link>>();

  get size(): number {
    let size = 0;
    for (const links of this.#links.values()) size += links.size;
    return size;
  }

  /** A worker registered a hold for an answer that it is about to send. */
  held(at: AnswerLink, hold: UnreadHold): void {
    const { worker, caller, link } = at;
    const links = this.#links.get(worker) ?? new Map<string, Link>();
    this.#links.set(worker, links);
    const key = keyOf(at);
    const known = links.get(key) ?? { worker, caller, link, holds: new Fifo<UnreadHold>() };
    links.set(key, known);
    known.holds.push(hold);
  }

  /** The caller has read this answer and those before: their holds are its own to release. */
  read(at: AnswerLink, number: number): void {
    const holds = this.#links.get(at.worker)?.get(keyOf(at))?.holds;
    while ((holds?.peek()?.number ?? Number.POSITIVE_INFINITY) <= number) holds?.shift();
  }

  /** Nothing more comes over the link, and the caller has read all up to this answer. @returns the holds of those that it will never read */
  ended(at: AnswerLink, number: number): UnreadHold[] {
    this.read(at, number);
    const links = this.#links.get(at.worker);
    const holds = links?.get(keyOf(at))?.holds;
    const unread: UnreadHold[] = [];
    for (let hold = holds?.shift(); hold !== undefined; hold = holds?.shift()) unread.push(hold);
    links?.delete(keyOf(at));
    if (links?.size === 0) this.#links.delete(at.worker);
    return unread;
  }

  /** The links of a worker that has ended: their callers are asked how far they have read. */
  linksOf(worker: ProcessId): AnswerLink[] {
    return Array.from(this.#links.get(worker)?.values() ?? []);
  }

  /** What a caller held is dropped with it. */
  callerGone(caller: ProcessId): void {
    for (const [worker, links] of this.#links) {
      for (const [key, link] of links) if (link.caller === caller) links.delete(key);
      if (links.size === 0) this.#links.delete(worker);
    }
  }
}

function keyOf({ caller, link }: AnswerLink): string {
  return `${caller}.${link}`;
}
