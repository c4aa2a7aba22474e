/**
 * The connections of this process to workers, by worker: for those who must know that nothing more comes from one.
 *
 * A worker's last words may still be unread when the node tells that it has ended. They come before the end of its connection, so what it has said
 * is known once that has ended. Owned by the runtime, which makes the links.
 */
import type { ProcessId } from "../base/ids.ts";

interface Link {
  readonly processId: ProcessId;
  readonly isClosed: boolean;
  readonly closed: Promise<void>;
}

export class OpenLinks {
  readonly #links = new Map<ProcessId, Set<Link>>();

  opened(link: Link): void {
    if (link.isClosed) return;
    const links = this.#links.get(link.processId) ?? new Set();
    this.#links.set(link.processId, links.add(link));
    void link.closed.then(() => {
      links.delete(link);
      if (links.size === 0 && this.#links.get(link.processId) === links) this.#links.delete(link.processId);
    });
  }

  /** Resolves when all that a process has sent has been read: its connections here have ended, or there is none. */
  async ended(process: ProcessId): Promise<void> {
    await Promise.all(Array.from(this.#links.get(process) ?? [], (link) => link.closed));
  }
}
