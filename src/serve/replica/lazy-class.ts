/**
 * Parts that the lazy `Request` and the lazy `Response` share: members that only a real object has, headers that both sides change, and `instanceof`.
 *
 * Node's classes look into private parts of their objects, so a member of theirs that is called on a lazy object throws. Each of them is replaced by one that asks the real object.
 */

/** Defines all members of a class that another lacks, as those of the object that `realOf` gives. */
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

/** `instanceof` for a class that was derived from one with an answer of its own. */
export function isInstance(derived: object, value: unknown): boolean {
  return Function.prototype[Symbol.hasInstance].call(derived as () => void, value);
}
