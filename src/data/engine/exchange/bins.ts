/**
 * The bins of a partition: partition tasks order its rows by bins, and the partition's own task takes one bin after the other.
 *
 * All rows of a bin fit into a processor's caches, where reordering or lookups cost a fraction of their cost in memory. A hidden column holds the bin of each
 * row. A block without that column is one bin.
 */
import { alignBlock, type Block, schemaOf, sliceBlock, unifySchemas, vectorOf } from "../../blocks/block.ts";
import type { Vector } from "../../blocks/vector.ts";

const HIDDEN_BIN = "\0bin";

/**
 * Adds the column to rows that lie in the order of their bins.
 *
 * @param starts - where each bin of each partition begins, and the end behind the last
 */
export function withBinColumn(block: Block, starts: Uint32Array, binsPerPartition: number): Block {
  const values = new Uint8Array(block.rowCount);
  for (let bin = 0; bin + 1 < starts.length; bin += 1) values.fill(bin % binsPerPartition, starts[bin], starts[bin + 1]);
  const vector: Vector = { type: { kind: "uint8" }, length: values.length, nullCount: 0, bitOffset: 0, values };
  return { ...block, names: [...block.names, HIDDEN_BIN], vectors: [...block.vectors, vector] };
}

/** The blocks of a partition by bins, all with the same columns. A bin has a block of each, which may be without rows. */
export function binsOf(blocks: readonly Block[]): Block[][] {
  const plain = blocks.map((block) => withoutColumn(block, HIDDEN_BIN));
  const bins = blocks.map((block) => vectorOf(block, HIDDEN_BIN)?.values as Uint8Array | undefined);
  const binCount = Math.max(1, ...bins.map((own) => (own?.at(-1) ?? 0) + 1));
  if (binCount === 1) return [plain];
  const fields = unifySchemas(plain.map(schemaOf));
  const aligned = plain.map((block) => alignBlock(block, fields));
  const starts = bins.map((own) => startsOf(own ?? new Uint8Array(0), binCount));
  return Array.from({ length: binCount }, (_, bin) =>
    aligned.map((block, i) => {
      const own = starts[i] as Uint32Array;
      return sliceBlock(block, own[bin] as number, own[bin + 1] as number);
    }),
  );
}

export function withoutColumn(block: Block, name: string): Block {
  const index = block.names.indexOf(name);
  return index < 0 ? block : { ...block, names: block.names.toSpliced(index, 1), vectors: block.vectors.toSpliced(index, 1) };
}

/** Where each bin begins among rows that lie in their order, and the end behind the last. */
function startsOf(bins: Uint8Array, binCount: number): Uint32Array {
  const starts = new Uint32Array(binCount + 1);
  for (let bin = 1; bin <= binCount; bin += 1) {
    let low = starts[bin - 1] as number;
    let high = bins.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((bins[middle] as number) < bin) low = middle + 1;
      else high = middle;
    }
    starts[bin] = low;
  }
  return starts;
}
