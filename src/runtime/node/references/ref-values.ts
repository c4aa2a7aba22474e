/**
 * The values of refs whose owner of record is this daemon (those made inside workers), and the watchers of all refs.
 *
 * Decides the answer to a question for a value: the value kept here, the owning driver's answer, or an error if the owner is gone. For a stored value only its location is
 * kept. The daemon holds the refs inside a value until the value goes: a lost or rejected value is returned to the caller, which releases these refs.
 *
 * The maker may send several values of an object when it makes one again that is not lost, or not yet known as lost. All are kept: readers get the oldest, and after its
 * loss the next. Only when all are lost is the maker asked. So it knows that all its values are gone, and always owes an answer.
 */
import { type NodeTag, nodeTagOf, type ObjectId, type ProcessId } from "../../base/ids.ts";
import type { PayloadHeader, WireLocation } from "../../wire/messages.ts";

export interface RefValue {
  header: PayloadHeader;
  body: Uint8Array;
}

interface Row {
  /** The process that makes it: when it dies before the value came, the value never comes. */
  maker: ProcessId;
  makerIsGone: boolean;
  /** Values that nobody has found lost, the oldest first. */
  values: RefValue[];
  /** The last place that its maker has told, lost or not. */
  toldAt: WireLocation | undefined;
  lost: boolean;
  watchers: ProcessId[];
}

/** The answer to a report of a lost value. `gone`: the value kept here, to be forgotten with the refs inside it. */
type LostValueEffect = { gone: RefValue | undefined } & LostValueAnswer;

type LostValueAnswer =
  /** There is another. */
  | { kind: "deliver"; value: RefValue }
  /** The maker is to make the object again; the reader is told when it has. By the place the maker sees whether something that it has told is still on the way. */
  | { kind: "remake"; maker: ProcessId; toldAt: WireLocation }
  /** The maker is already making the value again. */
  | { kind: "wait" }
  | { kind: "lost" };

/** The outcome of a value that arrived. */
interface ProvidedValue {
  /** Processes that had asked for it before. */
  readonly watchers: readonly ProcessId[];
  /** Not where it lies in a place that is known already. */
  readonly isKept: boolean;
}

export class RefValues {
  readonly #rows = new Map<ObjectId, Row>();

  get size(): number {
    return this.#rows.size;
  }

  adopt(id: ObjectId, maker: ProcessId): void {
    this.#row(id, maker);
  }

  provide(id: ObjectId, maker: ProcessId, value: RefValue): ProvidedValue {
    const row = this.#row(id, maker);
    const location = value.header.stored?.location;
    if (location !== undefined) {
      row.toldAt = location;
      if (row.values.some((known) => isAt(known, location))) return { watchers: [], isKept: false };
    }
    row.values.push(value);
    row.lost = false;
    return { watchers: row.values.length === 1 ? row.watchers.splice(0) : [], isKept: true };
  }

  /** The value, or "lost", or undefined when the watcher will be told later. */
  watch(id: ObjectId, watcher: ProcessId): RefValue | "lost" | undefined {
    const row = this.#rows.get(id);
    if (row === undefined) {
      this.#row(id, "" as ProcessId).watchers.push(watcher);
      return undefined;
    }
    const [value] = row.values;
    if (value !== undefined) return value;
    if (row.lost) return "lost";
    row.watchers.push(watcher);
    return undefined;
  }

  /** Returns the process that makes the value; undefined once the value is here, or its maker is gone. */
  makerOf(id: ObjectId): ProcessId | undefined {
    const row = this.#rows.get(id);
    return row === undefined || row.values.length > 0 || row.lost ? undefined : row.maker;
  }

  /** A reader found the bytes of a value gone from where they should be. */
  bytesLost(id: ObjectId, reader: ProcessId, location: WireLocation): LostValueEffect {
    const row = this.#rows.get(id);
    if (row === undefined) return { kind: "lost", gone: undefined };
    const at = row.values.findIndex((known) => isAt(known, location));
    const gone = at < 0 ? undefined : row.values.splice(at, 1)[0];
    const [value] = row.values;
    if (value !== undefined) return { kind: "deliver", value, gone };
    if (row.lost || row.makerIsGone) {
      row.lost = true;
      return { kind: "lost", gone };
    }
    if (reader !== row.maker) row.watchers.push(reader);
    return gone === undefined ? { kind: "wait", gone } : { kind: "remake", maker: row.maker, toldAt: row.toldAt ?? location, gone };
  }

  /** Whether the value is here. */
  has(id: ObjectId): boolean {
    return (this.#rows.get(id)?.values.length ?? 0) > 0;
  }

  /** Gives up a value that its maker cannot make again. @returns the waiting processes */
  giveUp(id: ObjectId): ProcessId[] {
    const row = this.#rows.get(id);
    if (row === undefined || row.values.length > 0) return [];
    row.lost = true;
    return row.watchers.splice(0);
  }

  /** Frees an object without a holder. */
  free(id: ObjectId): { maker: ProcessId; values: readonly RefValue[] } | undefined {
    const row = this.#rows.get(id);
    this.#rows.delete(id);
    return row;
  }

  /** Values that this process still owed: their watchers are to be told. */
  makerGone(process: ProcessId): { id: ObjectId; watchers: ProcessId[] }[] {
    const lost: { id: ObjectId; watchers: ProcessId[] }[] = [];
    for (const [id, row] of this.#rows) {
      row.watchers = row.watchers.filter((watcher) => watcher !== process);
      if (row.maker !== process) continue;
      row.makerIsGone = true;
      if (row.values.length > 0) continue;
      row.lost = true;
      lost.push({ id, watchers: row.watchers });
      row.watchers = [];
    }
    return lost;
  }

  /** Forgets the watchers of a dead node. */
  watchersGone(tag: NodeTag): void {
    for (const row of this.#rows.values()) row.watchers = row.watchers.filter((watcher) => nodeTagOf(watcher) !== tag);
  }

  #row(id: ObjectId, maker: ProcessId): Row {
    let row = this.#rows.get(id);
    if (row === undefined) {
      row = { maker, makerIsGone: false, values: [], toldAt: undefined, lost: false, watchers: [] };
      this.#rows.set(id, row);
    } else if (row.maker === ("" as ProcessId)) {
      row.maker = maker;
    }
    return row;
  }
}

function isAt({ header: { stored } }: RefValue, location: WireLocation): boolean {
  const known = stored?.location;
  return known !== undefined && known[0] === location[0] && known[1] === location[1] && known[3] === location[3];
}
