/**
 * Objects without the properties that are undefined.
 *
 * Used on data that is sent or compared, where an undefined property differs from an absent one. Lists all properties, so it does not
 * belong on the path of a call.
 */
export type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

export function defined<T extends object>(given: T): Defined<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Defined<T>;
}
