/**
 * The running streams of an operator, in the order of its input: one stream of blocks for each task or actor call.
 *
 * A stream gives blocks only when it is pulled, and pauses two blocks ahead, so a paused consumer stops it anywhere. Blocks are taken in the order of the
 * streams, or as they come with `preserveOrder: false`. A restarted stream skips the blocks that it has given before. With limits of resources a paused stream
 * is pulled only when its CPUs are free.
 */
import type { ObjectRef } from "../../../core/index.ts";
import { Fifo, type StreamProducer } from "../../../core/internal.ts";
import type { Block } from "../../blocks/block.ts";
import type { ErroredBlocks } from "../tasks/errored-blocks.ts";
import { type BlockRef, type OperatorEvents, type OperatorStatistics, ownedBlock } from "../operators/operator.ts";
import type { Hold, StepClaim } from "../pools/resource-limits.ts";
import type { BlockFacts } from "../tasks/task.ts";

/** A task's output: blocks, each followed by its facts. */
export type BlockItems = AsyncIterator<{ readonly ref: ObjectRef<Block | BlockFacts> }, undefined>;

/** One stream and its blocks that no consumer has taken yet. */
export interface RunningStream {
  /** Undefined from its suspension until it is begun again. */
  items: BlockItems | undefined;
  readonly inputs: readonly BlockRef[];
  readonly outputs: Fifo<BlockRef>;
  /** Under way to its next block. */
  isPulled: boolean;
  /** Since when, if it is. */
  pulledMs: number;
  isEnded: boolean;
  /** Blocks that it has given. */
  givenCount: number;
  /** Blocks that it gives once more, as it was begun again. */
  skipCount: number;
  /** The task that makes the blocks; undefined where no resources are counted. */
  readonly producer: StreamProducer | undefined;
  /** The held part of the task's resources. */
  hold: Hold;
  /** Begins a stream for each block that this one gives, in place of giving it. */
  readonly feeds?: ((block: BlockRef) => StreamStart) | undefined;
}

/** A stream that begins. */
export interface StreamStart {
  readonly items: BlockItems;
  readonly inputs: readonly BlockRef[];
  readonly producer?: StreamProducer | undefined;
  /** As of {@link RunningStream}. */
  readonly feeds?: RunningStream["feeds"];
}

interface RunningStreamsOptions {
  /** The operator's name. */
  readonly name: string;
  readonly preserveOrder: boolean;
  readonly errored?: ErroredBlocks | undefined;
  readonly events: OperatorEvents;
  readonly statistics: OperatorStatistics;
  /** The resources that the task of each stream holds, of those that have a limit. Default: none. */
  readonly claim?: StepClaim | undefined;
  /** A stream failed. Default: so did the pipeline. */
  readonly onFailure?: ((stream: RunningStream, error: unknown) => void) | undefined;
  /** A stream gave a block, or ended. */
  readonly onProgress?: ((stream: RunningStream) => void) | undefined;
}

export class RunningStreams {
  readonly #options: RunningStreamsOptions;
  readonly #streams: RunningStream[] = [];
  #unendedCount = 0;
  #bytes = 0;
  #isStopped = false;

  constructor(options: RunningStreamsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#streams.length;
  }

  /** Streams that have not ended. Those that have may wait for the ones before them, to be taken in order. */
  get unendedCount(): number {
    return this.#unendedCount;
  }

  get pulledCount(): number {
    return this.#streams.filter((stream) => stream.isPulled).length;
  }

  /** Since when streams are pulled that are. */
  get pulledSinceMs(): readonly number[] {
    return this.#streams.filter((stream) => stream.isPulled).map((stream) => stream.pulledMs);
  }

  /** Bytes of the inputs of all streams and of their outputs that nobody has taken. */
  get heldBytes(): number {
    return this.#bytes;
  }

