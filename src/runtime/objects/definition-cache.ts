/**
 * The functions and classes that this process has received, by id, each revived once.
 *
 * A definition arrives with the call that first needs it, or is fetched from the node daemon. Reviving may import modules, so the cache keeps promises.
 * Hot paths ask `isReady`, which answers at once for settled ones. The cache is bounded and drops the least recently used definition. A later call or value
 * fetches it again from the node daemon, which keeps a definition while any process can call it.
 */
import { copyBytes } from "../base/collections/bytes.ts";
import type { ObjectId, ProcessId } from "../base/ids.ts";
import { reviveDefinition } from "../closure/revive.ts";
import { isWellKnownId, loadWellKnown, wellKnownValue } from "../closure/values/well-known.ts";
import type { DecodeHooks } from "../wire/value/decode.ts";
import type { DefinitionHeader } from "../wire/calls/definition-messages.ts";
import type { StoredHeader } from "../wire/messages.ts";
import type { ObjectEntry } from "./object-entry.ts";

/** One entry of the cache. */
export interface KeptDefinition {
  promise: Promise<unknown>;
  isReady: boolean;
  /** Ready, or never to be. */
  isSettled: boolean;
  /** Exempt from the cache's bound, and never dropped. */
  readonly isForGood: boolean;
  value: unknown;
  /** When it was last used, by the cache's clock. */
  usedAt: number;
  /** Until then a value that is being read may need it. */
  neededUntilMs: number;
  sizeBytes: number;
  /** The objects that this definition pins. */
  readonly pinned: ObjectEntry[];
}

/** The parts of a definition that lies in the store; its entry is pinned. */
type ReadStored = (stored: StoredHeader) => Promise<{ parts: { inBand: Uint8Array; buffers: readonly Uint8Array[] }; entry: ObjectEntry }>;

type FetchDefinition = (id: string) => Promise<{ header: DefinitionHeader; body: Uint8Array }>;

interface DefinitionCacheOptions {
  fetch: FetchDefinition;
  /** Hooks for reading something with these refs in it. */
  hooksFor: (refs: readonly ObjectEntry[]) => DecodeHooks;
  readStored: ReadStored;
  table: {
    receive: (ref: { id: ObjectId; owner: ProcessId }) => ObjectEntry;
    unpin: (entry: ObjectEntry) => void;
    trackFresh: (entry: ObjectEntry, handle: object) => void;
  };
  limits?: { count: number; bytes: number };
}

/** A program has some hundred functions; a thousand are one place that makes them without end. */
const DEFINITIONS_MAX = 1000;
/** Limit on the serialized bytes of all entries. Revived definitions take two to three times as much, and a worker should stay small. */
const DEFINITION_BYTES_MAX = 32 * 1024 * 1024;

/** A value's definitions stay for this long, as its bytes may be fetched between their loading and its reading. */
const NEEDED_FOR_MS = 1000;

const NOTHING = { promise: Promise.resolve(undefined), usedAt: 0, neededUntilMs: 0, sizeBytes: 0, pinned: [] };

/** A function that does not come from the cache and is never dropped. */
export function keptForGood(value: unknown): KeptDefinition {
  return { ...NOTHING, isReady: true, isSettled: true, isForGood: true, value };
}

export class DefinitionCache {
  readonly #rows = new Map<string, KeptDefinition>();
  /** Definitions that this process made. */
  readonly #provided = new Map<string, KeptDefinition>();
  /** For each class the reference that keeps its definition, for values that contain instances. */
  readonly #references = new WeakMap<object, { readonly entry: ObjectEntry }>();
  readonly #options: DefinitionCacheOptions;
  readonly #limits: { count: number; bytes: number };
  #sizeBytes = 0;
  #clock = 0;

