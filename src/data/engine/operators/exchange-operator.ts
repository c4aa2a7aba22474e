/**
 * The operator that brings rows together: those of equal keys, of a range of keys, or a random part of all. Sorting, grouping, shuffling, repartitioning and joining are this one
 * operator with other transforms behind it. A join has two inputs, whose rows of equal keys meet in one partition; a zip has several, whose rows of equal numbers do.
 *
 * It takes all blocks first, as only then it is known how many bytes there are. They rest in the object store meanwhile, which spills them, so they do not count against the
 * budget. Then partition tasks cut them into parts, and one task a partition takes its parts and gives blocks, in the order of the partitions. A sort takes samples
 * between the two. Where one side of a join is small, nothing is cut, and blocks of the other side are not collected: as they come, each task takes some of them, and all of
 * the small side.
 */
import { type ObjectRef, put, type TaskOptions } from "../../../core/index.ts";
import { type Block, concatBlocks, EMPTY_BLOCK, takeBlock } from "../../blocks/block.ts";
import { type SortKey, sortedIndices } from "../../kernels/sort.ts";
import {
  BINS_MAX,
  BINS_PER_PARTITION,
  EXCHANGE_BYTES_MIN,
  PARTITION_BYTES,
  PARTITIONS_MAX,
  READ_BLOCK_BYTES,
  SAMPLES_PER_PARTITION,
  WHOLE_INPUT_ROWS_MAX,
  WHOLE_INPUT_TIMES,
} from "../../limits.ts";
import { DataError } from "../../errors.ts";
import { CommonSchema } from "../streams/common-schema.ts";
import type { Combine } from "../exchange/combine.ts";
import type { ErroredBlocks } from "../tasks/errored-blocks.ts";
import type { StepClaim } from "../pools/resource-limits.ts";
import { type BlockRef, type Operator, type OperatorEvents, type OperatorLoad, OperatorStatistics, ownedBlock } from "./operator.ts";
import {
  type Partitioning,
  type PartitionFacts,
  type PartitionRequest,
  type PartitionStart,
  partitionTasks,
  type SampleStart,
  sampleTasks,
  timesOfKeys,
} from "../exchange/partition-task.ts";
import { UnionOperator } from "./several-inputs.ts";
import type { SmallSide } from "../tables/small-side.ts";
import { bordersOf } from "../exchange/sort-boundaries.ts";
import type { BlockFacts, TaskStart } from "../tasks/task.ts";
import { type TaskBundle, TaskOperator, type TaskOperatorOptions } from "./task-operator.ts";

interface ExchangeOptions {
  readonly name: string;
  /** The partitioning of each input. */
  readonly partitionings: readonly Partitioning[];
  /** How many partitions there are to be; undefined: as many as suit the bytes. */
  readonly partitions: number | undefined;
  /** Whether a partition's task takes one bin after the other and may give each as a separate block. */
  readonly takesBins: boolean;
  /** How several inputs are made one. */
  readonly combines: Combine["kind"] | undefined;
  /** Inputs of which each task may have all rows, as the result is the same then. */
  readonly wholeInputs: readonly number[];
  /** The second input, if the tasks of the first one may join with it. Default: they do not. */
  readonly smallSide?: SmallSide | undefined;
  /** Begins the task of a partition: its arguments are the parts. Where inputs are combined, before them how many each input has. */
  readonly startTask: TaskStart;
  /** Options of the tasks that cut blocks and take samples. */
  readonly taskOptions?: TaskOptions<1> | undefined;
  readonly cpus: number;
  readonly concurrencyMax: number;
  /** The resources that each task holds, of those that have a limit. Default: none. */
  readonly claim?: StepClaim | undefined;
  readonly preserveOrder: boolean;
  readonly errored?: ErroredBlocks | undefined;
  /** Makes the tasks that cut blocks and take samples. Default: those of workers. */
  readonly cutting?: typeof CUTTING | undefined;
  readonly events: OperatorEvents;
}

