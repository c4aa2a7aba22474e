/**
 * Holds whose message may never have arrived: what to give back when a connection or process ends between registering a hold and reading its message.
 *
 * A pure table in the node daemon, beside the ledger that counts the holds. On each link between a caller and a worker both ends number the messages that carry
 * holds: the caller its calls, the worker its answers and items. The receiver acknowledges from time to time how far it has read, and finally once the link has
 * ended. Messages above that number were never read, and nobody else would release their holds. The caller numbers the links; its calls are kept under the
 * negative number. Messages without holds have no entry.
 */
import { type NodeTag, nodeTagOf, type ObjectId, type ProcessId } from "../../base/ids.ts";
import { Fifo } from "../../base/collections/fifo.ts";

/** One direction of a link. */
export interface MessageLink {
  readonly sender: ProcessId;
  readonly receiver: ProcessId;
  /** The caller's number of the link; negative for its calls. */
  readonly link: number;
}

export interface UnacknowledgedBorrow {
  /** The message that it came with. */
  readonly number: number;
  readonly id: ObjectId;
  readonly owner: ProcessId;
}

type Links = Map<ProcessId, Map<number, Fifo<UnacknowledgedBorrow>>>;

export class UnacknowledgedBorrows {
  /** By sender, receiver and number. */
  readonly #links = new Map<ProcessId, Links>();

  /** How many links are kept. */
  get size(): number {
    let size = 0;
    for (const links of this.#links.values()) for (const numbers of links.values()) size += numbers.size;
    return size;
  }

  /** A process registered a hold for a message that it is about to send. */
  held({ sender, receiver, link }: MessageLink, hold: UnacknowledgedBorrow): void {
    let links = this.#links.get(sender);
    if (links === undefined) this.#links.set(sender, (links = new Map()));
    let numbers = links.get(receiver);
    if (numbers === undefined) links.set(receiver, (numbers = new Map()));
    let holds = numbers.get(link);
    if (holds === undefined) numbers.set(link, (holds = new Fifo()));
    holds.push(hold);
  }

  has(at: MessageLink): boolean {
    return this.#holdsOf(at) !== undefined;
  }

  /** The receiver has read this message and those before: their holds are its own to release. */
  read(at: MessageLink, number: number): void {
    const holds = this.#holdsOf(at);
    while ((holds?.peek()?.number ?? Number.POSITIVE_INFINITY) <= number) holds?.shift();
  }

  /** Nothing more comes over the link, and the receiver has read all up to this message. @returns the holds of those that it will never read */
  ended(at: MessageLink, number: number): UnacknowledgedBorrow[] {
    this.read(at, number);
    const holds = this.#holdsOf(at);
    const unacknowledged: UnacknowledgedBorrow[] = [];
    for (let hold = holds?.shift(); hold !== undefined; hold = holds?.shift()) unacknowledged.push(hold);
    const { sender, receiver, link } = at;
    const links = this.#links.get(sender);
    const numbers = links?.get(receiver);
    numbers?.delete(link);
    if (numbers?.size === 0) links?.delete(receiver);
    if (links?.size === 0) this.#links.delete(sender);
    return unacknowledged;
  }

  /** The links of a process that has said all: their receivers are asked how far they have read. */
  linksOf(sender: ProcessId): MessageLink[] {
    const found: MessageLink[] = [];
    for (const [receiver, numbers] of this.#links.get(sender) ?? []) {
      for (const link of numbers.keys()) found.push({ sender, receiver, link });
    }
    return found;
  }

  /** The same for all processes of a node. */
  linksOfNode(tag: NodeTag): MessageLink[] {
    return Array.from(this.#links.keys()).flatMap((sender) => (nodeTagOf(sender) === tag ? this.linksOf(sender) : []));
  }

  /** Drops the holds of ended receivers. */
  receiversGone(isGone: (receiver: ProcessId) => boolean): void {
    for (const [sender, links] of this.#links) {
      for (const receiver of links.keys()) if (isGone(receiver)) links.delete(receiver);
      if (links.size === 0) this.#links.delete(sender);
    }
  }

  #holdsOf({ sender, receiver, link }: MessageLink): Fifo<UnacknowledgedBorrow> | undefined {
    return this.#links.get(sender)?.get(receiver)?.get(link);
  }
}
