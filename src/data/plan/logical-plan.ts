/**
 * The logical plan: the source and steps of a dataset in the user's order. Plain data that never changes: each new dataset adds a node above another's.
 *
 * `push-down.ts` turns it into a plan that reads less, `rules.ts` into the physical plan, and `explain.ts` shows both. A source is listed when its plan runs. A
 * plan that travels to another process contains the listed parts.
 */
import type { TaskOptions } from "../../core/index.ts";
import type { Block } from "../blocks/block.ts";
import type { Field } from "../blocks/data-type.ts";
import type { Compute, TaskLimit } from "../engine/pools/compute.ts";
import type { Combine } from "../engine/exchange/combine.ts";
import type { Mix } from "../engine/operators/several-inputs.ts";
import type { ItemSource } from "../engine/operators/item-operator.ts";
import type { StoredBlock } from "../engine/operators/operator.ts";
import type { Partitioning } from "../engine/exchange/partition-task.ts";
import type { Reader } from "../engine/tasks/task.ts";
import type { Transform } from "../engine/tasks/transform.ts";
import type { ExpressionNode } from "../expressions/nodes.ts";
import { Random, shuffleInPlace } from "../kernels/random.ts";

/** A place where rows come from, in parts that are read apart. */
export interface Source {
  /** The source's name in plans, such as `readCsv`. */
  readonly name: string;
  readonly reader: Reader;
  /** The parts, in the order of their rows, where they were listed before, or what lists them. */
  readonly parts: readonly SourcePart[] | ListParts;
  /** Whether each run brings the parts into another order. Default: they are read in theirs. */
  readonly shuffle?: Shuffle | undefined;
  /** Each part says how many rows it has. */
  readonly knowsRowCounts?: boolean;
  /** Lists the files that it reads. Absent where it reads none. */
  files?(): Promise<readonly string[]>;
  /** Whether code of the user's makes the rows. Default: false. */
  readonly isOfUser?: boolean;
  /** The parts that a part has, such as one a file; undefined where it has one alone. Absent where no part can be cut. */
  partsOfPart?(args: readonly unknown[]): readonly (readonly unknown[])[] | undefined;
  /** Names the files of a part, for errors. Absent where there is none. */
  nameOfPart?(args: readonly unknown[]): string | undefined;
  /** Columns of each block, as far as they are known. */
  readonly columns?: readonly string[] | undefined;
  /** The columns of all its blocks, of the parts that were listed last; undefined where they are not known. Absent where they never are. */
  fields?(): Promise<readonly Field[] | undefined>;
  /** Returns a source without unwanted rows and columns; undefined if nothing changes. Absent for a source that cannot leave anything out. */
  pushDown?(wanted: Wanted): Source | undefined;
}

/**
 * Lists the parts of a source.
 *
 * @param cpus - how many there are in the cluster
 * @param leavesOut - whether the run goes on without a file for which this is the error
 * @param isFileAPart - each file is to be a part, as a file that fails takes the others of the part along
 */
type ListParts = (cpus: number, leavesOut: LeavesOut, isFileAPart: boolean) => Promise<readonly SourcePart[]>;

type LeavesOut = (error: unknown) => boolean;

export async function partsOf(
  { parts, shuffle }: Source,
  cpus: number,
  leavesOut: LeavesOut = () => false,
  isFileAPart = false,
): Promise<readonly SourcePart[]> {
  return shuffled(typeof parts === "function" ? await parts(cpus, leavesOut, isFileAPart) : parts, shuffle);
}

/** A random order: another one each time, or that of the seed. */
export type Shuffle = "files" | { readonly seed: number };

/** The items in a random order where there is to be one. */
export function shuffled<T>(items: readonly T[], order: Shuffle | undefined): readonly T[] {
  if (order === undefined) return items;
  const random = new Random(order === "files" ? Math.floor(Math.random() * 2 ** 32) : order.seed);
  const mixed = [...items];
  shuffleInPlace(mixed, random);
  return mixed;
}

/** The columns and filters of the steps behind a read. */
export interface Wanted {
  /** Undefined: all columns. */
  readonly columns: readonly string[] | undefined;
  /** Rows for which one of these is not true need not be read. */
  readonly filters: readonly ExpressionNode[];
}

export interface SourcePart {
  /** The reader's arguments. */
  readonly args: readonly unknown[];
  /** Where it is known without reading. */
  readonly rowCount?: number;
}

