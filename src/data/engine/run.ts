/**
 * Runs a physical plan: makes its operators, and gives the blocks of its output one after the other.
 *
 * The blocks come in order unless `preserveOrder` is false. All have one schema: a column with different types in different blocks is an error here. A consumer
 * that leaves the loop early stops the pipeline. A failure stops it, too, and is thrown.
 */
import { clusterResources, init, isInitialized, type NodeInfo, nodes, objectStoreStatistics, type TaskOptions } from "../../core/index.ts";
import { type Block, blockBytes, packBlock, sliceBlock } from "../blocks/block.ts";
import { BLOCK_BYTES_MAX, POOL_LOOK_MS, STORE_PART_OF_BUDGET, TASKS_PER_CPU } from "../limits.ts";
import type { Field } from "../blocks/data-type.ts";
import { labelledPlan } from "../plan/labelled-plan.ts";
import { type PhysicalPlan, physicalInputs } from "../plan/physical-plan.ts";
import { physicalPlan } from "../plan/rules.ts";
import { smallSideOf } from "../plan/small-sides.ts";
import { allResources, largestTask, refuseBeyond, resourcesOf, scarceLimits, type StepResources } from "../plan/step-resources.ts";
import { processBoard, showsProgress, type WorkOutcome } from "../../progress/progress-board.ts";
import { createMemoryProbe, type LabelSelector, matchesLabels } from "../../core/internal.ts";
import { IssueDetector, watchIssues, type WatchedOperator } from "../reports/issues.ts";
import { shownRun } from "../reports/progress.ts";
import type { Settings } from "../options/settings.ts";
import type { RunState } from "../reports/statistics.ts";
import { ActorPoolOperator } from "./operators/actor-operator.ts";
import { MemoryBudget } from "./pools/budget.ts";
import { CommonSchema } from "./streams/common-schema.ts";
import { BlockOrderOperator, InputOperator, LimitOperator, StoredOperator } from "./operators/driver-operators.ts";
import { rangeOf } from "./tasks/cut-blocks.ts";
import { ErroredBlocks } from "./tasks/errored-blocks.ts";
import { ExchangeOperator } from "./operators/exchange-operator.ts";
import { ItemOperator } from "./operators/item-operator.ts";
import { wholeInputsOf } from "./exchange/combine.ts";
import type { BlockRef, Operator, OperatorEvents } from "./operators/operator.ts";
import { actorStart } from "./pools/pool-actor.ts";
import { Pools } from "./pools/pools.ts";
import { type Amounts, ResourceLimits } from "./pools/resource-limits.ts";
import { type Stage, StreamingExecutor } from "./streaming-executor.ts";
import { pythonActors, pythonTasks } from "./python/python-batches.ts";
import { MixOperator, UnionOperator } from "./operators/several-inputs.ts";
import type { SmallSide } from "./tables/small-side.ts";
import { type BlockCut, combineTasks, joiningReadTasks, mapTasks, numberedTasks, rangeTasks, readTasks } from "./tasks/task.ts";
import { TaskOperator, type TaskOperatorOptions, type TaskRecovery } from "./operators/task-operator.ts";
import { type Transform, unitRowsOf } from "./tasks/transform.ts";
import { isByBins } from "./tasks/whole-transforms.ts";
import { knownFields, withAlignedUnions } from "../plan/known-fields.ts";
import { type LogicalPlan, partsOf, rowCountOf, type Source, type SourcePart } from "../plan/logical-plan.ts";

/** The memory of all running pipelines of this process. */
const budget = new MemoryBudget();

/** The room of a pipeline: the resources of eligible nodes, less the part that it leaves to other work. */
interface Room {
  /** CPUs of the cluster, at least one. */
  readonly cpus: number;
  /** The most that the pipeline may hold, of each resource that has a limit. */
  readonly limits: Amounts;
  /** The amount that there is of a resource. */
  readonly totalOf: (name: string) => number;
  /** The setting that a resource has its limit from. */
  readonly from: (name: string) => string;
}

