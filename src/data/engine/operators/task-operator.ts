/**
 * The operator that runs tasks: reads of a source, or chains of transforms on blocks.
 *
 * It begins tasks in the order of its input, up to its limit at a time. `running-streams.ts` then owns them and pulls their blocks. The core retries tasks, and
 * such a task gives the same blocks again.
 */
import { OutOfMemoryError, WorkerCrashedError } from "../../../core/index.ts";
import { producerOf } from "../../../core/internal.ts";
import { TASK_DEATHS_IN_ROW_MAX, TASKS_ENDED_AHEAD_MAX } from "../../limits.ts";
import type { ErroredBlocks } from "../tasks/errored-blocks.ts";
import { type BlockRef, type Operator, type OperatorEvents, type OperatorLoad, OperatorStatistics } from "./operator.ts";
import { InputQueue } from "../input-queue.ts";
import type { StepClaim } from "../pools/resource-limits.ts";
import { partsAfterDeath, rangeOf, rowsText } from "../tasks/cut-blocks.ts";
import { type RunningStream, RunningStreams, type StreamStart } from "../streams/running-streams.ts";
import type { TaskStart } from "../tasks/task.ts";

export interface TaskOperatorOptions {
  readonly name: string;
  readonly startTask: TaskStart;
  /** The arguments of each task of a read; undefined for tasks that take blocks. */
  readonly reads?: readonly (readonly unknown[])[] | undefined;
  /** The blocks of each task and its arguments, where they are known from the beginning: no other input comes then. */
  readonly bundles?: readonly TaskBundle[] | undefined;
  /** Whether tasks that take blocks are told the number of their first row, before the blocks. */
  readonly isNumbered?: boolean | undefined;
  /** Tasks that take blocks begin with this many rows at least, as long as input comes. */
  readonly rowsPerTaskMin: number;
  /** The same of bytes. Default: 0. */
  readonly bytesPerTaskMin?: number | undefined;
  /** Whether blocks are cut so that each task takes a multiple of `rowsPerTaskMin` rows, and the last task the rest. `argsOf` then gives the rows of a task. Default: false. */
  readonly cutsBlocks?: boolean | undefined;
  /** No task takes more blocks than it needs, however small they are. Default: false. */
  readonly keepsBlocksApart?: boolean | undefined;
  /** Arguments of tasks that take blocks. Default: the references of these. */
  readonly argsOf?: ((inputs: readonly BlockRef[]) => readonly unknown[]) | undefined;
  /** No task begins as long as it says so. Default: never. */
  readonly isHeld?: (() => boolean) | undefined;
  readonly concurrencyMax: number;
  /** The resources that each task holds, of those that have a limit. Default: none. */
  readonly claim?: StepClaim | undefined;
  /** Finds the producer of a task's blocks. Default: the core's. */
  readonly producerOf?: typeof producerOf | undefined;
  readonly preserveOrder: boolean;
  readonly errored?: ErroredBlocks | undefined;
  /** Default: a task that dies for good fails the run. */
  readonly recovery?: TaskRecovery | undefined;
  /** To count in. Default: its own. */
  readonly statistics?: OperatorStatistics | undefined;
  readonly events: OperatorEvents;
}

/** How a task goes on whose process has died as often as its retries allow. */
export interface TaskRecovery {
  /** Rows that a task may have alone. Infinity: whole blocks. */
  readonly unitRows: number;
  /** Starts a task on ranges of blocks: the arguments are the ranges, and the references. */
  readonly startRanges: TaskStart;
  /** Recovers failed reads; only for tasks that read. */
  readonly read?: ReadRecovery | undefined;
}

interface ReadRecovery {
  /** Starts a task that reads, and does nothing else. */
  readonly startRead: TaskStart;
  /** The parts of a task's arguments, such as one a file; undefined where there is one part. */
  readonly partsOf: (args: readonly unknown[]) => readonly (readonly unknown[])[] | undefined;
  /** Names the files of a task. */
  readonly nameOf: (args: readonly unknown[]) => string | undefined;
}

/** The blocks that a task takes, and what it is called with. */
export interface TaskBundle {
  readonly inputs: readonly BlockRef[];
  readonly args: readonly unknown[];
}

