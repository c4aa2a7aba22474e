/**
 * Tables of keys: the kinds of values that a file's keys have, and the JSON Schema of a table. Pure.
 */

/** The kind of a key's value. */
export type ValueKind =
  | { readonly kind: "text" | "any" | "texts" }
  | { readonly kind: "number"; readonly min: number; readonly max?: number; readonly isWhole?: boolean }
  | { readonly kind: "choice"; readonly values: readonly string[] }
  | { readonly kind: "map"; readonly of: ValueKind; readonly entriesMax?: number }
  /** `isOpen`: further keys belong to the provider, which checks them. */
  | { readonly kind: "object"; readonly keys: KeyTable; readonly isOpen?: boolean };

interface Key {
  readonly value: ValueKind;
  readonly describe: string;
  readonly isNeeded?: boolean;
}
export type KeyTable = Readonly<Record<string, Key>>;

export type Schema = Readonly<Record<string, unknown>>;

/** Returns the schema of a set of keys. */
export function objectSchema(keys: KeyTable, isOpen: boolean): Schema {
  const entries = Object.entries(keys);
  const required = entries.filter(([, { isNeeded }]) => isNeeded === true).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, { value, describe }]) => [name, { description: describe, ...schemaOf(value) }])),
    ...(required.length > 0 && { required }),
    additionalProperties: isOpen,
  };
}

function schemaOf(value: ValueKind): Schema {
  switch (value.kind) {
    case "any":
      return {};
    case "text":
      return { type: "string", minLength: 1 };
    case "texts":
      return { type: "array", items: { type: "string" } };
    case "number":
      return {
        type: value.isWhole === true ? "integer" : "number",
        minimum: value.min,
        ...(value.max !== undefined && { maximum: value.max }),
      };
    case "choice":
      return { enum: value.values };
    case "map":
      return {
        type: "object",
        additionalProperties: schemaOf(value.of),
        ...(value.entriesMax !== undefined && { maxProperties: value.entriesMax }),
      };
    case "object":
      return objectSchema(value.keys, value.isOpen === true);
  }
}
