/**
 * The operator that runs tasks: reads of a source, or chains of transforms on blocks.
 *
 * It begins tasks in the order of its input and gives their blocks in that order, or as they come with `preserveOrder: false`. A task gives its blocks only when it is
 * pulled, and stands still two blocks ahead of that, so a paused consumer stops it wherever it is.
 */
import type { ObjectRef, ObjectRefGenerator } from "../../core/index.ts";
import { Fifo } from "../../core/internal.ts";
import type { Block } from "../blocks/block.ts";
import { type BlockRef, type Operator, type OperatorEvents, type OperatorStatistics, ownedBlock } from "./operator.ts";
import type { BlockFacts, TaskStart } from "./task.ts";
import { BLOCK_BYTES_MIN } from "../limits.ts";

export interface TaskOperatorOptions {
  readonly name: string;
  readonly startTask: TaskStart;
  /** The arguments of each task of a read; undefined for tasks that take blocks. */
  readonly reads?: readonly (readonly unknown[])[] | undefined;
  /** The blocks of each task, where they are known from the beginning: no other input comes then. */
  readonly bundles?: readonly (readonly BlockRef[])[] | undefined;
  /** Tasks that take blocks begin with this many rows at least, as long as input comes. */
  readonly rowsPerTaskMin: number;
  readonly concurrencyMax: number;
  readonly preserveOrder: boolean;
  readonly events: OperatorEvents;
}

/** One task and its blocks that nobody has taken. */
interface RunningTask {
  readonly items: AsyncIterator<{ readonly ref: ObjectRef<Block | BlockFacts> }, undefined>;
  readonly inputs: readonly BlockRef[];
  readonly outputs: Fifo<BlockRef>;
  /** Under way to its next block. */
  isPulled: boolean;
  isEnded: boolean;
}

export class TaskOperator implements Operator {
  readonly name: string;
  readonly statistics: OperatorStatistics = { tasks: 0, rows: 0, bytes: 0, blocks: 0 };
  readonly #options: TaskOperatorOptions;
  readonly #waiting = new Fifo<BlockRef>();
  readonly #tasks: RunningTask[] = [];
  #waitingRows = 0;
  #waitingBytes = 0;
  #bytes = 0;
  #nextKnown = 0;
  #hasMoreInput: boolean;
  #isStopped = false;

  constructor(options: TaskOperatorOptions) {
    this.name = options.name;
    this.#options = options;
    this.#hasMoreInput = options.reads === undefined && options.bundles === undefined;
  }

  get runningCount(): number {
    return this.#tasks.filter((task) => task.isPulled).length;
  }

  get heldBytes(): number {
    return this.#bytes;
  }

  get isSatisfied(): boolean {
    return this.#isStopped;
  }

  get isDone(): boolean {
    return this.#isStopped || (!this.#hasMoreInput && this.#waiting.size === 0 && this.#tasks.length === 0 && !this.#hasMoreKnown());
  }

  add(block: BlockRef): void {
    if (this.#isStopped) {
      block.release();
      return;
    }
    this.#waiting.push(block);
    this.#waitingRows += block.rowCount;
    this.#waitingBytes += block.sizeBytes;
    this.#bytes += block.sizeBytes;
  }

  endInput(): void {
    this.#hasMoreInput = false;
  }