export class TaskOperator implements Operator {
  readonly name: string;
  readonly statistics: OperatorStatistics;
  readonly #options: TaskOperatorOptions;
  readonly #queue: InputQueue;
  readonly #streams: RunningStreams;
  /** The arguments of tasks that read. */
  readonly #readArgs = new WeakMap<RunningStream, readonly unknown[]>();
  /** Tasks that read and do nothing else, as one that did more has died. */
  readonly #bareReads = new WeakSet<RunningStream>();
  /** Tasks that died for good since one gave a block. */
  #deathsInRow = 0;
  #nextKnown = 0;
  #nextRow = 0;
  #isStopped = false;

  constructor(options: TaskOperatorOptions) {
    this.name = options.name;
    this.#options = options;
    this.statistics = options.statistics ?? new OperatorStatistics();
    this.#queue = new InputQueue(options);
    const onFailure = (stream: RunningStream, error: unknown): void => this.#hasFailed(stream, error);
    const onProgress = (stream: RunningStream): void => {
      // A read alone says nothing of the functions behind it.
      if (stream.feeds === undefined) this.#deathsInRow = 0;
    };
    this.#streams = new RunningStreams({ ...options, statistics: this.statistics, onFailure, onProgress });
    if (options.reads !== undefined || options.bundles !== undefined) this.#queue.end();
  }

  get claim(): StepClaim | undefined {
    return this.#options.claim;
  }

  get runningCount(): number {
    return this.#streams.pulledCount;
  }

  get pulledSinceMs(): readonly number[] {
    return this.#streams.pulledSinceMs;
  }

  get heldBytes(): number {
    return this.#queue.heldBytes + this.#streams.heldBytes;
  }

