/**
 * Shares between the lazy `Request` and the lazy `Response` the members of a real object, the headers that both sides change, and `instanceof`.
 *
 * Members of Node's classes read private parts, so they throw on a lazy object. A lazy class passes each such call on to its real object.
 */

/** Adds the members of a real class that a lazy class lacks; each asks the object that `realOf` returns. */
export function passOn(own: object, real: object, realOf: (own: object) => object): void {
  for (const [name, { value, get }] of Object.entries(Object.getOwnPropertyDescriptors(real))) {
    if (Object.hasOwn(own, name)) continue;
    if (get !== undefined)
      Object.defineProperty(own, name, {
        configurable: true,
        get(this: object): unknown {
          return get.call(realOf(this));
        },
      });
    else if (typeof value === "function")
      Object.defineProperty(own, name, {
        configurable: true,
        value(this: object, ...args: unknown[]): unknown {
          return (value as (...args: unknown[]) => unknown).apply(realOf(this), args);
        },
      });
  }
}

/** The headers that user code has in its hands, and may have changed, are those of the real object. */
export function shareHeaders(real: Headers, own: Headers): void {
  if (real === own) return;
  const names = new Set(Array.from(real, ([name]) => name));
  for (const name of names) real.delete(name);
  for (const [name, value] of own) real.append(name, value);
}

/** Decides `instanceof` for a derived class whose base class overrides it. */
export function isInstance(derived: object, value: unknown): boolean {
  return Function.prototype[Symbol.hasInstance].call(derived as () => void, value);
}
