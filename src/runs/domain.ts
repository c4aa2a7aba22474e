/**
 * The mark of a domain: a place of a configuration whose value Tune searches.
 *
 * Tune makes domains. Configurations of other libraries recognize them by this mark, without importing Tune.
 */

/** Marks domains. Registered by name, so that a domain that travelled is one still. */
export const DOMAIN: unique symbol = Symbol.for("shoal.tune.domain") as never;
declare const sampled: unique symbol;

/** A domain whose values have the type `T`. */
export interface MarkedDomain<T = unknown> {
  readonly [DOMAIN]: true;
  readonly [sampled]?: T;
}

export function isMarkedDomain(value: unknown): value is MarkedDomain {
  return typeof value === "object" && value !== null && (value as { [DOMAIN]?: unknown })[DOMAIN] === true;
}