  get load(): OperatorLoad {
    const known = (this.#options.reads ?? this.#options.bundles ?? []).length - this.#nextKnown;
    return { queuedBlocks: this.#queue.count + known, workers: this.#streams.unendedCount };
  }

  /** The share of the reading tasks that have ended; undefined without such tasks. */
  get share(): number | undefined {
    const total = this.#options.reads?.length ?? 0;
    if (total === 0) return undefined;
    return Math.max(0, this.#nextKnown - this.#streams.unendedCount) / total;
  }

  get isSatisfied(): boolean {
    return this.#isStopped;
  }

  get isDone(): boolean {
    return this.#isStopped || (this.#queue.isEnded && this.#streams.count === 0 && !this.#hasMoreKnown());
  }

  add(block: BlockRef): void {
    if (this.#isStopped) block.release();
    else this.#queue.add(block);
  }

  endInput(): void {
    this.#queue.end();
  }

  canStart(): boolean {
    const { concurrencyMax, isHeld } = this.#options;
    if (isHeld?.() === true) return false;
    // Ended tasks do not count here while their blocks wait behind a slower task's: their workers are free, and the budget counts their blocks.
    if (this.#isStopped || this.#streams.unendedCount >= concurrencyMax) return false;
    if (this.#streams.count >= concurrencyMax * TASKS_ENDED_AHEAD_MAX) return false;
    return this.#hasMoreKnown() || this.#queue.hasTask;
  }

  start(): void {
    const { inputs, args } = this.#nextWork();
    try {
      const { items, producer } = this.#begun(this.#options.startTask, args, inputs);
      const stream = this.#streams.add(items, inputs, producer);
      if (inputs.length === 0) this.#readArgs.set(stream, args);
    } catch (error) {
      for (const input of inputs) input.release();
      this.#options.events.onFailure(error);
    }
  }

  needs(): boolean {
    return true;
  }

  pull(which: "all" | "next"): boolean {
    return this.#streams.pull(which);
  }

  take(): BlockRef | undefined {
    return this.#streams.take();
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#streams.stop();
    this.#queue.stop();
    for (const { inputs } of this.#options.bundles?.slice(this.#nextKnown) ?? []) for (const block of inputs) block.release();
  }

  #begun(startTask: TaskStart, args: readonly unknown[], inputs: readonly BlockRef[]): StreamStart {
    const started = startTask(args, inputs);
    const producer = this.claim === undefined ? undefined : (this.#options.producerOf ?? producerOf)(started);
    return { items: started.refs(), inputs, producer };
  }

  /** A task whose process died is cut, until the row or batch that ends it is alone. That one is named, and left out where the run allows it. */
  #hasFailed(stream: RunningStream, error: unknown): void {
    if (!isDeath(error)) {
      this.#streams.fail(stream, error);
      return;
    }
    this.#deathsInRow += 1;
    const mayBeCut = stream.givenCount === 0 && this.#deathsInRow <= TASK_DEATHS_IN_ROW_MAX;
    try {
      if (mayBeCut && this.#goesOnInParts(stream)) return;
    } catch (failure) {
      this.#options.events.onFailure(failure);
      return;
    }
    const { name, errored, events, recovery } = this.#options;
    const args = this.#readArgs.get(stream);
    const rows = stream.inputs.length > 0 ? rowsText(stream.inputs) : args && recovery?.read?.nameOf(args);
    const failure = rows === undefined ? error : deadly(error, name, rows);
    if (recovery !== undefined && errored?.leavesOut(name, failure, true) === true) this.#streams.leaveOut(stream);
    else events.onFailure(failure);
  }

  #goesOnInParts(stream: RunningStream): boolean {
    const { recovery } = this.#options;
    if (recovery === undefined) return false;
    const { read, unitRows } = recovery;
    const args = this.#readArgs.get(stream);
    if (stream.inputs.length > 0) {
      const parts = partsAfterDeath(stream.inputs, unitRows);
      if (parts !== undefined) this.#streams.replace(stream, parts.map(this.#onRange));
      return parts !== undefined;
    }
    if (read === undefined || args === undefined) return false;
    const parts = this.#bareReads.has(stream) ? read.partsOf(args) : [args];
    if (parts === undefined) return false;
    const starts = parts.map((part) => ({ ...this.#begun(read.startRead, part, []), feeds: this.#onRange }));
    for (const [i, made] of this.#streams.replace(stream, starts).entries()) {
      this.#bareReads.add(made);
      this.#readArgs.set(made, parts[i] as readonly unknown[]);
    }
    return true;
  }

  /** Begins a task on the rows of one block, or of a part of one. */
  readonly #onRange = (block: BlockRef): StreamStart =>
    this.#begun((this.#options.recovery as TaskRecovery).startRanges, [[rangeOf(block)], block.ref], [block]);

  /** Whether tasks that are known from the beginning have not begun. */
  #hasMoreKnown(): boolean {
    return this.#nextKnown < (this.#options.reads ?? this.#options.bundles ?? []).length;
  }

  #nextWork(): TaskBundle {
    const { reads, bundles, concurrencyMax, keepsBlocksApart = false } = this.#options;
    if (reads !== undefined) return { inputs: [], args: reads[this.#nextKnown++] as readonly unknown[] };
    if (bundles !== undefined) return bundles[this.#nextKnown++] as TaskBundle;
    const inputs = this.#queue.next(keepsBlocksApart ? Number.POSITIVE_INFINITY : concurrencyMax);
    const { argsOf = refsOf, isNumbered } = this.#options;
    if (isNumbered !== true) return { inputs, args: argsOf(inputs) };
    const firstRow = this.#nextRow;
    this.#nextRow += inputs.reduce((sum, { rowCount }) => sum + rowCount, 0);
    return { inputs, args: [firstRow, ...refsOf(inputs)] };
  }
}

function isDeath(error: unknown): error is Error {
  return error instanceof WorkerCrashedError || error instanceof OutOfMemoryError;
}

function deadly(error: Error, name: string, rows: string): Error {
  const reason = `its process died each time with the same rows (${rows})`;
  const options = { reason, hint: "See what ends the process; a row may be more than it can take.", cause: error };
  const message = `${name}: ${reason}: ${error.message}`;
  return error instanceof OutOfMemoryError ? new OutOfMemoryError(message, options) : new WorkerCrashedError(message, options);
}

function refsOf(inputs: readonly BlockRef[]): readonly unknown[] {
  return inputs.map(({ ref }) => ref);
}
