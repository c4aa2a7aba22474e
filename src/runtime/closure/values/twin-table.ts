/**
 * Maps the prototypes of twins that `private-state` made to their original classes: an instance of a twin is sent on as an instance of the
 * class. Written by `private-state`, read by `capture-object`.
 */

const originals = new WeakMap<object, object>();

export function recordTwin(prototype: object, original: object): void {
  originals.set(prototype, original);
}

/** Returns the original class of the twin with this prototype. */
export function originalOfTwin(prototype: object): object | undefined {
  return originals.get(prototype);
}
