/**
 * The interface between the executor and its operators, which take blocks, work on them, and give blocks.
 *
 * An operator decides what it could do next and keeps its outputs in order. The executor decides whether it may, by the budget of memory and the limits of
 * resources. An operator without further output is done, and one without consumers is stopped.
 */
import type { ObjectRef } from "../../../core/index.ts";
import type { Block } from "../../blocks/block.ts";
import { addUsage, type Usage } from "../../blocks/usage.ts";
import { Measured } from "../../reports/measured.ts";
import type { StepClaim } from "../pools/resource-limits.ts";
import type { BlockFacts } from "../tasks/task.ts";

/** A block that somebody keeps, such as a materialized dataset. */
export interface StoredBlock extends BlockFacts {
  readonly ref: ObjectRef<Block>;
}

/** A block somewhere in the cluster. Its holder releases it or hands it on. */
export interface BlockRef extends StoredBlock {
  /** Frees the block, unless somebody keeps it, such as a materialized dataset. */
  release(): void;
}

/** A block of which this is the only reference. */
export function ownedBlock(ref: ObjectRef<Block>, facts: BlockFacts): BlockRef {
  return { ref, ...facts, release: () => ref[Symbol.dispose]() };
}

/** The same block for one more user, while somebody else keeps it. */
export function keptBlock(block: StoredBlock): BlockRef {
  return { ...block, release: () => {} };
}

export interface Operator {
  readonly name: string;
  /** Called once, before anything else. */
  open?(): void;
  /** Takes a block from an input; it is the operator's then. */
  add(block: BlockRef, input: number): void;
  /** No block comes from the input any more. */
  endInput(input: number): void;
  /** Tells whether the next block depends on this input now. True for every input unless inputs are taken in turn. */
  needs(input: number): boolean;
  /** Whether there is work that it could begin, as far as it depends on the operator. */
  canStart(): boolean;
  /** The resources that each piece of work holds, of those that have a limit; the executor asks before `start`. Absent: none. */
  readonly claim?: StepClaim | undefined;
  /** Begins one piece of work. */
  start(): void;
  /** Lets tasks give blocks: all of them, or only the one whose block is next. Answers whether any was waiting for it. */
  pull(which: "all" | "next"): boolean;
  /** Takes the next block of the output, if there is one. */
  take(): BlockRef | undefined;
  /** Tasks under way that are not waiting to be pulled. */
  readonly runningCount: number;
  /** Bytes of the blocks that it holds, inputs and outputs. */
  readonly heldBytes: number;
  readonly statistics: OperatorStatistics;
  /** Since when each task is waited for that has not given its next block. Absent where there are no tasks. */
  readonly pulledSinceMs?: readonly number[];
  readonly load: OperatorLoad;
  /** The share of all work that is done, from 0 to 1; undefined where the whole is not known. */
  readonly share?: number | undefined;
  /** Whether it will give no block any more. */
  readonly isDone: boolean;
  /** Whether it needs no more input. */
  readonly isSatisfied: boolean;
  /** Ends its work and drops its blocks. */
  stop(): void;
  /** Resolves when the processes that it has ended are gone. Called after `stop`. */
  ended?(): Promise<void>;
}

/** The present load of an operator. */
export interface OperatorLoad {
  /** Blocks that wait for its tasks. */
  readonly queuedBlocks: number;
  /** Tasks under way, or actors. */
  readonly workers: number;
}

/** The counts and times of an operator. */
export class OperatorStatistics {
  /** Tasks that have begun. */
  tasks = 0;
  /** Rows of the blocks that it gave; of a write those in its files. */
  rows = 0;
  bytes = 0;
  blocks = 0;
  /** Wall time of all tasks together. */
  wallMs = 0;
  cpuMs = 0;
  /** How long each block was waited for, and the end of each task. */
  readonly pullMs = new Measured();
  /** Private memory of a task's process after each block, without mappings of the object store. */
  readonly memoryBytes = new Measured();
  /** Tasks that failed and were left out. */
  erroredBlocks = 0;
  /** Rows, records and files that `onError` left out or made null. */
  erroredItems = 0;
  /** Characters that stand for bytes outside the encoding of a file. */
  replacedCharacters = 0;
  /** Use of a language model; undefined if no step asks one. */
  usage: Usage | undefined;
  startedMs: number | undefined;
  endedMs: number | undefined;

  beginTask(): void {
    this.tasks += 1;
    this.startedMs ??= performance.now();
  }

  work({ wallMs, cpuMs }: { readonly wallMs: number; readonly cpuMs: number }): void {
    this.wallMs += wallMs;
    this.cpuMs += cpuMs;
  }

  give({ rowCount, sizeBytes, wallMs = 0, cpuMs = 0, memoryBytes, losses, written = { rowCount, sizeBytes } }: BlockFacts): void {
    this.erroredItems += losses?.items ?? 0;
    this.replacedCharacters += losses?.replaced ?? 0;
    this.usage = addUsage(this.usage, losses?.usage);
    if (memoryBytes !== undefined) this.memoryBytes.add(memoryBytes);
    this.blocks += 1;
    this.rows += written.rowCount;
    this.bytes += written.sizeBytes;
    this.work({ wallMs, cpuMs });
    this.endedMs = performance.now();
    this.startedMs ??= this.endedMs;
  }
}

/** The operators' events for the executor. */
export interface OperatorEvents {
  /** Something changed: an output, the end of a task. */
  onChange(): void;
  onFailure(error: unknown): void;
}
