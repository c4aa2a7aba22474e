/**
 * A column of a batch that is no plain typed array: booleans, texts, times, lists, and whatever has nulls.
 *
 * A column reads values as they are asked for. `column[i]` works, through a proxy behind the prototype, and is slow; loops use `at` or
 * iteration.
 */
import { describeValue } from "../../core/internal.ts";
import { columnReader } from "./block.ts";
import type { Vector } from "./vector.ts";
import { isNull } from "./vector.ts";
import type { ValueReader } from "./value-reader.ts";

export let vectorOfColumn: (column: Column<unknown>) => Vector;

export class Column<T> implements Iterable<T> {
  readonly #vector: Vector;
  readonly #read: ValueReader;
  readonly [index: number]: T;

  static {
    vectorOfColumn = (column) => column.#vector;
  }

  /** Made by Shoal alone. */
  constructor(vector: Vector, name: string) {
    this.#vector = vector;
    this.#read = columnReader(name, vector);
  }

  get length(): number {
    return this.#vector.length;
  }

  /** The value of a row, null where there is none; from the end for negative numbers; undefined beyond. */
  at(index: number): T | undefined {
    const row = index < 0 ? index + this.length : index;
    return Number.isInteger(row) && row >= 0 && row < this.length ? (this.#read(row) as T) : undefined;
  }

  isNull(index: number): boolean {
    return isNull(this.#vector, index);
  }

  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (let row = 0; row < this.length; row += 1) yield this.#read(row) as T;
  }

  map<U>(fn: (value: T, index: number) => U): U[] {
    return Array.from({ length: this.length }, (_, row) => fn(this.#read(row) as T, row));
  }

  toArray(): T[] {
    return Array.from({ length: this.length }, (_, row) => this.#read(row) as T);
  }
}

const INDEX = /^(0|[1-9][0-9]*)$/;

// Asked only for what neither the column nor its class has.
Object.setPrototypeOf(
  Column.prototype,
  new Proxy(Object.prototype, {
    get: (target, key, receiver: Column<unknown>): unknown =>
      typeof key === "string" && INDEX.test(key) ? receiver.at(Number(key)) : Reflect.get(target, key, receiver),
  }),
);
Object.defineProperty(Column.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: Column<unknown>): string {
    const shown = Array.from({ length: Math.min(this.length, 10) }, (_, row) => describeValue(this.at(row)));
    return `Column(${this.length}) [ ${shown.join(", ")}${this.length > 10 ? ", ..." : ""} ]`;
  },
});
