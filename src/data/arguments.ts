/** Checks of plain arguments of `Dataset`'s methods. `method` is the name that the error has. */
import { describeValue } from "../core/internal.ts";

/** Name in plans of a step with a function: `map(parse)`, or `map` where the function has no name. */
export function nameOf(method: string, fn: { readonly name: string }): string {
  return fn.name === "" || fn.name === "fn" ? method : `${method}(${fn.name})`;
}

export function requireFunction(method: string, fn: unknown): void {
  if (typeof fn !== "function") throw new TypeError(`Cannot call ${method}: it takes a function: received ${describeValue(fn)}`);
}

export function requireCount(method: string, rows: number): void {
  if (!Number.isSafeInteger(rows) || rows < 0)
    throw new RangeError(`Cannot call ${method}: it takes a whole number of rows from 0: received ${describeValue(rows)}`);
}

export function requireParts(method: string, parts: number): void {
  if (!Number.isSafeInteger(parts) || parts < 1)
    throw new RangeError(`Cannot call ${method}: it takes a whole number of parts from 1: received ${describeValue(parts)}`);
}

export function requireNames(method: string, names: readonly unknown[]): void {
  if (Array.isArray(names) && names.every((name) => typeof name === "string")) return;
  const wrong: unknown = Array.isArray(names) ? names.find((name) => typeof name !== "string") : names;
  throw new TypeError(`Cannot call ${method}: it takes names of columns: received ${describeValue(wrong)}`);
}

/** The seed that the options have, or one at random. */
export function seedOf(method: string, options: { seed?: number | undefined }): number {
  const { seed = Math.floor(Math.random() * 2 ** 32) } = options;
  if (!Number.isSafeInteger(seed))
    throw new TypeError(`Cannot call ${method}: it takes a whole number as seed: received ${describeValue(seed)}`);
  return seed;
}