const CUTTING = { partitionTasks, sampleTasks };

type RangePartitioning = Extract<Partitioning, { kind: "range" }>;

/** The blocks of one partition task, of one input, and the number of their first row. */
interface Bundle {
  readonly input: number;
  readonly blocks: readonly BlockRef[];
  readonly firstRow: number;
}

export class ExchangeOperator implements Operator {
  readonly name: string;
  readonly statistics = new OperatorStatistics();
  readonly #options: ExchangeOptions;
  readonly #startPartition: readonly PartitionStart[];
  /** By input. */
  readonly #collected: BlockRef[][];
  readonly #schemas: readonly CommonSchema[];
  readonly #openInputs: Set<number>;
  /** Rows and bytes of the blocks that came, by input. */
  readonly #rowCounts: number[];
  readonly #byteCounts: number[];
  /** The blocks of a small input that goes to every task. */
  #beside: readonly BlockRef[] | undefined;
  /** Inputs that have given a block. */
  readonly #seen = new Set<number>();
  #bundles: Bundle[] = [];
  /** For each bundle its parts, by partition. */
  #parts: (readonly BlockRef[])[] = [];
  #request: Omit<PartitionRequest, "firstRow" | "times"> = { count: 1, bins: 1, totalRows: 0 };
  /** The key times of each input. */
  #times: ReturnType<typeof timesOfKeys> = [];
  /** Rows of keys of each block, by its place. */
  #samples: Block[] = [];
  #startSample: SampleStart | undefined;
  #nextSample = 0;
  #samplesLeft = 0;
  #nextBundle = 0;
  #bundlesLeft = 0;
  /** Waits for the samples and partitions under way. */
  readonly #underWay = new Set<Promise<void>>();
  readonly #cuttingOptions: TaskOptions<1>;
  /** Cancels the tasks that sample and partition. */
  readonly #cancellation = new AbortController();
  #phase: "collecting" | "sampling" | "partitioning" | "reducing" = "collecting";
  /** The source of the output: tasks, or blocks that come as they are to be. */
  #reduce: Operator | undefined;
  #isStopped = false;

  constructor(options: ExchangeOptions) {
    this.name = options.name;
    this.#options = options;
    this.#cuttingOptions = { ...options.taskOptions, signal: this.#cancellation.signal };
    this.#startPartition = options.partitionings.map((one) => this.#cutting.partitionTasks(one, options.name, this.#cuttingOptions));
    this.#collected = options.partitionings.map(() => []);
    this.#schemas = options.partitionings.map(() => new CommonSchema());
    this.#openInputs = new Set(options.partitionings.keys());
    this.#rowCounts = options.partitionings.map(() => 0);
    this.#byteCounts = options.partitionings.map(() => 0);
  }

  get claim(): StepClaim | undefined {
    return this.#options.claim;
  }

