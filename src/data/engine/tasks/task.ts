/**
 * The tasks of the engine: generators that read or take blocks, run a chain of transforms, and give blocks.
 *
 * A task yields each block and then its facts, which are small, so that the executor knows how many rows and bytes there are without fetching the block. The generator is
 * made anew after a crash and gives the same blocks again, so the chain is all that it depends on.
 */
import { type ObjectRefGenerator, remote, type TaskOptions } from "../../../core/index.ts";
import { type Losses, LossSum } from "../../blocks/memory/losses.ts";
import { HeapGrowth, ownMemoryBytes, runsInProcess } from "../../../core/internal.ts";
import { type Block, blockBytes, concatBlocks, packBlock, type RowRange, rowsOf, schemaOf, sliceBlock } from "../../blocks/block.ts";
import type { Field } from "../../blocks/data-type.ts";
import { buffersOf, freeBuffers, freeDecoded } from "../../blocks/memory/memory.ts";
import { type BlockOrigin, keepOrigin, keepOrigins, originOf } from "../../blocks/memory/origin.ts";
import { BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, BLOCKS_AHEAD_MAX, GATHERED_BYTES_MAX, MEMORY_READ_MS } from "../../limits.ts";
import { type Combine, combineBlocks } from "../exchange/combine.ts";
import { type Join, joinEach } from "../tables/join.ts";
import type { SmallSide } from "../tables/small-side.ts";
import { withoutRowNumbers, withRowNumbers } from "../tables/row-numbers.ts";
import { sampleRows, type SampleTransform } from "../exchange/sample.ts";
import { keepsNothing, runChain, type Transform } from "./transform.ts";
import { isOwnCode } from "./whole-transforms.ts";
import type { WrittenFile } from "../writes/write-transform.ts";

/** The executor's facts of a block. */
export interface BlockFacts {
  readonly rowCount: number;
  readonly sizeBytes: number;
  readonly schema: readonly Field[];
  /** How long its task has worked for it, and how much its process has used processors meanwhile. */
  readonly wallMs?: number;
  readonly cpuMs?: number;
  /**
   * Private memory of the process after the block, without mappings of the object store. Absent where it is unknown, for a process that all tasks share, and
   * for blocks within `MEMORY_READ_MS` of an earlier one.
   */
  readonly memoryBytes?: number;
  /** Where its rows came from, as far as its task knows. */
  readonly origin?: BlockOrigin;
  /** For a block of written files, the rows and bytes in these, which are what its task gave. */
  readonly written?: { readonly rowCount: number; readonly sizeBytes: number };
  /** Items that the task lost to errors since the block before, where `onError` lets it go on. */
  readonly losses?: Losses;
}

/** Reads one part of a source, in a worker. */
export type Reader = (...args: never[]) => AsyncIterable<Block>;

/** Begins a task of an operator. `inputs`: the facts of the blocks among its arguments. */
export type TaskStart = (args: readonly unknown[], inputs: readonly BlockFacts[]) => ObjectRefGenerator<Block | BlockFacts>;

/** How blocks are cut for the tasks behind, where too few come for all workers: into so many, each of a multiple of the rows. */
export interface BlockCut {
  readonly pieces: number;
  readonly rows: number;
}

/** Tasks that read: the arguments are the reader's. */
export function readTasks(
  reader: Reader,
  { chain, cut }: { readonly chain: readonly Transform[]; readonly cut?: BlockCut | undefined },
  options: TaskOptions<1>,
): TaskStart {
  const task = remote(readBlocks.bind(undefined, reader as AnyReader, chain, cut), streaming(options));
  return (args) => task.remote(...args);
}

/** Makes tasks that read, and join the rows with a small side once that is settled. The arguments are the reader's. */
export function joiningReadTasks(
  reader: Reader,
  { chain, side }: { chain: readonly Transform[]; side: SmallSide },
  options: TaskOptions<1>,
): TaskStart {
  const alone = readTasks(reader, { chain }, options);
  const { join, after } = side;
  const task = remote(readAndJoin.bind(undefined, reader as AnyReader, { chain, join, after }), streaming(options));
  return (args, inputs) => {
    const { blocks } = side;
    return blocks === undefined ? alone(args, inputs) : task.remote(blocks.length, ...blocks.map(({ ref }) => ref), ...args);
  };
}

/** Tasks that take blocks: the arguments are references of them. */
export function mapTasks(chain: readonly Transform[], options: TaskOptions<1>): TaskStart {
  const task = remote(mapBlocks.bind(undefined, chain), streaming(options));
  return (args) => task.remote(...args);
}

function streaming(options: TaskOptions<1>): TaskOptions<1> {
  return { ...options, highWaterMark: 2 * BLOCKS_AHEAD_MAX };
}

type AnyReader = (...args: unknown[]) => AsyncIterable<Block>;

