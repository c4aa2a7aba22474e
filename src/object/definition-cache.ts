/**
 * The functions and classes that this process has received, by content hash, each revived once.
 *
 * A definition comes with the call that first needs it, or is fetched from the node daemon. Reviving may import modules, so what is kept is a
 * promise; `ready` answers at once for those that have settled, which is what hot paths ask.
 */
import { copyBytes } from "../base/bytes.ts";
import { reviveDefinition } from "../closure/revive.ts";
import type { DecodeHooks } from "../wire/value/decode.ts";
import type { DefinitionHeader, StoredHeader } from "../wire/messages.ts";

interface Row {
  promise: Promise<unknown>;
  isReady: boolean;
  value: unknown;
}

/** The parts of a definition that lies in the store. */
export type ReadStored = (stored: StoredHeader) => Promise<{ inBand: Uint8Array; buffers: readonly Uint8Array[] }>;

/** Hooks for reading a definition with these refs in it, which are kept as long as the definition: for good. */
export type HooksFor = (refs: DefinitionHeader["refs"]) => DecodeHooks;

export type FetchDefinition = (id: string) => Promise<{ header: DefinitionHeader; body: Uint8Array }>;

export class DefinitionCache {
  readonly #rows = new Map<string, Row>();
  readonly #fetch: FetchDefinition;
  readonly #hooksFor: HooksFor;
  readonly #readStored: ReadStored;

  constructor(options: { fetch: FetchDefinition; hooksFor: HooksFor; readStored: ReadStored }) {
    this.#fetch = options.fetch;
    this.#readStored = options.readStored;
    this.#hooksFor = options.hooksFor;
  }

  /** Whether every one of them can be used now. */
  areReady(ids: readonly string[]): boolean {
    for (const id of ids) if (this.#rows.get(id)?.isReady !== true) return false;
    return true;
  }

  async loadAll(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.load(id)));
  }

  ready(id: string): unknown {
    const row = this.#rows.get(id);
    return row?.isReady === true ? row.value : undefined;
  }

  load(id: string): Promise<unknown> {
    const known = this.#rows.get(id);
    if (known !== undefined) return known.promise;
    return this.#add(
      id,
      this.#fetch(id).then(({ header, body }) => this.#revive(header, body)),
    );
  }

  /** A definition that this process made itself: it is what it is. */
  provide(id: string, value: unknown): void {
    if (!this.#rows.has(id)) this.#rows.set(id, { promise: Promise.resolve(value), isReady: true, value });
  }

  receive(header: DefinitionHeader, body: Uint8Array): void {
    if (this.#rows.has(header.id)) return;
    const own = copyBytes(body);
    void this.#add(header.id, this.#revive(header, own));
  }

  #add(id: string, promise: Promise<unknown>): Promise<unknown> {
    const row: Row = { promise, isReady: false, value: undefined };
    this.#rows.set(id, row);
    promise.then(
      (value) => {
        row.isReady = true;
        row.value = value;
      },
      // Kept: a definition that cannot be revived here fails each of its calls with the same error.
      () => {},
    );
    return promise;
  }

  async #revive(header: DefinitionHeader, body: Uint8Array): Promise<unknown> {
    await this.loadAll(header.dependencies);
    const { inBand, buffers } = header.stored === undefined ? partsOf(header, body) : await this.#readStored(header.stored);
    return await reviveDefinition(inBand, buffers, { hooks: this.#hooksFor(header.refs), definition: (id) => this.load(id) });
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
