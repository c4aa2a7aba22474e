/** Cuts a block into parts by a number for each row: by counting, in two passes. The rows of a part keep their order. */
import { type Block, sliceBlock, takeBlock } from "../blocks/block.ts";

/** @param parts - the part of each row, each below `count` */
export function partitionBlock(block: Block, parts: Uint32Array, count: number): Block[] {
  const { rows, starts } = rowsByPart(parts, count);
  const ordered = takeBlock(block, rows);
  return Array.from({ length: count }, (_, part) => sliceBlock(ordered, starts[part] as number, starts[part + 1] as number));
}

/** The rows of the first part, then those of the second, and so on; and where each part begins, with the end behind the last. */
export function rowsByPart(parts: Uint32Array, count: number): { rows: Uint32Array; starts: Uint32Array } {
  const starts = new Uint32Array(count + 1);
  for (let row = 0; row < parts.length; row += 1) {
    const next = (parts[row] as number) + 1;
    starts[next] = (starts[next] as number) + 1;
  }
  for (let part = 0; part < count; part += 1) starts[part + 1] = (starts[part + 1] as number) + (starts[part] as number);
  const places = starts.slice();
  const rows = new Uint32Array(parts.length);
  for (let row = 0; row < parts.length; row += 1) {
    const part = parts[row] as number;
    const place = places[part] as number;
    rows[place] = row;
    places[part] = place + 1;
  }
  return { rows, starts };
}
