/**
 * Blocks whose columns of texts and bytes have dictionaries, as untidy as Arrow allows: values in any order, some twice, some that no row has, and any number as the code of a null.
 *
 * The values of the rows are the same, so what tests know of a block holds for this one.
 */
import type { Block } from "../../src/data/blocks/block.ts";
import type { Codes } from "../../src/data/blocks/values/dictionary-codes.ts";
import { isNull, type Vector } from "../../src/data/blocks/vector.ts";
import { buildVector } from "../../src/data/blocks/vector-builder.ts";
import { valueReader } from "../../src/data/blocks/value-reader.ts";

/** @param choice - any whole number: which of the forms they have */
export function withDictionaries(block: Block, choice: number): Block {
  return { ...block, vectors: block.vectors.map((vector, i) => withDictionary(vector, choice + i)) };
}

function withDictionary(vector: Vector, choice: number): Vector {
  const { type, length, nullCount, validity, bitOffset } = vector;
  if (type.kind !== "string" && type.kind !== "binary") return vector;
  const read = valueReader(vector);
  const values = Array.from({ length }, (_, row) => read(row));
  const keys = values.map(keyOf);
  const used = values.filter((value, row) => value !== null && keys.indexOf(keyOf(value)) === row);
  const unused = type.kind === "string" ? "never seen" : Uint8Array.of(7, 7, 7, 7, 7, 7, 7);
  const words = choice % 2 === 0 ? [unused, ...used, ...used.toReversed()] : used;
  const wordKeys = words.map(keyOf);
  const codes: Codes = choice % 3 === 0 ? new Int8Array(length) : choice % 3 === 1 ? new Int16Array(length) : new Int32Array(length);
  for (let row = 0; row < length; row += 1) {
    const key = keys[row] as string;
    const isLast = (row + choice) % 5 < 2;
    codes[row] = isNull(vector, row) ? ([-1, 0, 100][row % 3] as number) : isLast ? wordKeys.lastIndexOf(key) : wordKeys.indexOf(key);
  }
  const rows = { length, nullCount, bitOffset, ...(validity === undefined ? {} : { validity }) };
  return {
    ...rows,
    type: { kind: "dictionary", of: { kind: type.kind } },
    values: codes,
    children: [buildVector(words, { kind: type.kind })],
  };
}

function keyOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : JSON.stringify(value);
}
