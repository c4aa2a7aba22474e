/**
 * The lifetime of definitions that processes of this node made: until their counted references have no holder.
 *
 * A process that captures a function or class holds a reference, which this daemon counts like an actor's (`ref-service.ts`). Values that contain the function or an
 * instance of the class hold it, too, on any node. Without a holder the head forgets the definition, and its captured references are released here.
 */
import type { ObjectId, ProcessId } from "../../base/ids.ts";
import type { DefinitionHeader } from "../../wire/calls/definition-messages.ts";
import type { RefCount } from "./ref-ledger.ts";

interface DefinitionHoldsOptions {
  processId: ProcessId;
  count: (change: RefCount) => void;
  forget: (reference: ObjectId) => void;
}

export class DefinitionHolds {
  readonly #options: DefinitionHoldsOptions;
  /** With what each captured, which was held for this daemon when it came. */
  readonly #captured = new Map<ObjectId, { id: ObjectId; owner: ProcessId }[]>();

  constructor(options: DefinitionHoldsOptions) {
    this.#options = options;
  }

  defined({ reference, refs, stored }: DefinitionHeader): void {
    if (reference === undefined) return;
    const captured = refs.filter(([id]) => id !== reference).map(([id, owner]) => ({ id, owner }));
    if (stored !== undefined) captured.push({ id: stored.id, owner: stored.owner });
    this.#captured.set(reference, captured);
  }

  /** @returns whether it was a definition's */
  unheld(reference: ObjectId): boolean {
    const captured = this.#captured.get(reference);
    if (captured === undefined) return false;
    this.#captured.delete(reference);
    const { processId: holder, count, forget } = this.#options;
    forget(reference);
    for (const ref of captured) count({ ...ref, holder, count: -1 });
    return true;
  }
}
