/**
 * Lineage: keeps how the results of this process's calls were made, so that lost ones can be made again.
 *
 * A call is kept when one of the results is in the store or contains refs. Any other result is in its holders'
 * memory and is lost only with them. The call is kept as long as one of these results can be reached. It is also kept
 * while a kept call has one of them among its arguments: that call may run again, and then needs an argument that was
 * freed.
 *
 * Lineage keeps the call, and never the values of the refs among its arguments, except small ones that this process
 * has in its memory anyway. Arguments given by value are kept in the call. Arguments of 64 KB and more are kept as an
 * object in the store, within a part of the quota and while the store is not short. All calls together are bounded in bytes.
 * Beyond the bound the oldest calls are forgotten, and a later failure gives that as its reason.
 */
import { copyBytes } from "../../../runtime/base/collections/bytes.ts";
import type { ObjectId, ProcessId } from "../../../runtime/base/ids.ts";
import type { ObjectEntry } from "../../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../../runtime/objects/object-table.ts";
import type { WireLocation } from "../../../runtime/wire/messages.ts";
import type { CallRecord } from "../call-record.ts";

/** Ray's default: some millions of calls with small arguments. */
const LINEAGE_BYTES_MAX: number = 1024 * 1024 * 1024;
/** Memory of a record, its entries and its row here, without the bytes of the arguments. */
const RECORD_BYTES = 1024;

/** A kept call. The items of a stream are its results. */
type KeptCall = Omit<CallRecord, "results"> & { results: readonly ObjectEntry[] };

interface Row {
  /** The call; undefined once it was forgotten. `wasEvicted` tells why. */
  record: KeptCall | undefined;
  wasEvicted: boolean;
  bytes: number;
  /** Number of results that can be reached, and of kept calls that have one of them among their arguments. */
  uses: number;
  /** Rows of the calls that made this call's arguments. */
  sources: Row[];
  /** Small arguments, pinned. While they are in memory, the calls that made them need not run again. */
  values: ObjectEntry[];
  /** Arguments given by value that lie in the store, pinned. */
  stored: ObjectEntry | undefined;
  /** Items of a stream that can be reached, here or elsewhere, and could be lost. */
  items: Set<ObjectEntry> | undefined;
}

/** A result that this process gave up, while the daemon, its owner of record, keeps the value for others. */
interface Abroad {
  readonly entry: ObjectEntry;
  /**
   * Place of the result in the store at that time; undefined for a value in memory, and while the result is made
   * again.
   */
  location: WireLocation | undefined;
}

interface LineageOptions {
  table: Pick<ObjectTable, "pin" | "unpin">;
  processId: ProcessId;
  bytesMax?: number;
  /** Limit on arguments by value that lie in the store. */
  storedBytesMax?: number;
}

export class Lineage {
  readonly #options: Required<LineageOptions>;
  /** Rows with an argument in the store, the oldest first. */
  readonly #withStored = new Set<Row>();
  #storedBytes = 0;
  readonly #rowOf = new WeakMap<ObjectEntry, Row>();
  /** Streams by the record of their call, from the first item that is kept. */
  readonly #rowOfStream = new WeakMap<CallRecord, Row>();
  /** Oldest first. */
  readonly #rows = new Set<Row>();
  readonly #abroad = new Map<ObjectId, Abroad>();
  #bytes = 0;

