/**
 * The durable tables of extensions: values by extension, table and key.
 *
 * Pure. A cluster's head records the changes (`tables/recorded-tables.ts`). Records of an extension that this head has not loaded are kept
 * for a head that has.
 */
import type { DurableTable } from "../extension/extension.ts";
import { problemOf, type Shape } from "../wire/header-shape.ts";
import { STORED_NAME_MAX } from "../control-plane/limits.ts";
import { storeKey } from "../control-plane/store-keys.ts";

export interface ExtensionRecord {
  readonly extension: string;
  readonly table: string;
  readonly key: string;
  readonly value: unknown;
}

/** No extension's and no table's name contains a slash. */
export function recordId({ extension, table, key }: Omit<ExtensionRecord, "value">): string {
  return `${extension}/${table}/${key}`;
}

export class ExtensionRecords {
  /** By extension and table, then by key. */
  readonly #tables = new Map<string, Map<string, unknown>>();

  put(record: ExtensionRecord): void {
    this.#valuesOf(record.extension, record.table).set(record.key, record.value);
  }

  /** @returns whether the record existed */
  delete({ extension, table, key }: Omit<ExtensionRecord, "value">): boolean {
    return this.#valuesOf(extension, table).delete(key);
  }

  /** @throws TypeError if the table holds a value of another shape */
  table<T>(extension: string, table: string, shape: Shape<T>): DurableTable<T> {
    if (!/^[\w-]{1,64}$/.test(table))
      throw new TypeError(`Cannot open table ${JSON.stringify(table)}: its name is letters, digits, _ and -`);
    const values = this.#valuesOf(extension, table);
    for (const [key, value] of values)
      if (!shape(value))
        throw new TypeError(
          `its table ${table} has a record ${JSON.stringify(key)} of another version: ${problemOf(shape, value, "the value")}`,
        );
    const checked = values as Map<string, T>;
    return {
      get: (key) => checked.get(key),
      set: (key, value) => {
        if (!shape(value))
          throw new TypeError(`Cannot set ${JSON.stringify(key)} in table ${table}: ${problemOf(shape, value, "the value")}`);
        const record = { extension, table, key, value };
        if (storeKey(recordId(record)).length > STORED_NAME_MAX)
          throw new RangeError(`Cannot set a key of ${key.length} characters in table ${table}: some 800 are the most`);
        this.put(record);
      },
      delete: (key) => this.delete({ extension, table, key }),
      entries: () => checked.entries(),
      get size() {
        return checked.size;
      },
    };
  }

  #valuesOf(extension: string, table: string): Map<string, unknown> {
    const name = `${extension}/${table}`;
    const known = this.#tables.get(name);
    if (known !== undefined) return known;
    const values = new Map<string, unknown>();
    this.#tables.set(name, values);
    return values;
  }
}
