/**
 * The connections of this process to workers, by worker: for those who must know that nothing more comes from one, and what came.
 *
 * A worker's last frames may still be unread when the node reports its end. The frames come before the end of the connection, so they have been
 * read once the connection has ended. Each link has a number, under which the worker counts its answers with holds. Owned by the runtime, which makes the links.
 */
import { type NodeTag, nodeTagOf, type ProcessId } from "../../../runtime/base/ids.ts";
import { SetMap } from "../../../runtime/base/collections/set-map.ts";
import { ReadLinks } from "../../../runtime/objects/references/read-links.ts";
import type { Rest } from "./worker-link.ts";

interface Link {
  readonly processId: ProcessId;
  readonly number: number | undefined;
  readonly isFinished: boolean;
  readonly closed: Promise<void>;
  /** The number of the last answer with holds that was read. */
  readonly heldRead: number;
  /** No call of this function comes any more. */
  forgetFunction(id: string): void;
  addRest(rest: Rest): void;
  workerExited(): void;
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
    if (link.isFinished) return;
    this.#links.add(link.processId, link);
    if (link.number !== undefined) this.#read.opened(link.processId, link.number, link);
    void link.closed.then(() => this.#links.delete(link.processId, link));
  }

  forgetFunction(id: string): void {
    for (const process of this.#links.keys()) for (const link of this.#links.get(process)) link.forgetFunction(id);
  }

  /** Adds a part of the frames that a dead worker left in an outbox. */
  addRest(worker: ProcessId, rest: Rest): void {
    for (const link of this.#links.get(worker)) link.addRest(rest);
  }

  /** All that it has left behind has come. */
  workerExited(worker: ProcessId): void {
    for (const link of Array.from(this.#links.get(worker))) link.workerExited();
  }

  /** The workers of a dead node have left nothing that could be read. */
  nodeGone(tag: NodeTag): void {
    for (const process of Array.from(this.#links.keys())) if (nodeTagOf(process) === tag) this.workerExited(process);
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
