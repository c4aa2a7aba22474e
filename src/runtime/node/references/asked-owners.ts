/**
 * Questions for values that were passed on to the processes of this node that own them, the drivers.
 *
 * A driver answers each as soon as it can, which may be when a task has ended. Where it ends before, its readers elsewhere are told that it is gone; its own daemon is the only one to know
 * both. A pure table of `ref-service.ts`: a question stands from when it is passed on until its answer passes by.
 */
import { SetMap } from "../../base/collections/set-map.ts";
import type { ObjectId, ProcessId } from "../../base/ids.ts";

interface Question {
  readonly id: ObjectId;
  readonly reader: ProcessId;
}

export class AskedOwners {
  readonly #readers = new Map<ProcessId, SetMap<ObjectId, ProcessId>>();

  asked(owner: ProcessId, { id, reader }: Question): void {
    let readers = this.#readers.get(owner);
    if (readers === undefined) {
      readers = new SetMap();
      this.#readers.set(owner, readers);
    }
    readers.add(id, reader);
  }

  answered(owner: ProcessId, { id, reader }: Question): void {
    const readers = this.#readers.get(owner);
    readers?.delete(id, reader);
    if (readers?.size === 0) this.#readers.delete(owner);
  }

  /** Forgets an owner. @returns its unanswered questions */
  ownerGone(owner: ProcessId): Question[] {
    const readers = this.#readers.get(owner);
    this.#readers.delete(owner);
    if (readers === undefined) return [];
    return Array.from(readers.keys()).flatMap((id) => Array.from(readers.get(id), (reader) => ({ id, reader })));
  }
}
