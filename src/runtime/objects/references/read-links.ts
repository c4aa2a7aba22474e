/**
 * Tracks for each link how many messages with holds this process has read, while the link is open and for some time afterwards.
 *
 * When a link or its sender has ended, each daemon that counts holds of its messages asks how far the link was read
 * (`runtime/node/references/unacknowledged-borrows.ts`). The answer follows once no more messages can arrive. A link without holds is forgotten at its end.
 * The last thousand others are kept, as several daemons may ask. A forgotten link counts as read to its end: a hold kept too long ends with this process,
 * but a hold released too early would lose the object.
 */
import type { ProcessId } from "../../base/ids.ts";
import { ENDED_LINKS_MAX } from "../limits.ts";

/** A link that is open or has ended. */
interface ReadLink {
  /** The number of the last message with holds that was read. */
  readonly heldRead: number;
  /** Resolves when nothing more comes. */
  readonly closed: Promise<void>;
}

export class ReadLinks {
  readonly #links = new Map<string, ReadLink>();
  /** Ended links, the oldest first. */
  readonly #ended: { readonly sender: ProcessId; readonly number: number }[] = [];
  /** By sender, up to which number links may have been forgotten of which something was read. */
  readonly #forgotten = new Map<ProcessId, number>();

  opened(sender: ProcessId, number: number, link: ReadLink): void {
    this.#links.set(keyOf(sender, number), link);
    void link.closed.then(() => {
      if (link.heldRead === 0) this.#links.delete(keyOf(sender, number));
      else this.#keep(sender, number, { heldRead: link.heldRead, closed: link.closed });
    });
  }

  /** How many messages with holds have been read over a link, once it has ended. */
  async readOver(sender: ProcessId, number: number): Promise<number> {
    const link = this.#links.get(keyOf(sender, number));
    await link?.closed;
    if (link !== undefined) return link.heldRead;
    return number <= (this.#forgotten.get(sender) ?? 0) ? Number.MAX_SAFE_INTEGER : 0;
  }

  /** The number alone: the link itself has buffers. */
  #keep(sender: ProcessId, number: number, ended: ReadLink): void {
    this.#links.set(keyOf(sender, number), ended);
    this.#ended.push({ sender, number });
    const oldest = this.#ended.length > ENDED_LINKS_MAX ? this.#ended.shift() : undefined;
    if (oldest === undefined) return;
    this.#links.delete(keyOf(oldest.sender, oldest.number));
    this.#forgotten.set(oldest.sender, Math.max(oldest.number, this.#forgotten.get(oldest.sender) ?? 0));
  }
}

function keyOf(sender: ProcessId, number: number): string {
  return `${sender}.${number}`;
}
