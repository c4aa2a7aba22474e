/** Sets by key. A key is forgotten with its last value, so the index is as large as its content. */
export class SetMap<Key, Value> {
  readonly #sets = new Map<Key, Set<Value>>();

  get size(): number {
    return this.#sets.size;
  }

  keys(): Iterable<Key> {
    return this.#sets.keys();
  }

  /** Returns the live set, in the order of `add`; empty for an unknown key. */
  get(key: Key): ReadonlySet<Value> {
    return this.#sets.get(key) ?? NONE;
  }

  add(key: Key, value: Value): void {
    const values = this.#sets.get(key);
    if (values === undefined) this.#sets.set(key, new Set([value]));
    else values.add(value);
  }

  delete(key: Key, value: Value): void {
    const values = this.#sets.get(key);
    if (values?.delete(value) === true && values.size === 0) this.#sets.delete(key);
  }

  /** Removes a key. @returns its values, which belong to the caller */
  take(key: Key): ReadonlySet<Value> {
    const values = this.#sets.get(key) ?? NONE;
    this.#sets.delete(key);
    return values;
  }
}

const NONE: ReadonlySet<never> = new Set<never>();