  constructor(options: LineageOptions) {
    this.#options = { bytesMax: LINEAGE_BYTES_MAX, storedBytesMax: 0, ...options };
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Notes that the call has ended with these results. It must run before the arguments are released. */
  retain(record: CallRecord): void {
    const known = record.results.map((entry) => this.#rowOf.get(entry)).find((row) => row?.record === record);
    const row = known ?? this.#newRow(record);
    for (const entry of record.results) {
      if (!isRemade(entry) || this.#rowOf.get(entry) === row) continue;
      this.#rowOf.set(entry, row);
      row.uses += 1;
    }
    if (row.uses === 0) for (const source of this.#forget(row)) this.#unuse(source);
    this.#evict();
  }

  /** Notes that an item of a stream lies in the store or contains refs. The call may still be running. */
  retainItem(record: CallRecord, item: ObjectEntry): void {
    let row = this.#rowOfStream.get(record);
    if (row?.record === undefined) {
      row = this.#newRow(record);
      row.items = new Set();
      this.#rowOfStream.set(record, row);
    }
    row.items?.add(item);
    this.#rowOf.set(item, row);
    row.uses += 1;
    this.#evict();
  }

  /**
   * Releases arguments that only lineage keeps, because the store is short. Their calls cannot run again then, and
   * say so.
   */
  dropStored(): void {
    for (const row of this.#withStored) this.#unstore(row);
  }

  /** The call that made an object; "evicted" when it was forgotten for want of room, undefined when no call of this process made it. */
  callOf(entry: ObjectEntry): CallRecord | "evicted" | undefined {
    const row = this.#rowOf.get(entry);
    // The same run remakes all lost items of a stream, along with the released item that a call needs now.
    if (row?.record !== undefined && row.items !== undefined) row.record.results = Array.from(new Set(row.items).add(entry));
    return row?.record ?? (row?.wasEvicted === true ? "evicted" : undefined);
  }

  /** Notes that nobody in this process can reach the object any more. */
  released(entry: ObjectEntry): void {
    const row = this.#rowOf.get(entry);
    if (row === undefined) return;
    const { id, owner, payload, contained } = entry;
    const location = payload?.stored?.location;
    const isOwn = owner === undefined || owner === this.#options.processId;
    // Values without bytes in the store and without refs are never lost, and the daemon does not say when it frees them.
    const isKeptElsewhere = !isOwn && (location !== undefined || contained !== undefined);
    if (isKeptElsewhere && row.record !== undefined) this.#abroad.set(id as ObjectId, { entry, location });
    else this.#unreachable(entry, row);
  }

  /** Notes that a released object is made again, and can be reached from now on. */
  revived(entry: ObjectEntry): void {
    const row = this.#rowOf.get(entry);
    if (row === undefined) return;
    row.items?.add(entry);
    const given = entry.id === undefined ? undefined : this.#abroad.get(entry.id);
    if (given === undefined) row.uses += 1;
    else given.location = undefined;
  }

  /** Notes that the daemon has freed an object that it owned and this process made. */
  freedAbroad(id: ObjectId): void {
    const entry = this.abroad(id);
    // An object that is being made again is freed once more when it has been made.
    if (entry?.state !== "freed") return;
    const row = this.#rowOf.get(entry);
    if (row !== undefined) this.#unreachable(entry, row);
  }

  /** Returns an object that the daemon owns, and that this process made and gave up. It may be in the making again. */
  abroad(id: ObjectId): ObjectEntry | undefined {
    return this.#abroad.get(id)?.entry;
  }

  /** Returns the place in the store that such an object had when it was given up. */
  locationAbroad({ id }: ObjectEntry): WireLocation | undefined {
    return id === undefined ? undefined : this.#abroad.get(id)?.location;
  }

  #unreachable(entry: ObjectEntry, row: Row): void {
    if (entry.id !== undefined) this.#abroad.delete(entry.id);
    row.items?.delete(entry);
    if (row.record !== undefined) this.#unuse(row);
  }

  #newRow(record: CallRecord): Row {
    const row: Row = {
      record: kept(record),
      wasEvicted: false,
      bytes: bytesOf(record),
      uses: 0,
      sources: [],
      values: [],
      stored: undefined,
      items: undefined,
    };
    for (const entry of record.pinned) {
      if (entry.id !== undefined && entry.id === record.args?.stored?.id) {
        this.#store(row, entry);
        continue;
      }
      const source = this.#rowOf.get(entry);
      if (source?.record !== undefined) {
        source.uses += 1;
        row.sources.push(source);
      } else if (isSmallValue(entry)) {
        this.#options.table.pin(entry);
        row.values.push(entry);
      }
    }
    this.#rows.add(row);
    this.#bytes += row.bytes;
    return row;
  }

  #store(row: Row, entry: ObjectEntry): void {
    this.#options.table.pin(entry);
    row.stored = entry;
    this.#withStored.add(row);
    this.#storedBytes += storedBytesOf(entry);
    for (const oldest of this.#withStored) {
      if (this.#storedBytes <= this.#options.storedBytesMax) return;
      this.#unstore(oldest);
    }
  }

  #unstore(row: Row): void {
    const entry = row.stored;
    if (entry === undefined) return;
    row.stored = undefined;
    this.#withStored.delete(row);
    this.#storedBytes -= storedBytesOf(entry);
    this.#options.table.unpin(entry);
  }

  #unuse(row: Row): void {
    // A loop instead of recursion: a chain of calls may be long.
    const pending = [row];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      next.uses -= 1;
      if (next.uses === 0) pending.push(...this.#forget(next));
    }
  }

  /** Returns the rows that a call used. */
  #forget(row: Row): Row[] {
    if (!this.#rows.delete(row)) return [];
    this.#bytes -= row.bytes;
    row.record = undefined;
    row.items = undefined;
    const { sources, values } = row;
    row.sources = [];
    row.values = [];
    this.#unstore(row);
    for (const entry of values) this.#options.table.unpin(entry);
    return sources;
  }

  #evict(): void {
    for (const row of this.#rows) {
      if (this.#bytes <= this.#options.bytesMax) return;
      row.wasEvicted = true;
      for (const source of this.#forget(row)) this.#unuse(source);
    }
  }
}

/** Whether losing the result would need its call. Small plain results are in their holders' memory. */
function isRemade(entry: ObjectEntry): boolean {
  return entry.state === "ready" && (entry.payload?.stored !== undefined || entry.contained !== undefined);
}

/**
 * Whether the value was made here and is in memory. Large values are not kept for a call that may run again: they
 * would fill the store.
 */
function isSmallValue(entry: ObjectEntry): boolean {
  if (entry.sequence === 0 || !entry.isSettled || entry.state === "freed") return false;
  return entry.payload?.stored === undefined && entry.contained === undefined;
}

function storedBytesOf(entry: ObjectEntry): number {
  return entry.payload?.stored?.location[2] ?? 0;
}

/**
 * Copies a record without its handles and limits, and without the chunk of 64 KB that its few bytes share with other
 * calls.
 */
function kept(record: CallRecord): KeptCall {
  const chunk = copyBytes(record.chunk, record.start, record.end);
  return { ...record, parent: undefined, limits: undefined, isEnded: true, chunk, start: 0, end: chunk.length };
}

function bytesOf(record: CallRecord): number {
  let bytes = RECORD_BYTES + record.end - record.start;
  if (record.args !== undefined) {
    bytes += record.args.inBand.length;
    for (const buffer of record.args.buffers) bytes += buffer.length;
  }
  return bytes;
}
