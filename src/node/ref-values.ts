/**
 * The values of refs whose owner of record is this daemon (those made inside workers), and the watchers of all refs.
 *
 * Decides where a question for a value goes: to what is kept here, to the driver that owns it, or, when its owner is gone, to an
 * error that says so. Values that lie in the store are kept as their location only.
 */
import type { ObjectId, ProcessId } from "../base/ids.ts";
import type { PayloadHeader } from "../wire/messages.ts";

export interface RefValue {
  header: PayloadHeader;
  body: Uint8Array;
}

interface Row {
  /** The process that makes it: when it dies before the value came, the value never comes. */
  maker: ProcessId;
  value: RefValue | undefined;
  lost: boolean;
  watchers: ProcessId[];
}

export class RefValues {
  readonly #rows = new Map<ObjectId, Row>();

  get size(): number {
    return this.#rows.size;
  }

  adopt(id: ObjectId, maker: ProcessId): void {
    this.#row(id, maker);
  }

  /** @returns those who asked for it before it was here. */
  provide(id: ObjectId, maker: ProcessId, value: RefValue): ProcessId[] {
    const row = this.#row(id, maker);
    if (row.value !== undefined) return [];
    row.value = value;
    const watchers = row.watchers;
    row.watchers = [];
    return watchers;
  }

  /** The value, or "lost", or undefined when the watcher will be told later. */
  watch(id: ObjectId, watcher: ProcessId): RefValue | "lost" | undefined {
    const row = this.#rows.get(id);
    if (row === undefined) {
      this.#rows.set(id, { maker: "" as ProcessId, value: undefined, lost: false, watchers: [watcher] });
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

  free(id: ObjectId): RefValue | undefined {
    const value = this.#rows.get(id)?.value;
    this.#rows.delete(id);
    return value;
  }

  /** Values that this process still owed: their watchers are to be told. */
  makerGone(process: ProcessId): { id: ObjectId; watchers: ProcessId[] }[] {
    const lost: { id: ObjectId; watchers: ProcessId[] }[] = [];
    for (const [id, row] of this.#rows) {
      row.watchers = row.watchers.filter((watcher) => watcher !== process);
      if (row.maker !== process || row.value !== undefined) continue;
      row.lost = true;
      lost.push({ id, watchers: row.watchers });
      row.watchers = [];
    }
    return lost;
  }

  #row(id: ObjectId, maker: ProcessId): Row {
    let row = this.#rows.get(id);
    if (row === undefined) {
      row = { maker, value: undefined, lost: false, watchers: [] };
      this.#rows.set(id, row);
    } else if (row.maker === ("" as ProcessId)) {
      row.maker = maker;
    }
    return row;
  }
}
