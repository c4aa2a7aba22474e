/**
 * Objects without the properties that are undefined.
 *
 * For what is sent or compared, where a property that is there and undefined is not the same as none. It makes a list of all properties, so it is not for
 * the path of a call.
 */
export type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

export function defined<T extends object>(given: T): Defined<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Defined<T>;
}