  canStart(): boolean {
    if (this.#isStopped || this.#tasks.length >= this.#options.concurrencyMax) return false;
    if (this.#hasMoreKnown()) return true;
    if (this.#waiting.size === 0) return false;
    return !this.#hasMoreInput || this.#waitingRows >= this.#options.rowsPerTaskMin;
  }

  start(): void {
    const { inputs, args } = this.#nextWork();
    let stream: ObjectRefGenerator<Block | BlockFacts>;
    try {
      stream = this.#options.startTask(args);
    } catch (error) {
      for (const input of inputs) this.#drop(input);
      this.#options.events.onFailure(error);
      return;
    }
    this.statistics.tasks += 1;
    const task: RunningTask = { items: stream.refs(), inputs, outputs: new Fifo<BlockRef>(), isPulled: false, isEnded: false };
    this.#tasks.push(task);
    this.#pullTask(task);
  }

  pull(which: "all" | "next"): boolean {
    let hasPulled = false;
    for (const task of this.#tasks) {
      if (!task.isPulled && !task.isEnded) {
        this.#pullTask(task);
        hasPulled = true;
      }
      if (which === "next" && (hasPulled || this.#options.preserveOrder)) break;
    }
    return hasPulled;
  }

  take(): BlockRef | undefined {
    for (let i = 0; i < this.#tasks.length; ) {
      const task = this.#tasks[i] as RunningTask;
      const output = task.outputs.shift();
      if (output !== undefined) {
        this.#bytes -= output.sizeBytes;
        return output;
      }
      if (task.isEnded) this.#tasks.splice(i, 1);
      else if (this.#options.preserveOrder) return undefined;
      else i += 1;
    }
    return undefined;
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const task of this.#tasks.splice(0)) {
      task.items.return?.().catch(() => {});
      for (const input of task.inputs) this.#drop(input);
      for (let output = task.outputs.shift(); output !== undefined; output = task.outputs.shift()) this.#drop(output);
    }
    for (let input = this.#waiting.shift(); input !== undefined; input = this.#waiting.shift()) this.#drop(input);
    for (const bundle of this.#options.bundles?.slice(this.#nextKnown) ?? []) for (const block of bundle) block.release();
  }

  /** Whether tasks that are known from the beginning have not begun. */
  #hasMoreKnown(): boolean {
    return this.#nextKnown < (this.#options.reads ?? this.#options.bundles ?? []).length;
  }

  #nextWork(): { readonly inputs: readonly BlockRef[]; readonly args: readonly unknown[] } {
    const { reads, bundles } = this.#options;
    if (reads !== undefined) return { inputs: [], args: reads[this.#nextKnown++] as readonly unknown[] };
    const inputs = bundles === undefined ? this.#nextInputs() : (bundles[this.#nextKnown++] as readonly BlockRef[]);
    if (bundles !== undefined) for (const input of inputs) this.#bytes += input.sizeBytes;
    return { inputs, args: inputs.map((input) => input.ref) };
  }

  /** Small blocks go to one task together, and as many rows as a batch needs. */
  #nextInputs(): BlockRef[] {
    const inputs: BlockRef[] = [];
    let rows = 0;
    let bytes = 0;
    do {
      const input = this.#waiting.shift() as BlockRef;
      inputs.push(input);
      rows += input.rowCount;
      bytes += input.sizeBytes;
    } while (this.#waiting.size > 0 && (rows < this.#options.rowsPerTaskMin || (bytes < BLOCK_BYTES_MIN && this.#hasManySmall())));
    this.#waitingRows -= rows;
    this.#waitingBytes -= bytes;
    return inputs;
  }

  /** Blocks are put together only where enough are left for the other workers. */
  #hasManySmall(): boolean {
    return this.#waiting.size > 2 * this.#options.concurrencyMax && this.#waitingBytes < this.#waiting.size * BLOCK_BYTES_MIN;
  }

  #pullTask(task: RunningTask): void {
    task.isPulled = true;
    this.#nextOutput(task).then(
      () => {
        task.isPulled = false;
        if (!this.#isStopped) this.#options.events.onChange();
      },
      (error: unknown) => {
        if (!this.#isStopped) this.#options.events.onFailure(error);
      },
    );
  }

  async #nextOutput(task: RunningTask): Promise<void> {
    const first = await task.items.next();
    if (first.done === true) {
      this.#endTask(task);
      return;
    }
    const ref = first.value.ref as ObjectRef<Block>;
    const second = await task.items.next();
    // A task that failed has its error in the last item; awaiting it throws that.
    if (second.done === true) {
      await ref;
      return;
    }
    const facts = (await second.value.ref) as BlockFacts;
    const output = ownedBlock(ref, facts);
    if (this.#isStopped) {
      output.release();
      return;
    }
    const { statistics } = this;
    statistics.blocks += 1;
    statistics.rows += facts.rowCount;
    statistics.bytes += facts.sizeBytes;
    this.#bytes += facts.sizeBytes;
    task.outputs.push(output);
  }

  #endTask(task: RunningTask): void {
    task.isEnded = true;
    if (!this.#isStopped) for (const input of task.inputs) this.#drop(input);
  }

  #drop(block: BlockRef): void {
    this.#bytes -= block.sizeBytes;
    block.release();
  }
}
