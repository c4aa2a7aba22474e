/**
 * Classes, unique symbols and weak collections keep one identity wherever they travel.
 *
 * An id is unique for the process that captured the value first, followed by a counter. Owns the table from id to value: a worker makes one
 * class for an id, whichever definition contains it, and the process where a class was born gets its own class back. Values are held
 * weakly: once nothing else holds a class, nobody can tell a new one from it.
 */
import { createHash, randomBytes } from "node:crypto";

const PROCESS_TAG = randomBytes(6).toString("hex");
const idByValue = new WeakMap<WeakKey, string>();
const valueById = new Map<string, WeakRef<WeakKey>>();
const collected = new FinalizationRegistry((id: string) => {
  if (!valueById.get(id)?.deref()) valueById.delete(id);
});
let counter = 0;

/** The id of a value, given to it now if it has none. */
export function identityOf(value: WeakKey): string {
  const known = idByValue.get(value);
  if (known !== undefined) return known;
  counter += 1;
  const id = `${PROCESS_TAG}:${counter}`;
  adoptIdentity(id, value);
  return id;
}

export function knownIdentity(id: string): WeakKey | undefined {
  return valueById.get(id)?.deref();
}

/** Gives a value made here the id that it has in other processes. */
export function adoptIdentity(id: string, value: WeakKey): void {
  idByValue.set(value, id);
  valueById.set(id, new WeakRef(value));
  collected.register(value, id);
}

/** Returns a definition's id, the same on every machine. Equal definitions have equal ids. */
export function definitionId(bytes: Uint8Array, buffers: readonly Uint8Array[]): string {
  const hash = createHash("sha256").update(bytes);
  for (const buffer of buffers) hash.update(buffer);
  return hash.digest("hex").slice(0, 32);
}
