/**
 * The connections of this process to workers, by worker: for those who must know that nothing more comes from one, and what came.
 *
 * A worker's last words may still be unread when the node tells that it has ended. They come before the end of its connection, so what it has said
 * is known once that has ended. Each link has a number, under which the worker counts its answers with holds. Owned by the runtime, which makes the links.
 */
import type { ProcessId } from "../../runtime/base/ids.ts";
import { SetMap } from "../../runtime/base/set-map.ts";
import { ReadLinks } from "../../runtime/objects/read-links.ts";

interface Link {
  readonly processId: ProcessId;
  readonly number: number | undefined;
  readonly isClosed: boolean;
  readonly closed: Promise<void>;
  /** The number of the last answer with holds that was read. */
  readonly heldRead: number;
  /** No call of this function comes any more. */
  forgetFunction(id: string): void;
}

export class OpenLinks {
  readonly #links = new SetMap<ProcessId, Link>();
  readonly #read = new ReadLinks();
  #lastNumber = 0;

  newNumber(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  opened(link: Link): void {
    if (link.isClosed) return;
    this.#links.add(link.processId, link);
    if (link.number !== undefined) this.#read.opened(link.processId, link.number, link);
    void link.closed.then(() => this.#links.delete(link.processId, link));
  }

  forgetFunction(id: string): void {
    for (const process of this.#links.keys()) for (const link of this.#links.get(process)) link.forgetFunction(id);
  }

  /** Resolves when all that a process has sent has been read: its connections here have ended, or there is none. */
  async ended(process: ProcessId): Promise<void> {
    await Promise.all(Array.from(this.#links.get(process), (link) => link.closed));
  }

  /** How many answers with holds of a worker have been read over a link, once it has ended. */
  readOver(worker: ProcessId, number: number): Promise<number> {
    return this.#read.readOver(worker, number);
  }
}