/** The body of a read task. It travels by name, bound to the reader and the chain. */
export async function* readBlocks(
  read: AnyReader,
  chain: readonly Transform[],
  cut?: BlockCut,
  ...args: unknown[]
): AsyncGenerator<Block | BlockFacts, void, undefined> {
  yield* produce(read(...args), chain, { inputs: keepsNothing(chain) ? "decoded" : undefined, cut });
}

/** The body of a task that reads one side of a join and has all of the other one. */
export async function* readAndJoin(
  read: AnyReader,
  { chain, join, after }: { readonly chain: readonly Transform[]; readonly join: Join; readonly after: readonly Transform[] },
  ...[count, ...others]: unknown[]
): AsyncGenerator<Block | BlockFacts, void, undefined> {
  const beside = others.slice(0, count as number) as Block[];
  const losses = new LossSum();
  const rows = losses.collectedFrom(read(...others.slice(count as number)));
  yield* produce(joinEach(join, runChain(rows, chain, losses), beside), after, { losses });
}

/** Tasks that combine blocks of several inputs: the arguments are how many blocks each input has, and references of all. */
export function combineTasks(combine: Combine, chain: readonly Transform[], options: TaskOptions<1>): TaskStart {
  const task = remote(combinePartition.bind(undefined, combine, chain), streaming(options));
  return (args) => task.remote(...args);
}

/** Tasks whose first step goes by the numbers of the rows: the arguments are the number of the first row among all, and references of blocks. */
export function numberedTasks(chain: readonly Transform[], options: TaskOptions<1>): TaskStart {
  const task = remote(mapNumbered.bind(undefined, chain), streaming(options));
  return (args) => task.remote(...args);
}

/** Tasks that take parts of blocks: the arguments are the rows of each, and references of the blocks. */
export function rangeTasks(chain: readonly Transform[], options: TaskOptions<1>): TaskStart {
  const task = remote(mapRanges.bind(undefined, chain), streaming(options));
  return (args) => task.remote(...args);
}

/** The body of a task on blocks. */
export async function* mapBlocks(chain: readonly Transform[], ...blocks: unknown[]): AsyncGenerator<Block | BlockFacts, void, undefined> {
  const inputs = chain.length > 0 && chain.every(isOwnCode) ? buffersOf(blocks as Block[]) : undefined;
  yield* produce(given(blocks as Block[]), chain, { inputs });
  if (inputs !== undefined) freeBuffers(inputs);
}

/** Runs a chain on ranges of rows of the blocks. */
export async function* mapRanges(
  chain: readonly Transform[],
  ...[ranges, ...blocks]: unknown[]
): AsyncGenerator<Block | BlockFacts, void, undefined> {
  yield* produce(given(slicesOf(blocks as Block[], ranges as readonly RowRange[])), chain);
}

/** The rows of each block that a range names. */
export function slicesOf(blocks: readonly Block[], ranges: readonly RowRange[]): Block[] {
  return blocks.map((block, i) => {
    const [from, to] = ranges[i] as RowRange;
    return keepOrigin(sliceBlock(block, from, to), block, (row) => [from + row, from + row]);
  });
}

/** The body of a task on blocks of several inputs. */
export async function* combinePartition(
  combine: Combine,
  chain: readonly Transform[],
  ...[counts, ...blocks]: unknown[]
): AsyncGenerator<Block | BlockFacts, void, undefined> {
  let at = 0;
  const inputs = (counts as readonly number[]).map((count) => blocks.slice(at, (at += count)) as Block[]);
  yield* produce(given(combineBlocks(combine, inputs)), chain);
  if (chain.length === 0) freeBuffers(buffersOf(blocks as Block[]));
}

/** Runs a chain whose first transform needs the numbers of the rows. */
export async function* mapNumbered(
  chain: readonly Transform[],
  ...[firstRow, ...blocks]: unknown[]
): AsyncGenerator<Block | BlockFacts, void, undefined> {
  const [first, ...others] = chain as [SampleTransform | Extract<Transform, { kind: "numbered" }>, ...Transform[]];
  const made =
    first.kind === "sample"
      ? sampleRows(blocks as Block[], first, firstRow as number)
      : withoutRowNumbers(runChain(withRowNumbers(blocks as Block[], firstRow as number), [first.step]));
  yield* produce(made, others);
}

/** The blocks as a stream. */
export async function* given(blocks: Iterable<Block>): AsyncGenerator<Block, void, undefined> {
  yield* blocks;
}

/**
 * Runs the chain, gathers small blocks unless they are to be so, the more the longer it goes on, cuts large ones, and yields each with its facts behind it. Runs in workers.
 */