export type LogicalPlan =
  | { readonly kind: "input"; readonly name: string; readonly blocks: readonly Block[] }
  | { readonly kind: "stored"; readonly name: string; readonly blocks: readonly StoredBlock[] }
  | {
      readonly kind: "read";
      readonly name: string;
      readonly source: Source;
      readonly options: TaskOptions<1>;
      /** Default: tasks, as many as suit the CPUs. */
      readonly compute?: TaskLimit | undefined;
    }
  | {
      readonly kind: "map";
      readonly name: string;
      readonly input: LogicalPlan;
      readonly transform: Transform;
      readonly options: TaskOptions<1>;
      /** Default: tasks, as many as suit the CPUs. */
      readonly compute?: Compute | undefined;
    }
  | { readonly kind: "limit"; readonly name: string; readonly input: LogicalPlan; readonly count: number }
  | { readonly kind: "iterable"; readonly name: string; readonly items: ItemSource }
  | { readonly kind: "blockOrder"; readonly name: string; readonly input: LogicalPlan; readonly seed: number }
  | ExchangePlan
  | CombinePlan
  | {
      readonly kind: "union";
      readonly name: string;
      readonly inputs: readonly LogicalPlan[];
      /** Default: the blocks of one input after those of the other. */
      readonly mix?: Mix | undefined;
    };

/** Rows come together by a partitioning, and a transform takes all of a partition. */
export interface ExchangePlan {
  readonly kind: "exchange";
  readonly name: string;
  readonly input: LogicalPlan;
  /** A transform of the rows before they travel. */
  readonly before?: Transform;
  readonly partitioning: Partitioning;
  /** How many partitions there are to be. Default: as many as suit the bytes. */
  readonly partitions?: number;
  readonly after: Transform;
}

/** Rows of several inputs come together, by their keys or their numbers, and are made rows of all. */
interface CombinePlan {
  readonly kind: "combine";
  readonly name: string;
  readonly inputs: readonly LogicalPlan[];
  readonly combine: Combine;
  /** As in an exchange. */
  readonly partitions?: number | undefined;
}

/**
 * The number of rows that the plan gives, where that is known without reading any; undefined elsewhere.
 *
 * @param list - lists the parts of a source
 */
export async function rowCountOf(
  plan: LogicalPlan,
  list: (source: Source, name: string) => Promise<readonly SourcePart[]>,
): Promise<number | undefined> {
  switch (plan.kind) {
    case "input":
    case "stored":
      return sumOf(plan.blocks);
    case "read":
      return plan.source.knowsRowCounts === true ? sumOf(await list(plan.source, plan.name)) : undefined;
    case "limit": {
      const all = await rowCountOf(plan.input, list);
      return all && Math.min(all, plan.count);
    }
    case "blockOrder":
      return rowCountOf(plan.input, list);
    case "union": {
      if (plan.mix !== undefined) return undefined;
      const counts = [];
      for (const input of plan.inputs) counts.push(await rowCountOf(input, list));
      return counts.includes(undefined) ? undefined : sumOf(counts.map((rowCount) => ({ rowCount })));
    }
    default:
      return undefined;
  }
}

function sumOf(parts: readonly { readonly rowCount?: number | undefined }[]): number {
  return parts.reduce((sum, { rowCount = 0 }) => sum + rowCount, 0);
}

/** The plans that a plan takes rows from. */
export function inputsOf(plan: LogicalPlan): readonly LogicalPlan[] {
  if (plan.kind === "map" || plan.kind === "limit" || plan.kind === "exchange" || plan.kind === "blockOrder") return [plan.input];
  return plan.kind === "union" || plan.kind === "combine" ? plan.inputs : [];
}

/** Whether the plan has an iterable of the program, which can be read once. */
export function isReadOnce(plan: LogicalPlan): boolean {
  return plan.kind === "iterable" || inputsOf(plan).some(isReadOnce);
}

/** The files that the sources of a plan read, each once, in the order of the sources. */
export async function filesOf(plan: LogicalPlan): Promise<readonly string[]> {
  if (plan.kind === "read") return (await plan.source.files?.()) ?? [];
  const files = new Set<string>();
  for (const input of inputsOf(plan)) for (const file of await filesOf(input)) files.add(file);
  return [...files];
}
