/**
 * How far this process has read what others sent it with holds, link by link, while a link is open and for a while after.
 *
 * When a link has ended, or its sender, each daemon that counts holds of its messages asks how far it was read (`runtime/node/references/unacknowledged-borrows.ts`). That can be said once
 * nothing more comes. A link over which nothing with holds came is forgotten at its end; of the others the last thousand are kept, as they may be asked for
 * more than once. Of one that was forgotten all counts as read: what is held too long ends with this process, what is let go of too early is lost.
 */
import type { ProcessId } from "../base/ids.ts";
import { ENDED_LINKS_MAX } from "./limits.ts";

/** One that is open, or has ended. */
interface ReadLink {
  /** The number of the last message with holds that was read. */
  readonly heldRead: number;
  /** Resolves when nothing more comes. */
  readonly closed: Promise<void>;
}

export class ReadLinks {
  readonly #links = new Map<string, ReadLink>();
  /** Those that have ended, the oldest first. */
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
