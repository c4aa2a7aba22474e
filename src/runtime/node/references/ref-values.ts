/**
 * The values of refs whose owner of record is this daemon (those made inside workers), and the watchers of all refs.
 *
 * Decides where a question for a value goes: to what is kept here, to the driver that owns it, or, when its owner is gone, to an
 * error that says so. Values that lie in the store are kept as their location only. What a value contains is held for the daemon until the value
 * goes: a value that is replaced or not kept is handed back, so that its caller lets go of that.
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
  value: RefValue | undefined;
  lost: boolean;
  watchers: ProcessId[];
  /** Places of values that the maker made again although the first was not lost: they are freed with it. */
  spare: WireLocation[];
}

/** What is to be done about a value whose bytes are gone. */
type LostValueEffect =
  /** It lies elsewhere by now. */
  | { kind: "deliver"; value: RefValue }
  /** Its maker is to make it again; the reader is told when it has. */
  | { kind: "remake"; maker: ProcessId; location: WireLocation; gone: RefValue }
  /** That is under way. */
  | { kind: "wait" }
  | { kind: "lost"; gone?: RefValue };

/** What became of a value that arrived. */
interface ProvidedValue {
  /** Those who asked for it before it was here. */
  readonly watchers: readonly ProcessId[];
  /** Its place is noted to be freed, and nobody will read it. */
  readonly isSpare: boolean;
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
    if (row.value !== undefined) {
      // Its readers have mapped the first one.
      if (value.header.stored !== undefined) row.spare.push(value.header.stored.location);
      return { watchers: [], isSpare: true };
    }
    row.value = value;
    const watchers = row.watchers;
    row.watchers = [];
    return { watchers, isSpare: false };
  }

  /** The value, or "lost", or undefined when the watcher will be told later. */
  watch(id: ObjectId, watcher: ProcessId): RefValue | "lost" | undefined {
    const row = this.#rows.get(id);
    if (row === undefined) {
      this.#row(id, "" as ProcessId).watchers.push(watcher);
      return undefined;
    }
    if (row.value !== undefined) return row.value;
    if (row.lost) return "lost";
    row.watchers.push(watcher);
    return undefined;
  }

  /** Who is at work on it: undefined once the value is here, or its maker is gone. */
  makerOf(id: ObjectId): ProcessId | undefined {
    const row = this.#rows.get(id);
    return row === undefined || row.value !== undefined || row.lost ? undefined : row.maker;
  }

  /** A reader found the bytes of a value gone from where they should be. */
  bytesLost(id: ObjectId, reader: ProcessId, location: WireLocation): LostValueEffect {
    const row = this.#rows.get(id);
    if (row === undefined || row.lost) return { kind: "lost" };
    const { value, maker } = row;
    const known = value?.header.stored?.location;
    if (value !== undefined && (known === undefined || !isSamePlace(known, location))) return { kind: "deliver", value };
    row.value = undefined;
    if (row.makerIsGone) {
      row.lost = true;
      return value === undefined ? { kind: "lost" } : { kind: "lost", gone: value };
    }
    if (reader !== maker) row.watchers.push(reader);
    return value === undefined || known === undefined ? { kind: "wait" } : { kind: "remake", maker, location: known, gone: value };
  }

  /** Whether the value is here. */
  has(id: ObjectId): boolean {
    return this.#rows.get(id)?.value !== undefined;
  }

  /** Its maker cannot make it again. @returns who waits for it */
  giveUp(id: ObjectId): ProcessId[] {
    const row = this.#rows.get(id);
    if (row === undefined || row.value !== undefined) return [];
    row.lost = true;
    return row.watchers.splice(0);
  }

  /** Nobody holds it any more. */
  free(id: ObjectId): { maker: ProcessId; value: RefValue | undefined; spare: readonly WireLocation[] } | undefined {
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
      if (row.value !== undefined) continue;
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
      row = { maker, makerIsGone: false, value: undefined, lost: false, watchers: [], spare: [] };
      this.#rows.set(id, row);
    } else if (row.maker === ("" as ProcessId)) {
      row.maker = maker;
    }
    return row;
  }
}

function isSamePlace(a: WireLocation, b: WireLocation): boolean {
  return a[0] === b[0] && a[1] === b[1] && a[3] === b[3];
}