  get #cutting(): typeof CUTTING {
    return this.#options.cutting ?? CUTTING;
  }

  get load(): OperatorLoad {
    const queuedBlocks =
      this.#collected.reduce((count, blocks) => count + blocks.length, 0) +
      (this.#bundles.length - this.#nextBundle) +
      (this.#reduce?.load.queuedBlocks ?? 0);
    return { queuedBlocks, workers: this.#underWay.size + (this.#reduce?.load.workers ?? 0) };
  }

  get runningCount(): number {
    return this.#underWay.size + (this.#reduce?.runningCount ?? 0);
  }

  get pulledSinceMs(): readonly number[] {
    return this.#reduce?.pulledSinceMs ?? [];
  }

  /** Bytes held, without blocks that the store may spill. */
  get heldBytes(): number {
    return this.#reduce?.heldBytes ?? 0;
  }

  get isSatisfied(): boolean {
    return this.#isStopped;
  }

  get isDone(): boolean {
    return this.#isStopped || this.#reduce?.isDone === true;
  }

  /**
   * The first of the blocks without rows is kept: it has the columns, should no other come.
   *
   * @throws DataError for a column of two types: here it is known from which files they are, and in the tasks it is not
   */
  add(block: BlockRef, input: number): void {
    const isFirst = !this.#seen.has(input);
    this.#seen.add(input);
    if (this.#isStopped || (block.rowCount === 0 && !isFirst)) {
      block.release();
      return;
    }
    (this.#schemas[input] as CommonSchema).add(block);
    this.#rowCounts[input] = (this.#rowCounts[input] as number) + block.rowCount;
    this.#byteCounts[input] = (this.#byteCounts[input] as number) + block.sizeBytes;
    if (this.#beside === undefined) {
      (this.#collected[input] as BlockRef[]).push(block);
      this.#reduceBesideSmall();
    } else {
      if (this.#reduce instanceof UnionOperator) this.statistics.give({ ...block, wallMs: 0, cpuMs: 0 });
      this.#reduce?.add(block, 0);
    }
  }

  endInput(input: number): void {
    this.#openInputs.delete(input);
    if (this.#isStopped) return;
    if (input === 1) this.#settleSmallSide();
    this.#reduceBesideSmall();
    if (this.#openInputs.size > 0) return;
    if (this.#beside !== undefined) {
      this.#reduce?.endInput(0);
      return;
    }
    const totalBytes = sumOf(this.#byteCounts);
    const rowCounts = this.#rowCounts;
    const isZip = this.#options.combines === "zip";
    if (isZip && rowCounts.some((count) => count !== rowCounts[0])) {
      this.#options.events.onFailure(
        new DataError(`Cannot run ${this.name}: the datasets have different numbers of rows: ${rowCounts.join(", ")}`, {
          hint: "zip pairs the first row with the first, and so on: filter both sides alike, or join them by a key",
        }),
      );
      return;
    }
    // Rows are numbered within their input, and all inputs of a zip have as many.
    const totalRows = isZip ? (rowCounts[0] ?? 0) : sumOf(rowCounts);
    const { partitions, cpus, takesBins } = this.#options;
    const count = this.#options.partitionings.some(isKeyless) ? 1 : (partitions ?? partitionsFor(totalBytes, cpus));
    const bins = takesBins && partitions === undefined && count > 1 ? binsFor(count) : 1;
    this.#request = { count, bins, totalRows, seed: seedOf(this.#options.partitionings) };
    const [partitioning] = this.#options.partitionings;
    if (partitioning?.kind !== "range" || this.#request.count === 1 || totalRows === 0) this.#beginPartitioning();
    else if (partitioning.boundaries === undefined) this.#beginSampling(partitioning);
    else this.#cutAt(partitioning.boundaries, partitioning.keys[0] as SortKey);
  }

  canStart(): boolean {
    if (this.#isStopped) return false;
    const isFree = this.#underWay.size < this.#options.concurrencyMax;
    if (this.#phase === "sampling") return isFree && this.#nextSample < this.#sampled.length;
    if (this.#phase === "partitioning") return isFree && this.#nextBundle < this.#bundles.length;
    return this.#reduce?.canStart() ?? false;
  }

  start(): void {
    if (this.#phase === "reducing") this.#reduce?.start();
    else if (this.#phase === "sampling") this.#sampleNext();
    else this.#partitionNext();
  }

  needs(): boolean {
    return true;
  }

  pull(which: "all" | "next"): boolean {
    return this.#reduce?.pull(which) ?? false;
  }

  take(): BlockRef | undefined {
    const block = this.#reduce?.take();
    if (block === undefined && this.isDone) this.#releaseBeside();
    return block;
  }

  /** Tasks under way are cancelled: their blocks are released as soon as they have ended. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#cancellation.abort();
    this.#reduce?.stop();
    this.#releaseBeside();
    for (const block of this.#collected.flat()) block.release();
    for (const { blocks } of this.#bundles.slice(this.#nextBundle)) for (const block of blocks) block.release();
    if (this.#phase !== "reducing") for (const parts of this.#parts) for (const part of parts ?? []) part.release();
  }

  async ended(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Waits for a task that is none of the reduction, and tells its failure. */
  #run(work: Promise<void>): void {
    this.claim?.change("nothing", "everything");
    const told = work
      .catch((error: unknown) => {
        if (!this.#isStopped) this.#options.events.onFailure(error);
      })
      .finally(() => {
        this.#underWay.delete(told);
        this.claim?.change("everything", "nothing");
        if (!this.#isStopped) this.#options.events.onChange();
      });
    this.#underWay.add(told);
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Sampling

  /** The blocks that samples are taken of: those of the only input. */
  get #sampled(): readonly BlockRef[] {
    return this.#collected[0] as BlockRef[];
  }

  #beginSampling({ keys }: RangePartitioning): void {
    this.#phase = "sampling";
    this.#samplesLeft = this.#sampled.length;
    this.#startSample = this.#cutting.sampleTasks(keys, this.name, this.#cuttingOptions);
  }

  #sampleNext(): void {
    const index = this.#nextSample;
    this.#nextSample += 1;
    this.statistics.beginTask();
    const { ref, rowCount } = this.#sampled[index] as BlockRef;
    const { count, totalRows } = this.#request;
    const start = this.#startSample as SampleStart;
    const work = async (): Promise<void> => {
      const sample = await start(Math.ceil((SAMPLES_PER_PARTITION * count * rowCount) / totalRows), [ref]);
      this.statistics.work(sample);
      this.#samples[index] = sample.rows;
      this.#samplesLeft -= 1;
      if (this.#samplesLeft === 0 && !this.#isStopped) this.#cutAtSamples();
    };
    this.#run(work());
  }

  #cutAtSamples(): void {
    const { keys } = this.#options.partitionings[0] as RangePartitioning;
    const keyRows = concatBlocks(this.#samples);
    this.#samples = [];
    const order = sortedIndices(keyRows, keys);
    const { count, bins } = this.#request;
    const length = count * bins - 1;
    const borders = Uint32Array.from({ length }, (_, i) => order[Math.floor(((i + 1) * order.length) / (length + 1))] as number);
    this.#request = { ...this.#request, borders: takeBlock(keyRows, borders) };
    this.#beginPartitioning();
  }

  #cutAt(boundaries: NonNullable<RangePartitioning["boundaries"]>, key: SortKey): void {
    try {
      this.#request = { ...this.#request, borders: bordersOf(boundaries, key, (this.#schemas[0] as CommonSchema).fields) };
    } catch (error) {
      this.#options.events.onFailure(error);
      return;
    }
    this.#beginPartitioning();
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Partitioning

  #beginPartitioning(): void {
    const { partitionings } = this.#options;
    const collected = this.#collected.map((blocks) => blocks.splice(0));
    this.#bundles = collected.flatMap((blocks, input) => bundlesOf(blocks, input, PARTITION_BYTES));
    // With one partition all parts are the blocks as they are, unless rows get a random place.
    if (this.#request.count === 1 && partitionings[0]?.kind !== "random") {
      this.#bundles = collected.flatMap((blocks, input) => blocks.map((block) => ({ input, blocks: [block], firstRow: 0 })));
      this.#parts = this.#bundles.map(({ blocks }) => blocks);
      this.#nextBundle = this.#bundles.length;
      this.#beginReducing();
      return;
    }
    this.#phase = "partitioning";
    this.#times = timesOfKeys(
      partitionings,
      this.#schemas.map(({ fields }) => fields),
    );
    this.#bundlesLeft = this.#bundles.length;
    if (this.#bundles.length === 0) this.#beginReducing();
  }

  #partitionNext(): void {
    const index = this.#nextBundle;
    this.#nextBundle += 1;
    this.statistics.beginTask();
    const { input, blocks, firstRow } = this.#bundles[index] as Bundle;
    const startPartition = this.#startPartition[input] as PartitionStart;
    const work = async (): Promise<void> => {
      try {
        const stream = startPartition(
          { ...this.#request, firstRow, times: this.#times[input] ?? {} },
          blocks.map((block) => block.ref),
        );
        const parts = await this.#partsFrom(stream);
        if (this.#isStopped) for (const part of parts) part.release();
        else this.#parts[index] = parts;
      } finally {
        for (const block of blocks) block.release();
      }
      this.#bundlesLeft -= 1;
      if (this.#bundlesLeft === 0 && !this.#isStopped) this.#beginReducing();
    };
    this.#run(work());
  }

  /** The parts that a task gives, by partition. Of a task that fails they are dropped. */
  async #partsFrom(stream: ReturnType<PartitionStart>): Promise<BlockRef[]> {
    const refs: ObjectRef<unknown>[] = [];
    for await (const { ref } of stream.refs()) refs.push(ref);
    // The last one is what is known of the others, or the failure.
    using last = refs.pop() as ObjectRef<PartitionFacts>;
    try {
      const facts = await last;
      this.statistics.work(facts);
      return refs.map((ref, partition) => ownedBlock(ref as ObjectRef<Block>, facts.parts[partition] as BlockFacts));
    } catch (error) {
      for (const ref of refs) ref[Symbol.dispose]();
      throw error;
    }
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Reducing

  #beginReducing(): void {
    const partitions = Array.from({ length: this.#request.count }, (_, partition) => this.#partsOf(partition));
    this.#parts = [];
    // Empty partitions give no blocks, but one partition has to give the columns.
    const kept = partitions.filter((bundle) => bundle.inputs.some((part) => part.rowCount > 0));
    if (kept.length === 0 && partitions[0] !== undefined) kept.push(partitions[0]);
    for (const bundle of partitions) if (!kept.includes(bundle)) for (const part of bundle.inputs) part.release();
    this.#reduceBundles(kept);
  }

  #reduceBundles(bundles: readonly TaskBundle[]): void {
    this.#reduceBy({ bundles });
  }

  #reduceBy(tasks: Pick<TaskOperatorOptions, "bundles" | "bytesPerTaskMin" | "argsOf">): void {
    this.#phase = "reducing";
    const { statistics } = this;
    this.#reduce = new TaskOperator({ ...this.#options, ...tasks, rowsPerTaskMin: 0, statistics });
    this.#options.events.onChange();
  }

  /** Begins tasks that each take some blocks of one input, and all of the other, as soon as that is there and small beside those that have come. */
  #reduceBesideSmall(): void {
    const whole = this.#beside === undefined ? this.#smallInput() : undefined;
    if (whole === undefined) return;
    const [own, others] = [whole, 1 - whole].map((input) => (this.#collected[input] as BlockRef[]).splice(0)) as [BlockRef[], BlockRef[]];
    this.#beside = own;
    // Each task brings the small input into a table, for which it takes several times its rows.
    const bytesPerTaskMin = Math.max(READ_BLOCK_BYTES, (WHOLE_INPUT_TIMES / 4) * (this.#byteCounts[whole] as number));
    const argsOf = (inputs: readonly BlockRef[]): readonly unknown[] => {
      const byInput = whole === 0 ? [own, inputs] : [inputs, own];
      return [byInput.map((blocks) => blocks.length), ...byInput.flat().map(({ ref }) => ref)];
    };
    this.#reduceBy({ bytesPerTaskMin, argsOf });
    for (const block of others) this.#reduce?.add(block, 0);
  }

  /** Lets the tasks of the first input begin. If the second one is small they give joined blocks, which are the output. */
  #settleSmallSide(): void {
    const { smallSide, events } = this.#options;
    if (smallSide === undefined) return;
    const isSmall = (this.#rowCounts[1] as number) <= WHOLE_INPUT_ROWS_MAX && (this.#byteCounts[1] as number) <= PARTITION_BYTES;
    const blocks = this.#collected[1] as BlockRef[];
    smallSide.settle(isSmall ? blocks : undefined);
    if (isSmall) {
      this.#beside = blocks;
      this.#collected[1] = [];
      this.#phase = "reducing";
      this.#reduce = new UnionOperator(this.name, 1);
    }
    events.onChange();
  }

  #releaseBeside(): void {
    for (const block of this.#beside ?? []) block.release();
    this.#beside = undefined;
  }

  /** Returns an ended input that is so small beside the other one that every task gets it whole. */
  #smallInput(): number | undefined {
    const { partitions, wholeInputs } = this.#options;
    if (partitions !== undefined) return undefined;
    return wholeInputs.find((input) => {
      const [own, other] = [input, 1 - input].map((one) => this.#byteCounts[one]) as [number, number];
      if (this.#openInputs.has(input) || (this.#rowCounts[input] as number) > WHOLE_INPUT_ROWS_MAX) return false;
      return own <= PARTITION_BYTES && other >= Math.max(EXCHANGE_BYTES_MIN, WHOLE_INPUT_TIMES * own);
    });
  }

  /** The parts of a partition. Those without rows are left out, but for one of each input, which has the columns. */
  #partsOf(partition: number): TaskBundle {
    const byInput = this.#options.partitionings.map((_, input) => {
      const parts = this.#parts.filter((_parts, bundle) => this.#bundles[bundle]?.input === input).map((own) => own[partition] as BlockRef);
      const filled = parts.filter((part) => part.rowCount > 0);
      const kept = filled.length > 0 ? filled : parts.slice(0, 1);
      for (const part of parts) if (!kept.includes(part)) part.release();
      return kept;
    });
    const inputs = byInput.flat();
    if (inputs.length === 0) inputs.push(ownedBlock(put(EMPTY_BLOCK), { rowCount: 0, sizeBytes: 0, schema: [] }));
    const refs = inputs.map(({ ref }) => ref);
    return { inputs, args: this.#options.combines === undefined ? refs : [byInput.map((parts) => parts.length), ...refs] };
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function partitionsFor(totalBytes: number, cpus: number): number {
  if (totalBytes < EXCHANGE_BYTES_MIN) return 1;
  return Math.min(PARTITIONS_MAX, Math.max(cpus, Math.ceil(totalBytes / PARTITION_BYTES)));
}

/** Tells whether all rows are one group: a hash of no columns, where these do not stand for all of them. */
function isKeyless(partitioning: Partitioning): boolean {
  return partitioning.kind === "hash" && partitioning.use === "join on" && partitioning.keys.length === 0;
}

/** Keys that somebody chose for one hash would all be in one partition: each exchange has other hashes. Where users ask for partitions by keys, these are the same in every run. */
function seedOf([partitioning]: readonly Partitioning[]): number | undefined {
  if (partitioning?.kind !== "hash" || partitioning.use === "repartition by") return undefined;
  return Math.floor(Math.random() * 2 ** 32) | 0;
}

/** How many bins each of some partitions has: rows go to all bins at once, which is slow where these are too many. */
function binsFor(partitions: number): number {
  return Math.max(1, Math.min(BINS_PER_PARTITION, Math.floor(BINS_MAX / partitions)));
}

/** Small blocks are cut together. */
function bundlesOf(blocks: readonly BlockRef[], input: number, bytesMin: number): Bundle[] {
  const bundles: Bundle[] = [];
  let own: BlockRef[] = [];
  let bytes = 0;
  let firstRow = 0;
  let row = 0;
  for (const block of blocks) {
    own.push(block);
    bytes += block.sizeBytes;
    row += block.rowCount;
    if (bytes < bytesMin) continue;
    bundles.push({ input, blocks: own, firstRow });
    own = [];
    bytes = 0;
    firstRow = row;
  }
  if (own.length > 0) bundles.push({ input, blocks: own, firstRow });
  return bundles;
}
