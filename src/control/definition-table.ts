/**
 * The functions and classes of the node by id and by content hash: sent here once by whoever captured them, fetched once by each process that
 * meets them inside a value or starts an actor of them. A fetch that comes before its definition waits for it.
 */
import { copyBytes } from "../base/bytes.ts";
import type { DefinitionHeader } from "../wire/messages.ts";

export interface StoredDefinition {
  header: DefinitionHeader;
  body: Uint8Array;
}

export class DefinitionTable {
  readonly #definitions = new Map<string, StoredDefinition>();
  readonly #waiting = new Map<string, ((definition: StoredDefinition) => void)[]>();

  define(header: DefinitionHeader, body: Uint8Array): void {
    const definition = { header: { ...header, number: 0 }, body: copyBytes(body) };
    for (const id of new Set([header.id, header.contentId])) {
      if (this.#definitions.has(id)) continue;
      this.#definitions.set(id, definition);
      const waiting = this.#waiting.get(id) ?? [];
      this.#waiting.delete(id);
      for (const resolve of waiting) resolve(definition);
    }
  }

  has(id: string): boolean {
    return this.#definitions.has(id);
  }

  /** What an earlier head has kept. */
  restore(definitions: ReadonlyMap<string, StoredDefinition>): void {
    for (const { header, body } of definitions.values()) this.define(header, body);
  }

  fetch(id: string, resolve: (definition: StoredDefinition) => void): void {
    const known = this.#definitions.get(id);
    if (known !== undefined) {
      resolve(known);
      return;
    }
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) this.#waiting.set(id, [resolve]);
    else waiting.push(resolve);
  }
}
