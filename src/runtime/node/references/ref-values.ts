/**
 * The values of refs whose owner of record is this daemon (those made inside workers), and the watchers of all refs.
 *
 * Decides where a question for a value goes: to what is kept here, to the driver that owns it, or, when its owner is gone, to an
 * error that says so. Values that lie in the store are kept as their location only. What a value contains is held for the daemon until the value
 * goes: a value that is lost or not kept is handed back, so that its caller lets go of that.
 *
 * The maker may tell several values of an object, where it makes one again that is not lost, or not yet known to be. All are kept: readers get the oldest, and when that is lost
 * the next. Only when all are lost is the maker asked, so it knows that whatever it has told is gone, and always owes an answer.
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

/** The answer to a report that a value is lost. `gone`: which of those here that was, to be forgotten with what it contains. */
type LostValueEffect = { gone: RefValue | undefined } & LostValueAnswer;

type LostValueAnswer =
  /** There is another. */
  | { kind: "deliver"; value: RefValue }
  /** The maker is to make the object again; the reader is told when it has. By the place the maker sees whether something that it has told is still on the way. */
  | { kind: "remake"; maker: ProcessId; toldAt: WireLocation }
  /** That is under way. */
  | { kind: "wait" }
  | { kind: "lost" };

/** What became of a value that arrived. */
interface ProvidedValue {
  /** Those who asked for it before it was here. */
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

  /** Who is at work on it: undefined once the value is here, or its maker is gone. */
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

  /** Its maker cannot make it again. @returns who waits for it */
  giveUp(id: ObjectId): ProcessId[] {
    const row = this.#rows.get(id);
    if (row === undefined || row.values.length > 0) return [];
    row.lost = true;
    return row.watchers.splice(0);
  }

  /** Nobody holds it any more. */
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

  /** Those of a dead node ask no more. */
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