  /** Adds a stream, which has the inputs from now on, and pulls it. @param producer - needed where there is a claim */
  add(items: BlockItems, inputs: readonly BlockRef[], producer?: StreamProducer): RunningStream {
    for (const input of inputs) this.#bytes += input.sizeBytes;
    return this.#insert(this.#streams.length, { items, inputs, producer });
  }

  /** Takes other streams in place of one that has failed and gave nothing. Their inputs together are those of the failed one. */
  replace(stream: RunningStream, starts: readonly StreamStart[]): readonly RunningStream[] {
    const at = this.#streams.indexOf(stream);
    this.#setHold(stream, "nothing");
    this.#unendedCount -= 1;
    this.#streams.splice(at, 1);
    return starts.map((start, i) => this.#insert(at + i, start));
  }

  #insert(at: number, { items, inputs, producer, feeds }: StreamStart): RunningStream {
    const state = { outputs: new Fifo<BlockRef>(), isPulled: false, pulledMs: 0, isEnded: false, givenCount: 0, skipCount: 0 };
    const stream: RunningStream = { ...state, items, inputs, producer, feeds, hold: "nothing" };
    producer?.onRest(() => {
      this.#updateHold(stream);
      this.#options.events.onChange();
    });
    this.#options.statistics.beginTask();
    this.#streams.splice(at, 0, stream);
    this.#unendedCount += 1;
    this.#pull(stream);
    return stream;
  }

  /** Forgets where a stream comes from; it waits to be begun again. */
  suspend(stream: RunningStream): void {
    stream.items = undefined;
  }

  /**
   * Makes streams of these parts of a stream that has given nothing, in its place. They wait to be begun.
   *
   * @param inputs - parts with the same rows and bytes as the inputs of the stream
   */
  split(stream: RunningStream, inputs: readonly BlockRef[]): readonly RunningStream[] {
    const parts = inputs.map((input): RunningStream => ({ ...stream, items: undefined, inputs: [input], outputs: new Fifo<BlockRef>() }));
    this.#streams.splice(this.#streams.indexOf(stream), 1, ...parts);
    this.#unendedCount += parts.length - 1;
    for (let i = 1; i < parts.length; i += 1) this.#options.statistics.beginTask();
    return parts;
  }

  /** Goes on with a stream that was suspended. `items` gives all its blocks once more. */
  restart(stream: RunningStream, items: BlockItems): void {
    stream.items = items;
    stream.skipCount = stream.givenCount;
    if (stream.isPulled) this.#pull(stream);
  }

