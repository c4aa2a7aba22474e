/**
 * The operator that reads items from an iterator of the driver's program, a block at a time, as long as there is room for more. So a pipeline that pauses pauses the iterator, and
 * one that ends returns it.
 *
 * The items are read in the driver, where the iterator is, and once.
 */
import { put } from "../../../core/index.ts";
import { isPlainObject } from "../../../core/internal.ts";
import { blockOfRows } from "../../blocks/block.ts";
import { RowBytes } from "../../blocks/memory/row-bytes.ts";
import { DataError } from "../../errors.ts";
import { BLOCK_COST_BYTES, BLOCKS_AHEAD_MAX } from "../../limits.ts";
import { DriverOperator } from "./driver-operators.ts";
import { type OperatorEvents, ownedBlock } from "./operator.ts";
import { factsOf } from "../tasks/task.ts";

/** Items that can be read once. */
export interface ItemSource {
  readonly items: AsyncIterable<unknown> | Iterable<unknown>;
  readonly rowsPerBlock: number;
  isRead: boolean;
}

export class ItemOperator extends DriverOperator {
  readonly #source: ItemSource;
  readonly #events: OperatorEvents;
  #iterator: AsyncIterator<unknown> | Iterator<unknown> | undefined;
  #isReading = false;
  #hasEnded = false;

  constructor(name: string, source: ItemSource, events: OperatorEvents) {
    super(name);
    this.#source = source;
    this.#events = events;
  }

  override get runningCount(): number {
    return this.#isReading ? 1 : 0;
  }

  get isDone(): boolean {
    return this.isStopped || (this.#hasEnded && !this.#isReading && this.outputCount === 0);
  }

  add(): void {}
  endInput(): void {}

  override canStart(): boolean {
    return !this.isStopped && !this.#isReading && !this.#hasEnded && this.outputCount < BLOCKS_AHEAD_MAX;
  }

  override start(): void {
    this.#isReading = true;
    this.#readBlock()
      .catch((error: unknown) => {
        this.#hasEnded = true;
        this.#events.onFailure(error);
      })
      .finally(() => {
        this.#isReading = false;
        this.#events.onChange();
      });
  }

  override stop(): void {
    if (this.isStopped) return;
    super.stop();
    // Not awaited: an iterator that never settles would hold up the pipeline's end.
    (async () => this.#iterator?.return?.())().catch((error: unknown) => this.#events.onFailure(error));
  }

  async #readBlock(): Promise<void> {
    const { items, rowsPerBlock } = this.#source;
    if (this.#iterator === undefined) {
      if (this.#source.isRead)
        throw new DataError(`Cannot run ${this.name}: its items were read before, and an iterator gives them once`, {
          hint: "keep the rows with materialize(), and consume what that gives as often as you like",
        });
      this.#source.isRead = true;
      this.#iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    }
    // An iterator that never waits must not keep everything else from running.
    await new Promise((resolve) => setImmediate(resolve));
    const rows: unknown[] = [];
    const size = new RowBytes();
    let isLarge = false;
    while (rows.length < rowsPerBlock && !isLarge && !this.isStopped) {
      const { done, value } = await this.#iterator.next();
      if (done === true) {
        this.#hasEnded = true;
        break;
      }
      rows.push(value);
      isLarge = size.add(value);
    }
    if (rows.length === 0 || this.isStopped) return;
    const block = blockOfRows(
      rows.map((item) => (isPlainObject(item) ? item : { item })),
      this.name,
    );
    const facts = factsOf(block);
    // A few rows count for what their block costs besides, or an endless iterator would fill the memory with small blocks.
    this.give(ownedBlock(put(block), { ...facts, sizeBytes: Math.max(facts.sizeBytes, BLOCK_COST_BYTES) }));
  }
}