async function roomOf({ labelSelector, resourceLimits, excludeResources }: Settings): Promise<Room> {
  const offers: Amounts[] =
    labelSelector === undefined ? [await clusterResources()] : (await livingNodes(labelSelector)).map(({ resources }) => resources);
  const totalOf = (name: string): number => offers.reduce((sum, offer) => sum + (offer[name] ?? 0), 0);
  const leftOf = (name: string): number => Math.max(0, totalOf(name) - (excludeResources[name] ?? 0));
  const limits: Record<string, number> = { ...resourceLimits };
  for (const name of Object.keys(excludeResources)) limits[name] = Math.min(leftOf(name), limits[name] ?? Number.POSITIVE_INFINITY);
  return {
    cpus: Math.max(1, Math.floor(leftOf("CPU"))),
    limits,
    totalOf,
    from: (name) =>
      limits[name] === resourceLimits[name]
        ? `resourceLimits allow ${limits[name]}`
        : `excludeResources leave ${limits[name]} of the ${totalOf(name)} that the cluster has`,
  };
}

/** Returns the limits of a pipeline: those of its settings, and the totals of resources for which its steps compete. */
function keptLimits({ limits, totalOf }: Room, steps: readonly StepResources[]): Amounts {
  const kept: Record<string, number> = { ...limits };
  for (const [name, limit] of Object.entries(scarceLimits(steps, totalOf))) kept[name] = Math.min(limit, kept[name] ?? limit);
  return kept;
}