export async function* produce(
  blocks: AsyncIterable<Block>,
  chain: readonly Transform[],
  sending: Sending = {},
): AsyncGenerator<Block | BlockFacts, void, undefined> {
  let bytesMin = chain.at(-1)?.kind === "rebatch" ? 0 : BLOCK_BYTES_MIN;
  let small: Block[] = [];
  let smallBytes = 0;
  const watch = new StopWatch();
  const { losses = new LossSum() } = sending;
  const own = { ...sending, losses, areFiles: chain.at(-1)?.kind === "write" };
  using growth = new HeapGrowth();
  for await (const block of runChain(losses.collectedFrom(blocks), chain, losses)) {
    if (block.rowCount === 0 && small.length > 0) continue;
    small.push(block);
    smallBytes += blockBytes(block);
    if (smallBytes < bytesMin) continue;
    yield* sent(small, watch, own);
    growth.refresh();
    small = [];
    smallBytes = 0;
    bytesMin = Math.min(2 * bytesMin, GATHERED_BYTES_MAX);
  }
  if (small.length > 0) yield* sent(small, watch, own);
  // A task that gave nothing tells what that cost by a block without rows.
  else if (!losses.isEmpty) yield* sent([{ rowCount: 0, names: [], vectors: [] }], watch, own);
}

interface Sending {
  /** Sum of the items that errors cost. Default: a new one. */
  readonly losses?: LossSum | undefined;
  /**
   * The memory of the input, if no other code holds the blocks that leave the chain: those blocks are freed once they are sent. `"decoded"`: only memory that a
   * decoder filled for them is freed.
   */
  readonly inputs?: ReadonlySet<ArrayBuffer> | "decoded" | undefined;
  readonly cut?: BlockCut | undefined;
  /** The rows are {@link WrittenFile}s. Default: false. */
  readonly areFiles?: boolean;
}

/** Yields the rows of blocks as one block, or in pieces. */
function* sent(
  blocks: readonly Block[],
  watch: StopWatch,
  { inputs, cut, areFiles = false, losses }: Sending,
): Generator<Block | BlockFacts, void, undefined> {
  const block = keepOrigins(concatBlocks(blocks), blocks);
  yield* withFacts(block, watch, { cut, areFiles, losses });
  if (inputs === "decoded") freeDecoded([...blocks, block]);
  else if (inputs !== undefined) freeBuffers(buffersOf([...blocks, block]), inputs);
}

/** The rows and bytes in written files. */
function writtenIn(files: Block): NonNullable<BlockFacts["written"]> {
  let [rowCount, sizeBytes] = [0, 0];
  for (const file of rowsOf(files) as WrittenFile[]) {
    rowCount += file.rowCount;
    sizeBytes += file.sizeBytes;
  }
  return { rowCount, sizeBytes };
}

/** Measures the time in which the task runs. The watch stands still while the task waits for its consumer. */
export class StopWatch {
  #startedMs = performance.now();
  #cpuBefore = process.cpuUsage();

  get spent(): { readonly wallMs: number; readonly cpuMs: number } {
    const { user, system } = process.cpuUsage(this.#cpuBefore);
    return { wallMs: performance.now() - this.#startedMs, cpuMs: (user + system) / 1000 };
  }

  restart(): void {
    this.#startedMs = performance.now();
    this.#cpuBefore = process.cpuUsage();
  }
}

function* withFacts(
  block: Block,
  watch: StopWatch,
  { cut, areFiles, losses }: Pick<Sending, "losses"> & { readonly cut: BlockCut | undefined; readonly areFiles: boolean },
): Generator<Block | BlockFacts, void, undefined> {
  const { rowCount } = block;
  const rowsMax = Math.max(1, Math.ceil(rowCount / Math.max(1, Math.ceil(blockBytes(block) / BLOCK_BYTES_MAX))));
  const rows = cut === undefined ? rowsMax : Math.max(1, Math.min(rowsMax, cut.rows * Math.ceil(rowCount / cut.pieces / cut.rows)));
  // A block without rows is sent, too.
  for (let start = 0; start === 0 || start < rowCount; start += rows) {
    const end = Math.min(start + rows, rowCount);
    const piece = packBlock(sliceBlock(block, start, end));
    const { spent } = watch;
    const written = areFiles ? writtenIn(piece) : undefined;
    yield piece;
    const origin = originOf(block, [start, end - 1]);
    const memoryBytes = memoryNow();
    const lost = losses?.take();
    yield {
      ...factsOf(piece),
      ...spent,
      ...(memoryBytes === undefined ? {} : { memoryBytes }),
      ...(origin === undefined ? {} : { origin }),
      ...(written === undefined ? {} : { written }),
      ...(lost === undefined ? {} : { losses: lost }),
    };
    watch.restart();
  }
}

let memoryReadMs = Number.NEGATIVE_INFINITY;

/** The memory of this process; undefined where it was read less than `MEMORY_READ_MS` ago. */
function memoryNow(): number | undefined {
  const now = performance.now();
  if (runsInProcess() || now - memoryReadMs < MEMORY_READ_MS) return undefined;
  memoryReadMs = now;
  return ownMemoryBytes();
}

export function factsOf(block: Block): BlockFacts {
  return { rowCount: block.rowCount, sizeBytes: blockBytes(block), schema: schemaOf(block) };
}
