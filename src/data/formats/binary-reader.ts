/** Reads a file as one row: its bytes, decompressed by its extension, in the column `bytes`. */
import { readWhole } from "../../storage/read-file.ts";
import type { Block } from "../blocks/block.ts";
import { BINARY } from "../blocks/data-type.ts";

export async function* readBinaryFile(path: string): AsyncGenerator<Block, void, undefined> {
  const values = await readWhole(path);
  const vector = { type: BINARY, length: 1, nullCount: 0, bitOffset: 0, values, offsets: Int32Array.of(0, values.length) };
  yield { rowCount: 1, names: ["bytes"], vectors: [vector] };
}
