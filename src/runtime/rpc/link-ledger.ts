/**
 * Bookkeeping of a node link: frames that are not known to be safe, and received frames that have been handled. Pure.
 *
 * Frames of each direction are numbered from 1 in the order of sending. The number is not sent: a connection begins with an exchange of positions,
 * from which both ends conclude the same first number, and TCP keeps the order. Invariants: a frame is kept until it is acknowledged; an incarnation
 * of the receiver is given each number at most once and without a gap; an acknowledgement covers all numbers up to its own.
 */
import { Fifo } from "../base/collections/fifo.ts";

/** Positions that the ends exchange when a connection begins. */
export interface LinkPosition {
  incarnation: string;
  peerIncarnation: string | undefined;
  delivered: number;
  oldest: number;
}

export class LinkLedger {
  readonly incarnation: string;
  peerIncarnation: string | undefined;
  /** Frames that are sent again if this connection breaks; the first has the number `oldest`. */
  #kept = new Fifo<Buffer>();
  #keptBytes = 0;
  #oldest = 1;
  #delivered = 0;
  /** Delivered and not acknowledged yet, in order of their numbers. */
  readonly #open = new Set<number>();
  /** Counts the other end's numberings: deliveries under an earlier one no longer matter. */
  #epoch = 0;

  constructor(incarnation: string) {
    this.incarnation = incarnation;
  }

  get keptBytes(): number {
    return this.#keptBytes;
  }

  get keptCount(): number {
    return this.#kept.size;
  }

  get position(): LinkPosition {
    return {
      incarnation: this.incarnation,
      peerIncarnation: this.peerIncarnation,
      delivered: this.#delivered,
      oldest: this.#oldest,
    };
  }

  /**
   * Whether the other end wrote this position before it sent frames that have been delivered here. It sends none before it knows this
   * incarnation, so it has given that hello's connection up. Starting again from the position would deliver those frames twice.
   */
  isOutdated(theirs: LinkPosition): boolean {
    return this.#delivered > 0 && theirs.incarnation === this.peerIncarnation && theirs.peerIncarnation !== this.incarnation;
  }

  keep(frame: Buffer): void {
    this.#kept.push(frame);
    this.#keptBytes += frame.length;
  }

  /** @throws RangeError when the other end claims to have more than was sent. */
  acknowledged(upTo: number): void {
    if (upTo >= this.#oldest + this.#kept.size)
      throw new RangeError(`the peer acknowledged frame ${upTo}, and the last was ${this.#oldest + this.#kept.size - 1}`);
    while (this.#oldest <= upTo) {
      this.#keptBytes -= (this.#kept.shift() as Buffer).length;
      this.#oldest += 1;
    }
  }

  /**
   * Begins a connection. Both ends call this with both positions as they were exchanged. If the other end knows nothing of earlier
   * deliveries, `refill` may change the kept frames and all are sent. Otherwise the frames after `resumeAfter` are sent.
   */
  meet(mine: LinkPosition, theirs: LinkPosition): { isNewPeer: boolean; resumeAfter: number } {
    const isNewPeer = theirs.incarnation !== this.peerIncarnation;
    const goesOn = mine.peerIncarnation === theirs.incarnation && theirs.peerIncarnation === mine.incarnation;
    this.peerIncarnation = theirs.incarnation;
    if (goesOn) return { isNewPeer, resumeAfter: theirs.delivered };
    this.#delivered = theirs.oldest - 1;
    this.#open.clear();
    this.#epoch += 1;
    return { isNewPeer, resumeAfter: this.#oldest - 1 };
  }

  /** Replaces the kept frames, for a new incarnation of the other end, which has counted none. */
  refill(change: (kept: Buffer[]) => Buffer[]): void {
    const frames = change([...this.#kept]);
    this.#kept = new Fifo<Buffer>();
    this.#keptBytes = 0;
    for (const frame of frames) this.keep(frame);
  }

  /** Yields the frames to send on a new connection, in order. */
  *after(number: number): Generator<Buffer> {
    let current = this.#oldest;
    for (const frame of this.#kept) {
      if (current > number) yield frame;
      current += 1;
    }
  }

  /** Records the next received frame. The receipt is returned to `settle` when the frame is safe. */
  deliver(): { number: number; epoch: number } {
    this.#delivered += 1;
    this.#open.add(this.#delivered);
    return { number: this.#delivered, epoch: this.#epoch };
  }

  settle(receipt: { number: number; epoch: number }): boolean {
    return receipt.epoch === this.#epoch && this.#open.delete(receipt.number);
  }

  /** Everything up to this number is safe here. */
  get settledUpTo(): number {
    const first = this.#open.values().next();
    return first.done === true ? this.#delivered : first.value - 1;
  }

  clear(): void {
    this.#kept = new Fifo<Buffer>();
    this.#keptBytes = 0;
  }
}