/** Watches the cluster's totals of limited resources. @returns a function that ends the watch */
function watchLimits(limits: ResourceLimits, look: () => Promise<Amounts>, onChange: () => void): () => void {
  const timer = setInterval(() => {
    look().then(
      (kept) => {
        limits.fit(kept);
        onChange();
      },
      // Without a session there is nothing to look at.
      () => {},
    );
  }, POOL_LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Starts Shoal where it does not run. Another dataset may be starting it at the same time. */
export async function startSession(): Promise<void> {
  if (!isInitialized()) await init({ ignoreReinitError: true });
}

/** How many CPUs a pipeline may use at a time, at least one. */
export async function usableCpus(settings: Settings): Promise<number> {
  const { cpus, limits } = await roomOf(settings);
  return cpusWithin(cpus, limits);
}

function cpusWithin(cpus: number, { CPU = cpus }: Amounts): number {
  return Math.max(1, Math.min(cpus, Math.floor(CPU)));
}

/** The nodes that live and meet the conditions. */
async function livingNodes(selector: LabelSelector | undefined): Promise<readonly NodeInfo[]> {
  return (await nodes()).filter(({ alive, labels }) => alive && matchesLabels(selector, labels));
}

/** The number of rows that a plan gives, where that is known without running it; undefined elsewhere. */
export async function knownRowCount(plan: LogicalPlan, settings: Settings): Promise<number | undefined> {
  const errored = new ErroredBlocks(settings.maxErroredBlocks);
  // A run tells which files it leaves out.
  let isWhole = true;
  const rowCount = await rowCountOf(plan, async (source, name) => {
    await startSession();
    return partsOf(source, await usableCpus(settings), (error) => {
      isWhole = false;
      return errored.leavesOut(name, error);
    });
  });
  return isWhole ? rowCount : undefined;
}

/** The schema of a plan, where that is known without running it; undefined elsewhere, and where a file is left out. */
export async function knownSchema(plan: LogicalPlan, settings: Settings): Promise<readonly Field[] | undefined> {
  const physical = physicalPlan(plan);
  if (!readsOf(physical).every(({ source }) => source.fields !== undefined)) return undefined;
  await startSession();
  const cpus = await usableCpus(settings);
  for (const { source } of readsOf(physical)) await partsOf(source, cpus);
  return knownFields(physical);
}

/** Aligns the unions of a plan for a process that does not know the columns of sources. */
export async function alignedPlan(plan: PhysicalPlan, cpus: number): Promise<PhysicalPlan> {
  if (!hasUnion(plan)) return plan;
  for (const { source } of readsOf(plan)) await partsOf(source, cpus);
  return withAlignedUnions(plan);
}

function hasUnion(plan: PhysicalPlan): boolean {
  return plan.kind === "union" || physicalInputs(plan).some(hasUnion);
}

/** How a plan is run. */
interface RunOptions {
  readonly settings: Settings;
  readonly signal?: AbortSignal | undefined;
  /** The dataset's name, for progress. */
  readonly name?: string | undefined;
  /** Given the operators, and what is left out, before they begin. */
  readonly onBegin?: ((run: Pick<RunState, "operators" | "errored">) => void) | undefined;
}

/** The blocks of the plan's output. */
export async function* run(
  given: PhysicalPlan,
  { settings, signal, name, onBegin }: RunOptions,
): AsyncGenerator<BlockRef, void, undefined> {
  signal?.throwIfAborted();
  await startSession();
  const { labelSelector } = settings;
  const labelled = labelledPlan(given, labelSelector);
  const room = await roomOf(settings);
  const steps = allResources(labelled);
  refuseBeyond(room.limits, steps, room.from);
  const kept = keptLimits(room, steps);
  const limits = Object.keys(kept).length === 0 ? undefined : new ResourceLimits(kept, largestTask(steps));
  const cpus = cpusWithin(room.cpus, room.limits);
  const machines = settings.detectIssues ? Math.max(1, (await livingNodes(labelSelector)).length) : 1;
  const limitBytes = settings.memoryBytes ?? (await objectStoreStatistics()).quotaBytes * STORE_PART_OF_BUDGET;
  const parts = new Map<Source, readonly SourcePart[]>();
  const errored = new ErroredBlocks(settings.maxErroredBlocks);
  for (const { name: reader, source } of readsOf(labelled)) {
    const leavesOut = (error: unknown): boolean => errored.leavesOut(reader, error);
    if (!parts.has(source)) parts.set(source, await partsOf(source, cpus, leavesOut, settings.maxErroredBlocks !== 0));
  }
  const plan = await withAlignedUnions(labelled);
  const pools = new Pools(plan, room.cpus);
  const watched: WatchedOperator[] = [];
  const executor = new StreamingExecutor({ budget, limitBytes, limits }, (events) =>
    buildStages(plan, { events, parts, cpus, pools, limits, settings, errored, watched }),
  );
  const operators = executor.stages.map(({ operator }) => operator);
  onBegin?.({ operators, errored });
  const endProgress = showsProgress(settings.progress) ? processBoard().begin(shownRun({ name, operators, errored })) : undefined;
  const endWatch = pools.watch(async () => (await roomOf(settings)).cpus);
  const isScarce = Object.keys(scarceLimits(steps, room.totalOf)).length > 0;
  const endLook =
    limits !== undefined && isScarce
      ? watchLimits(
          limits,
          async () => keptLimits({ ...(await roomOf(settings)), limits: room.limits }, steps),
          () => executor.onChange(),
        )
      : undefined;
  const endDetection = settings.detectIssues ? detectIssues(watched, room.cpus / machines, name) : undefined;
  let outcome: WorkOutcome = "stopped";
  const stop = (): void => executor.onFailure(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  // An abort while the parts were listed reached no listener.
  if (signal?.aborted === true) stop();
  try {
    const schema = new CommonSchema();
    for (let block = await executor.next(); block !== undefined; block = await executor.next()) {
      schema.add(block);
      yield block;
    }
    outcome = "done";
  } catch (error) {
    outcome = "failed";
    throw error;
  } finally {
    endProgress?.(outcome);
    endDetection?.();
    endWatch();
    endLook?.();
    signal?.removeEventListener("abort", stop);
    await executor.close();
  }
}

/** Warns on stderr of stuck or starved operators. Assumes that the cluster's machines are like this one. @returns a function that ends the watch */
function detectIssues(operators: readonly WatchedOperator[], cpus: number, name: string | undefined): () => void {
  const ofDataset = name === undefined ? "" : `${name}: `;
  const detector = new IssueDetector({ cpus, memoryBytes: createMemoryProbe().machine()?.totalBytes });
  return watchIssues({ detector, operators, tell: (warning) => void process.stderr.write(`shoal: warning: ${ofDataset}${warning}\n`) });
}

/** The resources that each task of an operator asks for, by which the issue detectors judge. */
function watchedOf(plan: PhysicalPlan, operator: Operator): WatchedOperator[] {
  if (plan.kind === "exchange") return [{ operator, numCpus: 1, requestedBytes: undefined }];
  if (plan.kind !== "read" && plan.kind !== "map") return [];
  const { numCpus = 1, memoryBytes = 0 } =
    plan.kind === "map" && plan.compute?.kind === "actors" ? { ...plan.compute.actorOptions, numCpus: plan.compute.numCpus } : plan.options;
  return [{ operator, numCpus, requestedBytes: memoryBytes }];
}

type ReadPlan = Extract<PhysicalPlan, { kind: "read" }>;

function readsOf(plan: PhysicalPlan): ReadPlan[] {
  return plan.kind === "read" ? [plan] : physicalInputs(plan).flatMap(readsOf);
}

interface BuildOptions {
  readonly events: OperatorEvents;
  readonly parts: ReadonlyMap<Source, readonly SourcePart[]>;
  readonly cpus: number;
  readonly pools: Pools;
  readonly limits: ResourceLimits | undefined;
  readonly settings: Settings;
  readonly errored: ErroredBlocks;
  /** To which operators with tasks are added. */
  readonly watched: WatchedOperator[];
}

/** The stages of a plan, producers before consumers. */
function buildStages(plan: PhysicalPlan, options: BuildOptions): Stage[] {
  const stages: Stage[] = [];
  const add = (node: PhysicalPlan, joinsWith?: SmallSide): number => {
    const side = node.kind === "exchange" ? smallSideOf(node, options.parts) : undefined;
    const inputs = physicalInputs(node).map((input, i) => add(input, i === 0 ? side : undefined));
    const operator = buildOperator(node, options, joinsWith ?? side);
    options.watched.push(...watchedOf(node, operator));
    return stages.push({ operator, inputs }) - 1;
  };
  add(plan);
  return stages;
}

/** @param side - the small side of a join, of the read that is its large side, and of the exchange that has both */
function buildOperator(
  plan: PhysicalPlan,
  { events, parts, cpus, pools, limits, settings, errored }: BuildOptions,
  side: SmallSide | undefined,
): Operator {
  const { preserveOrder } = settings;
  const claim = limits?.step(resourcesOf(plan)?.amounts ?? {});
  const shared = { name: plan.name, events, errored, concurrencyMax: cpus * TASKS_PER_CPU, preserveOrder, claim };
  switch (plan.kind) {
    case "input":
      return new InputOperator(plan.name, cutInput(plan.blocks, cpus));
    case "stored":
      return new StoredOperator(plan.name, plan.blocks);
    case "read": {
      const { chain, source, cutFor, compute } = plan;
      const options = { name: plan.name, ...plan.options };
      const reads = (parts.get(source) as readonly SourcePart[]).map((part) => part.args);
      const cut = cutFor && cutOf(cutFor, reads.length, cpus);
      const startTask =
        side === undefined ? readTasks(source.reader, { chain, cut }, options) : joiningReadTasks(source.reader, { chain, side }, options);
      const concurrencyMax = compute?.concurrency ?? shared.concurrencyMax;
      const recovery = side === undefined ? { ...recoveryOf(chain, options), read: readRecovery(source, options) } : undefined;
      const isHeld = side && (() => !side.isSettled);
      return new TaskOperator({ ...shared, concurrencyMax, startTask, reads, rowsPerTaskMin: 0, isHeld, recovery });
    }
    case "map":
      return buildMap(plan, shared, pools);
    case "exchange": {
      const { name, inputs, combine, partitions, chain, options } = plan;
      const named = { name, ...options };
      const startTask = combine === undefined ? mapTasks(chain, named) : combineTasks(combine, chain, named);
      const partitionings = inputs.map(({ partitioning }) => partitioning);
      const takesBins = combine === undefined ? chain[0] !== undefined && isByBins(chain[0]) : combine.kind !== "zip";
      return new ExchangeOperator({
        ...shared,
        taskOptions: options,
        partitionings,
        combines: combine?.kind,
        wholeInputs: wholeInputsOf(combine),
        smallSide: side,
        takesBins,
        partitions,
        startTask,
        cpus,
      });
    }
    case "iterable":
      return new ItemOperator(plan.name, plan.items, events);
    case "blockOrder":
      return new BlockOrderOperator(plan.name, plan.seed);
    case "limit":
      return new LimitOperator(plan.name, plan.count, events);
    case "union":
      return plan.mix === undefined ? new UnionOperator(plan.name, plan.inputs.length) : new MixOperator(plan.name, plan.mix);
  }
}

function recoveryOf(chain: readonly Transform[], options: TaskOptions<1>): TaskRecovery {
  return { unitRows: unitRowsOf(chain), startRanges: rangeTasks(chain, options) };
}

function readRecovery(source: Source, options: TaskOptions<1>): TaskRecovery["read"] {
  return {
    startRead: readTasks(source.reader, { chain: [] }, options),
    partsOf: (args) => source.partsOfPart?.(args),
    nameOf: (args) => source.nameOfPart?.(args),
  };
}

/** The pieces of each block of a read, so that each worker behind it has one to work on and one that waits; undefined where its tasks are enough. */
function cutOf({ rows, workers }: NonNullable<ReadPlan["cutFor"]>, tasks: number, cpus: number): BlockCut | undefined {
  const pieces = workers === 1 ? 1 : Math.ceil(((workers ?? cpus) * TASKS_PER_CPU) / Math.max(1, tasks));
  return pieces === 1 ? undefined : { pieces, rows };
}

type MapPlan = Extract<PhysicalPlan, { kind: "map" }>;

/** @param shared - what all operators are made with */
function buildMap(plan: MapPlan, shared: Omit<TaskOperatorOptions, "startTask" | "rowsPerTaskMin">, pools: Pools): Operator {
  const { name, chain, compute } = plan;
  const first = chain[0];
  const rowsPerTaskMin = first === undefined ? 0 : rowsWanted(first);
  if (compute?.kind === "actors") {
    const size = pools.sizeOf(plan);
    const initial = Math.min(compute.initial, size.max);
    const actors = first?.kind === "pythonBatches" ? pythonActors(first, compute) : actorStart(chain, name, compute);
    const { claim: actorClaim, ...others } = shared;
    const operator = new ActorPoolOperator({
      ...compute,
      callsAtATime: compute.actorOptions.maxConcurrency,
      ...others,
      ...size,
      initial,
      actors,
      actorClaim,
      cpus: pools.cpus,
      rowsPerTaskMin,
    });
    pools.made(plan, operator);
    return operator;
  }
  const concurrencyMax = compute?.concurrency ?? shared.concurrencyMax;
  if (first?.kind === "rebatch" && first.isStrict === true) {
    const startTask = rangeTasks(chain, { name, ...plan.options });
    const argsOf = (inputs: readonly BlockRef[]): readonly unknown[] => [inputs.map(rangeOf), ...inputs.map(({ ref }) => ref)];
    return new TaskOperator({ ...shared, startTask, rowsPerTaskMin, cutsBlocks: true, argsOf });
  }
  const isNumbered = first?.kind === "sample" || first?.kind === "numbered";
  const options = { name, ...plan.options };
  const startTask = first?.kind === "pythonBatches" ? pythonTasks(first, options) : (isNumbered ? numberedTasks : mapTasks)(chain, options);
  // A block is a file, however many tasks write at a time.
  const keepsBlocksApart = first?.kind === "write";
  const bytesPerTaskMin = first?.kind === "write" ? first.minBytesPerFile : undefined;
  const recovery = first?.kind === "pythonBatches" || isNumbered ? undefined : recoveryOf(chain, options);
  return new TaskOperator({
    ...shared,
    concurrencyMax,
    startTask,
    isNumbered,
    rowsPerTaskMin,
    bytesPerTaskMin,
    keepsBlocksApart,
    recovery,
  });
}

/** Returns the fewest rows of a task for its first transform, while more rows come. */
function rowsWanted(first: Transform): number {
  if (first.kind === "rebatch") return first.rows;
  if (first.kind === "write") return first.minRowsPerFile ?? 0;
  return first.kind === "mapBatches" || first.kind === "pythonBatches" ? (first.batchSize ?? 0) : 0;
}

/** The driver's blocks in pieces for all workers, since a function may cost much however small its row is. Pieces are no larger than a block may be. */
function cutInput(blocks: readonly Block[], cpus: number): Block[] {
  return blocks.flatMap((block) => {
    const wanted = Math.max(cpus * TASKS_PER_CPU, Math.ceil(blockBytes(block) / BLOCK_BYTES_MAX));
    const pieces = Math.max(1, Math.min(wanted, block.rowCount));
    return Array.from({ length: pieces }, (_, i) =>
      packBlock(sliceBlock(block, Math.floor((block.rowCount * i) / pieces), Math.floor((block.rowCount * (i + 1)) / pieces))),
    );
  });
}
