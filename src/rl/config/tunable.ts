/** Values of a configuration in whose place Tune may search. */
import { isPlainObject } from "../../core/internal.ts";
import { isMarkedDomain, type MarkedDomain } from "../../runs/domain.ts";

type Code = ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown);
type Leaf = string | number | boolean | bigint | symbol | null | undefined | readonly unknown[] | Code;

/** A value, a domain of such values, or an object with domains in it. */
export type Tunable<V> = V | MarkedDomain<V> | (V extends Leaf ? never : { readonly [K in keyof V]: Tunable<V[K]> });

/** Whether a value is a domain, or holds one. */
export function hasDomains(value: unknown): boolean {
  if (isMarkedDomain(value)) return true;
  if (Array.isArray(value)) return value.some(hasDomains);
  return isPlainObject(value) && Object.values(value).some(hasDomains);
}
