/**
 * A set whose members can be drawn by number. Adding, removing and drawing one cost the same at any size.
 *
 * The cluster view keeps the nodes in such lists, so that a scheduler can look at a few random ones of ten thousand. Removing moves the last
 * member into the gap, so positions mean nothing beyond one draw.
 */
export class DenseList<T> {
  readonly #items: T[] = [];
  readonly #positions = new Map<T, number>();

  get items(): readonly T[] {
    return this.#items;
  }

  add(item: T): void {
    if (this.#positions.has(item)) return;
    this.#positions.set(item, this.#items.length);
    this.#items.push(item);
  }

  delete(item: T): void {
    const position = this.#positions.get(item);
    if (position === undefined) return;
    this.#positions.delete(item);
    const last = this.#items.pop() as T;
    if (last === item) return;
    this.#items[position] = last;
    this.#positions.set(last, position);
  }
}
