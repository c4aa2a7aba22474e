/**
 * The open streams of one connection by their numbers: an array indexed by the numbers' last bits, and a map for the few collisions.
 *
 * A map alone would produce garbage. V8 makes a new table for every few dozen insertions and deletions and links the former one to it. A former table in the old
 * generation then keeps all later ones, and their requests, alive until a full collection. That was half of a proxy's allocation, and pauses of 10 to 20 ms. Both
 * ends of the wire use this table.
 */
const PLACES_MIN = 64;

export class StreamTable<T extends { readonly id: number }> {
  #places = newPlaces<T>(PLACES_MIN);
  readonly #others = new Map<number, T>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The client, which numbers the streams, passes over numbers whose place is taken. */
  hasPlaceFor(id: number): boolean {
    return this.#places[id & (this.#places.length - 1)] === undefined;
  }

  get(id: number): T | undefined {
    const found = this.#places[id & (this.#places.length - 1)];
    return found?.id === id ? found : this.#others.size === 0 ? undefined : this.#others.get(id);
  }

  add(stream: T): void {
    this.#size += 1;
    if (this.#size * 2 > this.#places.length) this.#grow();
    this.#put(stream);
  }

  /** @returns whether it was there */
  delete(id: number): boolean {
    const place = id & (this.#places.length - 1);
    if (this.#places[place]?.id === id) this.#places[place] = undefined;
    else if (!this.#others.delete(id)) return false;
    this.#size -= 1;
    return true;
  }

  /** All open streams, in no order. */
  all(): T[] {
    return [...this.#places.filter((stream) => stream !== undefined), ...this.#others.values()];
  }

  #put(stream: T): void {
    if (this.hasPlaceFor(stream.id)) this.#places[stream.id & (this.#places.length - 1)] = stream;
    else this.#others.set(stream.id, stream);
  }

  #grow(): void {
    const all = this.all();
    this.#places = newPlaces(this.#places.length * 2);
    this.#others.clear();
    for (const stream of all) this.#put(stream);
  }
}

function newPlaces<T>(count: number): (T | undefined)[] {
  return Array.from<T | undefined>({ length: count });
}