  /** Lets streams give their next blocks: all of them, or only the one whose block is next. Answers whether any was waiting for it. */
  pull(which: "all" | "next"): boolean {
    const { claim } = this.#options;
    let hasPulled = false;
    for (const stream of this.#streams) {
      if (!stream.isPulled && !stream.isEnded && claim?.admitsMore(stream.hold) !== false) {
        this.#pull(stream);
        hasPulled = true;
      }
      if (which === "next" && (hasPulled || this.#options.preserveOrder)) break;
    }
    return hasPulled;
  }

  /** The next block, as soon as it is there. */
  take(): BlockRef | undefined {
    for (let i = 0; i < this.#streams.length; ) {
      const stream = this.#streams[i] as RunningStream;
      const output = stream.outputs.shift();
      if (output !== undefined) {
        this.#bytes -= output.sizeBytes;
        return output;
      }
      if (stream.isEnded) this.#streams.splice(i, 1);
      else if (this.#options.preserveOrder) return undefined;
      else i += 1;
    }
    return undefined;
  }

  /** Ends all streams and drops their blocks. */
  stop(): void {
    this.#isStopped = true;
    for (const stream of this.#streams.splice(0)) {
      this.#setHold(stream, "nothing");
      stream.items?.return?.().catch(() => {});
      if (!stream.isEnded) for (const input of stream.inputs) this.#drop(input);
      for (let output = stream.outputs.shift(); output !== undefined; output = stream.outputs.shift()) this.#drop(output);
    }
  }

  #updateHold(stream: RunningStream): void {
    const { producer, isEnded, isPulled } = stream;
    if (this.#isStopped || producer === undefined) return;
    if (isEnded || producer.hasEnded) this.#setHold(stream, "nothing");
    else this.#setHold(stream, isPulled || !producer.isAtRest ? "everything" : "rest");
  }

  #setHold(stream: RunningStream, hold: Hold): void {
    this.#options.claim?.change(stream.hold, hold);
    stream.hold = hold;
  }

  #pull(stream: RunningStream): void {
    stream.isPulled = true;
    this.#updateHold(stream);
    stream.pulledMs = performance.now();
    const { items } = stream;
    if (items === undefined) return;
    const isOver = (): boolean => this.#isStopped || stream.items !== items;
    this.#nextOutput(stream, items, isOver).then(
      () => {
        if (isOver()) return;
        stream.isPulled = false;
        this.#updateHold(stream);
        this.#options.statistics.pullMs.add(performance.now() - stream.pulledMs);
        this.#options.onProgress?.(stream);
        this.#options.events.onChange();
      },
      (error: unknown) => {
        if (isOver()) return;
        if (this.#options.onFailure === undefined) this.fail(stream, error);
        else this.#options.onFailure(stream, error);
      },
    );
  }

  /** A stream failed for good: it ends without its further blocks where the run leaves those out, else the run fails. */
  fail(stream: RunningStream, error: unknown): void {
    const { name, errored, events } = this.#options;
    if (errored?.leavesOut(name, error) === true) this.leaveOut(stream);
    else events.onFailure(error);
  }

  /** Ends a stream without its further blocks, which the run has counted. */
  leaveOut(stream: RunningStream): void {
    const { statistics, events, onProgress } = this.#options;
    statistics.erroredBlocks += 1;
    stream.isPulled = false;
    this.#end(stream);
    onProgress?.(stream);
    events.onChange();
  }

  async #nextOutput(stream: RunningStream, items: BlockItems, isOver: () => boolean): Promise<void> {
    for (;;) {
      const first = await items.next();
      if (first.done === true) {
        if (!isOver()) this.#end(stream);
        return;
      }
      const ref = first.value.ref as ObjectRef<Block>;
      const second = await items.next();
      // A task that failed has its error in the last item; awaiting it throws that.
      if (second.done === true) {
        try {
          await ref;
        } finally {
          ref[Symbol.dispose]();
        }
        return;
      }
      const output = ownedBlock(ref, await factsBehind(ref, second.value.ref as ObjectRef<BlockFacts>));
      if (isOver()) {
        output.release();
        return;
      }
      if (stream.skipCount === 0) {
        this.#give(stream, output);
        return;
      }
      stream.skipCount -= 1;
      output.release();
    }
  }

  #give(stream: RunningStream, output: BlockRef): void {
    const { statistics, errored, name } = this.#options;
    if (stream.feeds !== undefined) {
      stream.givenCount += 1;
      this.#bytes += output.sizeBytes;
      this.#insert(this.#streams.indexOf(stream), stream.feeds(output));
      return;
    }
    statistics.give(output);
    if (output.losses !== undefined) errored?.lose(name, output.losses);
    this.#bytes += output.sizeBytes;
    stream.givenCount += 1;
    // Losses are counted once, also where the block is kept for other runs.
    const { losses: _, ...kept } = output;
    stream.outputs.push(kept);
  }

  #end(stream: RunningStream): void {
    stream.isEnded = true;
    this.#updateHold(stream);
    this.#unendedCount -= 1;
    for (const input of stream.inputs) this.#drop(input);
  }

  #drop(block: BlockRef): void {
    this.#bytes -= block.sizeBytes;
    block.release();
  }
}

/** A block without its facts is of no use, and is dropped with the error. */
async function factsBehind(block: ObjectRef<Block>, facts: ObjectRef<BlockFacts>): Promise<BlockFacts> {
  try {
    return await facts;
  } catch (error) {
    block[Symbol.dispose]();
    throw error;
  } finally {
    facts[Symbol.dispose]();
  }
}
