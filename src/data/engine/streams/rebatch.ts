/** Cuts a stream of blocks into blocks of a given number of rows. A batch within one block is a view; only a batch across blocks is copied. */
import { type Block, concatBlocks, sliceBlock } from "../../blocks/block.ts";

export class Rebatcher {
  readonly #rows: number;
  #parts: Block[] = [];
  #count = 0;

  /** @param rows - of each batch, at least 1 */
  constructor(rows: number) {
    this.#rows = rows;
  }

  add(block: Block): void {
    if (block.rowCount === 0) return;
    this.#parts.push(block);
    this.#count += block.rowCount;
  }

  /** The next full batch; undefined where more rows are needed. */
  take(): Block | undefined {
    return this.#count >= this.#rows ? this.#cut(this.#rows) : undefined;
  }

  /** Returns the remaining rows at the end; undefined if there are none. */
  rest(): Block | undefined {
    return this.#count > 0 ? this.#cut(this.#count) : undefined;
  }

  #cut(rows: number): Block {
    const parts: Block[] = [];
    let missing = rows;
    let used = 0;
    for (const part of this.#parts) {
      if (missing === 0) break;
      const taken = Math.min(missing, part.rowCount);
      parts.push(sliceBlock(part, 0, taken));
      missing -= taken;
      if (taken < part.rowCount) {
        this.#parts[used] = sliceBlock(part, taken, part.rowCount);
        break;
      }
      used += 1;
    }
    this.#parts.splice(0, used);
    this.#count -= rows;
    return concatBlocks(parts);
  }
}