  constructor(options: DefinitionCacheOptions) {
    this.#options = options;
    this.#limits = options.limits ?? { count: DEFINITIONS_MAX, bytes: DEFINITION_BYTES_MAX };
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Whether every one of them can be used now. */
  areReady(ids: readonly string[]): boolean {
    for (const id of ids) {
      const row = this.keptOf(id);
      if (row?.isReady !== true) return false;
      this.used(row);
    }
    return true;
  }

  async loadAll(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.load(id)));
  }

  ready(id: string): unknown {
    const row = this.keptOf(id);
    return row?.isReady === true ? row.value : undefined;
  }

  keptOf(id: string): KeptDefinition | undefined {
    return this.#rows.get(id) ?? this.#provided.get(id);
  }

  used(row: KeptDefinition): void {
    this.#clock += 1;
    row.usedAt = this.#clock;
  }

  load(id: string): Promise<unknown> {
    const known = this.keptOf(id);
    if (known !== undefined) {
      this.used(known);
      known.neededUntilMs = performance.now() + NEEDED_FOR_MS;
      return known.promise;
    }
    return this.#add(id, 0, async (row) => {
      row.neededUntilMs = performance.now() + NEEDED_FOR_MS;
      if (isWellKnownId(id)) {
        await loadWellKnown(id);
        return wellKnownValue(id);
      }
      const { header, body } = await this.#options.fetch(id);
      this.#grow(row, body.byteLength);
      return await this.#revive(header, body, row);
    });
  }

  /** A definition that this process made itself: it is what it is. */
  provide(id: string, value: unknown): void {
    if (!this.#provided.has(id)) this.#provided.set(id, keptForGood(value));
  }

  receive(header: DefinitionHeader, body: Uint8Array): void {
    if (this.#rows.has(header.id)) {
      // The definition exists here already, so the holds that came with the message are returned.
      for (const [id, owner] of header.refs) this.#options.table.unpin(this.#options.table.receive({ id, owner }));
      return;
    }
    const own = copyBytes(body);
    void this.#add(header.id, own.byteLength, (row) => this.#revive(header, own, row)).catch(() => {
      // Each call of the definition fails with the same error.
    });
  }

  /** Drops a definition that no caller needs any more. A running call keeps its own. */
  forget(id: string): void {
    const row = this.#rows.get(id);
    if (row?.isSettled !== true) return;
    this.#rows.delete(id);
    this.#sizeBytes -= row.sizeBytes;
    this.#unpin(row);
  }

  /** The reference of the definition that brought a class here. */
  referenceOf(target: object): ObjectEntry | undefined {
    return this.#references.get(target)?.entry;
  }

  #add(id: string, sizeBytes: number, revive: (row: KeptDefinition) => Promise<unknown>): Promise<unknown> {
    this.#clock += 1;
    const row: KeptDefinition = {
      ...NOTHING,
      isReady: false,
      isSettled: false,
      isForGood: false,
      value: undefined,
      usedAt: this.#clock,
      sizeBytes,
      pinned: [],
    };
    this.#rows.set(id, row);
    this.#sizeBytes += sizeBytes;
    row.promise = revive(row);
    row.promise.then(
      (value) => {
        row.isReady = true;
        row.isSettled = true;
        row.value = value;
        this.#keepWithinLimits(row);
      },
      // Kept: a definition that cannot be revived here fails each call with the same error.
      () => {
        row.isSettled = true;
        this.#keepWithinLimits(row);
      },
    );
    return row.promise;
  }

  #grow(row: KeptDefinition, bytes: number): void {
    row.sizeBytes += bytes;
    this.#sizeBytes += bytes;
  }

  #keepWithinLimits(newest: KeptDefinition): void {
    const { count, bytes } = this.#limits;
    if (this.#rows.size <= count && this.#sizeBytes <= bytes) return;
    const nowMs = performance.now();
    const evictable = [...this.#rows].filter(([, row]) => row.isSettled && row !== newest && row.neededUntilMs < nowMs);
    const oldestFirst = evictable.sort(([, a], [, b]) => a.usedAt - b.usedAt);
    // A tenth at a time, so that not each new one sorts them all.
    for (const [id, row] of oldestFirst) {
      if (this.#rows.size <= count * 0.9 && this.#sizeBytes <= bytes * 0.9) return;
      this.forget(id);
      row.isReady = false;
      row.value = undefined;
      row.promise = NOTHING.promise;
    }
  }

  #unpin(row: KeptDefinition): void {
    for (const entry of row.pinned.splice(0)) this.#options.table.unpin(entry);
  }

  async #revive(header: DefinitionHeader, body: Uint8Array, row: KeptDefinition): Promise<unknown> {
    const { table, hooksFor, readStored } = this.#options;
    const refs = header.refs.map(([id, owner]) => table.receive({ id, owner }));
    row.pinned.push(...refs);
    await this.loadAll(header.dependencies);
    let parts = header.stored === undefined ? partsOf(header, body) : undefined;
    if (parts === undefined) {
      const read = await readStored(header.stored as StoredHeader);
      parts = read.parts;
      row.pinned.push(read.entry);
    }
    return await reviveDefinition(parts.inBand, parts.buffers, {
      hooks: hooksFor(refs),
      definition: (id) => this.load(id),
      ...this.#hearsOfClasses(header, refs),
    });
  }

  #hearsOfClasses({ own }: DefinitionHeader, refs: readonly ObjectEntry[]): { onClass?: (target: object) => void } {
    const entry = own === undefined ? undefined : refs[own];
    if (entry === undefined) return {};
    const held = { entry };
    let isTracked = false;
    return {
      onClass: (target) => {
        if (!isTracked) this.#options.table.trackFresh(entry, held);
        isTracked = true;
        this.#references.set(target, held);
      },
    };
  }
}

function partsOf(header: DefinitionHeader, body: Uint8Array): { inBand: Uint8Array; buffers: readonly Uint8Array[] } {
  let offset = header.inBand;
  const buffers = header.buffers.map((size) => {
    const buffer = copyBytes(body, offset, offset + size);
    offset += size;
    return buffer;
  });
  return { inBand: body.subarray(0, header.inBand), buffers };
}
