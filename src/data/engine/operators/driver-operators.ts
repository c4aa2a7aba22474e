/**
 * The operators without tasks: blocks of the driver, stored blocks, a limit of rows, and blocks in random order.
 *
 * They give blocks in order and start no work, with two exceptions. The driver's input stores its blocks one by one as room allows, and the limit cuts the
 * block of its last row.
 */
import { get, put } from "../../../core/index.ts";
import { Fifo } from "../../../core/internal.ts";
import { type Block, sliceBlock } from "../../blocks/block.ts";
import {
  type BlockRef,
  keptBlock,
  type Operator,
  type OperatorEvents,
  type OperatorLoad,
  OperatorStatistics,
  ownedBlock,
  type StoredBlock,
} from "./operator.ts";
import { Random } from "../../kernels/random.ts";
import { factsOf } from "../tasks/task.ts";

/** The base of operators without tasks, whose outputs are in order. */
export abstract class DriverOperator implements Operator {
  readonly statistics = new OperatorStatistics();
  readonly name: string;
  readonly #outputs = new Fifo<BlockRef>();
  #bytes = 0;
  protected isStopped = false;

  constructor(name: string) {
    this.name = name;
  }

  get heldBytes(): number {
    return this.#bytes;
  }

  get runningCount(): number {
    return 0;
  }

  get load(): OperatorLoad {
    return { queuedBlocks: 0, workers: this.runningCount };
  }

  get outputCount(): number {
    return this.#outputs.size;
  }

  get isSatisfied(): boolean {
    return this.isStopped;
  }

  abstract readonly isDone: boolean;
  abstract add(block: BlockRef, input: number): void;
  abstract endInput(input: number): void;

  needs(_input: number): boolean {
    return true;
  }

  canStart(): boolean {
    return false;
  }

  start(): void {}

  pull(): boolean {
    return false;
  }

  take(): BlockRef | undefined {
    const output = this.#outputs.shift();
    if (output !== undefined) this.#bytes -= output.sizeBytes;
    return output;
  }

  stop(): void {
    this.isStopped = true;
    for (let output = this.take(); output !== undefined; output = this.take()) output.release();
  }

  protected give(block: BlockRef): void {
    if (this.isStopped) {
      block.release();
      return;
    }
    this.#outputs.push(block);
    this.#bytes += block.sizeBytes;
    // The tasks' own statistics count the work for this block.
    this.statistics.give({ ...block, wallMs: 0, cpuMs: 0 });
  }
}

/** Blocks of the driver, stored one by one as they are asked for. */
export class InputOperator extends DriverOperator {
  readonly #blocks: readonly Block[];
  #next = 0;

  constructor(name: string, blocks: readonly Block[]) {
    super(name);
    this.#blocks = blocks;
  }

  get isDone(): boolean {
    return this.isStopped || (this.#next === this.#blocks.length && this.outputCount === 0);
  }

  override canStart(): boolean {
    return !this.isStopped && this.#next < this.#blocks.length;
  }

  override start(): void {
    const block = this.#blocks[this.#next] as Block;
    this.#next += 1;
    this.give(ownedBlock(put(block), factsOf(block)));
  }

  add(): void {}
  endInput(): void {}
}

/** Blocks that lie in the store already. They stay there, as somebody keeps them. */
export class StoredOperator extends DriverOperator {
  readonly #blocks: readonly StoredBlock[];
  #next = 0;

  constructor(name: string, blocks: readonly StoredBlock[]) {
    super(name);
    this.#blocks = blocks;
  }

  get isDone(): boolean {
    return this.isStopped || (this.#next === this.#blocks.length && this.outputCount === 0);
  }

  override canStart(): boolean {
    return !this.isStopped && this.#next < this.#blocks.length;
  }

  override start(): void {
    this.give(keptBlock(this.#blocks[this.#next] as StoredBlock));
    this.#next += 1;
  }

  add(): void {}
  endInput(): void {}
}

/** The first rows. The block in which the last of them lies is cut in the driver. */
export class LimitOperator extends DriverOperator {
  readonly #events: OperatorEvents;
  #left: number;
  #hasMoreInput = true;
  #isCutting = false;

  constructor(name: string, count: number, events: OperatorEvents) {
    super(name);
    this.#left = count;
    this.#events = events;
  }

  override get runningCount(): number {
    return this.#isCutting ? 1 : 0;
  }

  override get isSatisfied(): boolean {
    return this.isStopped || this.#left === 0;
  }

  get isDone(): boolean {
    return this.isStopped || ((this.#left === 0 || !this.#hasMoreInput) && !this.#isCutting && this.outputCount === 0);
  }

  add(block: BlockRef): void {
    const left = this.#left;
    this.#left -= Math.min(left, block.rowCount);
    if (left === 0) block.release();
    else if (block.rowCount <= left) this.give(block);
    else this.#cut(block, left);
  }

  endInput(): void {
    this.#hasMoreInput = false;
  }

  #cut(block: BlockRef, rows: number): void {
    this.#isCutting = true;
    get(block.ref)
      .then((whole) => {
        const piece = sliceBlock(whole, 0, rows);
        this.give(ownedBlock(put(piece), factsOf(piece)));
      })
      .catch((error: unknown) => this.#events.onFailure(error))
      .finally(() => {
        this.#isCutting = false;
        block.release();
        this.#events.onChange();
      });
  }
}

/** All blocks in a random order, which needs all of them first. They rest in the object store meanwhile, as in an exchange. */
export class BlockOrderOperator extends DriverOperator {
  readonly #seed: number;
  #collected: BlockRef[] = [];
  #hasEnded = false;

  constructor(name: string, seed: number) {
    super(name);
    this.#seed = seed;
  }

  override get heldBytes(): number {
    return 0;
  }

  get isDone(): boolean {
    return this.isStopped || (this.#hasEnded && this.outputCount === 0);
  }

  add(block: BlockRef): void {
    if (this.isStopped) block.release();
    else this.#collected.push(block);
  }

  endInput(): void {
    this.#hasEnded = true;
    const random = new Random(this.#seed);
    for (let left = this.#collected.length; left > 0; left -= 1) {
      const [block] = this.#collected.splice(random.below(left), 1);
      this.give(block as BlockRef);
    }
  }

  override stop(): void {
    super.stop();
    for (const block of this.#collected.splice(0)) block.release();
  }
}
