/**
 * The actor behind `streamingSplit`: it runs the pipeline once an epoch and hands its blocks to the consumers, each at the consumer's own pace.
 *
 * An epoch begins when all consumers have asked for it. Without `equal` a block goes to the next consumer that asks. With `equal` it goes to the split with the
 * fewest rows, while the rows behind it suffice to make all splits equal; the last rows are cut between the splits. A consumer that names its node gets
 * that node's blocks first (`split-choice.ts`). A silent consumer holds the others up for a limited time, and their error names it. A consumer acknowledges a
 * piece by its next request, which releases the block.
 */
import { getObjectLocations } from "../../../core/index.ts";
import { DataError } from "../../errors.ts";
import { SPLIT_BLOCKS_WAITING_MAX } from "../../limits.ts";
import type { PhysicalPlan } from "../../plan/physical-plan.ts";
import type { Settings } from "../../options/settings.ts";
import type { BlockRef } from "../operators/operator.ts";
import { run } from "../run.ts";
import { blockFor, nextGift } from "./split-choice.ts";

/** The constructor's arguments. */
interface SplitRequest {
  /** A plan that may travel: see `portable-plan.ts`. */
  readonly plan: PhysicalPlan;
  readonly settings: Settings;
  /** The dataset's name. */
  readonly name: string | undefined;
  readonly splits: number;
  readonly equal: boolean;
  /** Whether a split without rows is an error. Rows that the consumers share by their pace may all be another's. */
  readonly requireRows: boolean;
  /** The nodes of the consumers. */
  readonly localityHints: readonly string[] | undefined;
  /** How long a consumer may hold others up. */
  readonly timeoutMs: number;
}

/** Some rows of a block, for one consumer. */
interface SplitPiece {
  readonly ref: BlockRef["ref"];
  readonly from: number;
  readonly to: number;
}

/** A block and the number of its pieces that are not acknowledged. */
interface Shared {
  readonly block: BlockRef;
  pieces: number;
}

interface Piece {
  readonly shared: Shared;
  readonly from: number;
  readonly to: number;
}

/** A block that is nobody's yet. */
interface FreeBlock {
  readonly block: BlockRef;
  readonly rowCount: number;
  readonly nodeIds: readonly string[];
}

/** The state of one consumer in an epoch. */
interface Split {
  readonly nodeId: string | undefined;
  /** Pieces that are its own and that it has not taken. */
  waiting: Piece[];
  /** The piece that the consumer took last. */
  taken: Piece | undefined;
  /** Rows that are or were its own. */
  rows: number;
  /** Whether it takes nothing more of this epoch. */
  hasLeft: boolean;
}

interface Epoch {
  readonly number: number;
  readonly splits: readonly Split[];
  readonly blocks: AsyncGenerator<BlockRef, void, undefined>;
  readonly abort: AbortController;
  free: FreeBlock[];
  /** Rows that have come. */
  rowCount: number;
  hasEnded: boolean;
  failure: { readonly error: unknown } | undefined;
  pulling: Promise<void> | undefined;
}

interface Arrival {
  readonly resolve: (epoch: number) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class SplitCoordinator {
  readonly #request: SplitRequest;
  /** Undefined where no consumer has a block nearer than another has. */
  readonly #nodeIds: readonly string[] | undefined;
  /** The number of free blocks up to which a consumer waits for a block of its own node. */
  readonly #window: number;
  readonly #arrivals = new Map<number, Arrival>();
  #epoch: Epoch | undefined;
  #epochs = 0;
  /** For each split, the last epoch in which another reader took its place. */
  readonly #replaced = new Map<number, number>();
  #change = Promise.withResolvers<void>();

  constructor(request: SplitRequest) {
    this.#request = request;
    const { localityHints, splits } = request;
    this.#nodeIds = new Set(localityHints).size > 1 ? localityHints : undefined;
    this.#window = Math.min(2 * splits, SPLIT_BLOCKS_WAITING_MAX);
  }

  /** Waits until all consumers have asked for the next epoch. Resolves to its number. */
  begin(split: number): Promise<number> {
    if (this.#epoch?.splits[split]?.hasLeft === false) this.#replaced.set(split, this.#epoch.number);
    this.leave(split, this.#epoch?.number ?? 0);
    this.#withdraw(
      split,
      new DataError(`Cannot call streamingSplit: split ${split} is iterated twice at a time`, {
        hint: "give each consumer a split of its own",
      }),
    );
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#withdraw(split, this.#lateError(split)), this.#request.timeoutMs);
      this.#arrivals.set(split, { resolve, reject, timer });
      if (this.#arrivals.size === this.#request.splits) this.#beginEpoch();
    });
  }

  /**
   * The next piece of a split; undefined at its end, and where another epoch has begun.
   *
   * @throws DataError where another reader has begun the split meanwhile: the rest of the rows would be missed without a word
   */
  async next(split: number, number: number): Promise<SplitPiece | undefined> {
    const epoch = this.#epoch;
    this.#refuseReplaced(split, number);
    if (epoch?.number !== number) return undefined;
    const own = epoch.splits[split] as Split;
    this.#release(own);
    for (let pulls = 0; ; pulls += 1) {
      if (epoch.failure !== undefined) throw epoch.failure.error;
      this.#refuseReplaced(split, number);
      if (own.hasLeft || epoch !== this.#epoch) return undefined;
      const piece = own.waiting.shift() ?? this.#takeFree(epoch, split, pulls < this.#window && !epoch.hasEnded);
      if (piece !== undefined) {
        own.taken = piece;
        this.#hasChanged();
        return { ref: piece.shared.block.ref, from: piece.from, to: piece.to };
      }
      if (epoch.hasEnded) {
        if (this.#request.requireRows && own.rows === 0) throw this.#emptyError(epoch, split);
        return undefined;
      }
      const full = epoch.splits.findIndex(({ waiting }) => waiting.length >= SPLIT_BLOCKS_WAITING_MAX);
      if (full >= 0) await this.#waitFor(full, split);
      else await (epoch.pulling ??= this.#pull(epoch).finally(() => (epoch.pulling = undefined)));
    }
  }

  #refuseReplaced(split: number, epoch: number): void {
    if (this.#replaced.get(split) !== epoch) return;
    throw new DataError(`Cannot read split ${split} of streamingSplit to its end: another reader has begun the split meanwhile`, {
      hint: "give each consumer a split of its own",
    });
  }

  /** The consumer takes nothing more of the epoch, and does not wait for it. */
  leave(split: number, number: number): void {
    const epoch = this.#epoch;
    if (number === 0) this.#withdraw(split, new DataError(`Cannot call streamingSplit: split ${split} has left`));
    if (epoch === undefined || epoch.number !== number) return;
    const own = epoch.splits[split] as Split;
    own.hasLeft = true;
    this.#release(own);
    for (const piece of own.waiting.splice(0)) drop(piece);
    if (epoch.splits.every(({ hasLeft }) => hasLeft)) this.#endEpoch();
    this.#hasChanged();
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Epochs

  #beginEpoch(): void {
    this.#endEpoch();
    const { plan, settings, name, splits } = this.#request;
    this.#epochs += 1;
    const abort = new AbortController();
    this.#epoch = {
      number: this.#epochs,
      splits: Array.from({ length: splits }, (_, split) => ({
        nodeId: this.#nodeIds?.[split],
        waiting: [],
        taken: undefined,
        rows: 0,
        hasLeft: false,
      })),
      blocks: run(plan, { settings, name, signal: abort.signal }),
      abort,
      free: [],
      rowCount: 0,
      hasEnded: false,
      failure: undefined,
      pulling: undefined,
    };
    for (const { resolve, timer } of this.#arrivals.values()) {
      clearTimeout(timer);
      resolve(this.#epochs);
    }
    this.#arrivals.clear();
    this.#hasChanged();
  }

  /** Ends the work of an epoch that everybody has left. */
  #endEpoch(): void {
    const epoch = this.#epoch;
    if (epoch === undefined) return;
    this.#epoch = undefined;
    epoch.abort.abort();
    void epoch.blocks.return().catch(() => {});
    for (const { block } of epoch.free.splice(0)) block.release();
  }

  #withdraw(split: number, error: Error): void {
    const arrival = this.#arrivals.get(split);
    if (arrival === undefined) return;
    this.#arrivals.delete(split);
    clearTimeout(arrival.timer);
    arrival.reject(error);
  }

  #lateError(split: number): DataError {
    const missing = Array.from({ length: this.#request.splits }, (_, i) => i).filter((i) => !this.#arrivals.has(i));
    const names = `${missing.length === 1 ? "split" : "splits"} ${missing.join(", ")}`;
    return new DataError(
      `Cannot call streamingSplit: split ${split} waited ${this.#request.timeoutMs} ms for ${names}, which did not begin epoch ${this.#epochs + 1}`,
      { hint: "see whether these consumers live, and iterate as often as the others; timeoutMs is how long to wait" },
    );
  }

  #emptyError({ splits, rowCount }: Epoch, split: number): DataError {
    const { name } = this.#request;
    const dataset = name === undefined ? "the dataset" : `the dataset ${JSON.stringify(name)}`;
    const count = rowCount === 1 ? "1 row" : `${rowCount} rows`;
    const hint = rowCount === 0 ? "see why it is empty: does a filter drop all rows?" : "use no more splits, or ranks, than there are rows";
    return new DataError(`Cannot give split ${split} any row: ${dataset} has ${count} for ${splits.length} splits`, { hint });
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Blocks

  async #pull(epoch: Epoch): Promise<void> {
    try {
      const next = await epoch.blocks.next();
      if (next.done === true) this.#finish(epoch);
      else if (epoch !== this.#epoch || next.value.rowCount === 0) next.value.release();
      else {
        const block = next.value;
        epoch.rowCount += block.rowCount;
        const nodeIds = await this.#nodesOf(block);
        if (epoch === this.#epoch) {
          epoch.free.push({ block, rowCount: block.rowCount, nodeIds });
          if (this.#request.equal) this.#give(epoch);
        } else block.release();
      }
    } catch (error) {
      epoch.failure = { error };
      for (const { block } of epoch.free.splice(0)) block.release();
    }
    this.#hasChanged();
  }

  /** The nodes that have a block. Asked only where that makes a difference; a block whose place is not known is as near to one consumer as to another. */
  async #nodesOf({ ref }: BlockRef): Promise<readonly string[]> {
    if (this.#nodeIds === undefined) return [];
    const places = await getObjectLocations([ref]).catch(() => undefined);
    return places?.get(ref)?.nodeIds ?? [];
  }

  /** Takes the next block for a consumer that asks, without `equal`. */
  #takeFree(epoch: Epoch, split: number, isPatient: boolean): Piece | undefined {
    if (this.#request.equal) return undefined;
    const index = blockFor(epoch.free, { consumers: epoch.splits, consumer: split, isPatient });
    if (index === undefined) return undefined;
    const [{ block }] = epoch.free.splice(index, 1) as [FreeBlock];
    (epoch.splits[split] as Split).rows += block.rowCount;
    return { shared: { block, pieces: 1 }, from: 0, to: block.rowCount };
  }

  #give(epoch: Epoch): void {
    for (let gift = this.#nextGift(epoch); gift !== undefined; gift = this.#nextGift(epoch)) {
      const [{ block }] = epoch.free.splice(gift.block, 1) as [FreeBlock];
      giveTo(epoch.splits[gift.consumer] as Split, { shared: { block, pieces: 1 }, from: 0, to: block.rowCount });
    }
  }

  #nextGift({ free, splits }: Epoch): ReturnType<typeof nextGift> {
    return nextGift(free, splits, this.#window);
  }

  /** Ends the rows. With `equal` the remaining rows are cut into equal numbers, and rows that cannot be divided are dropped. */
  #finish(epoch: Epoch): void {
    epoch.hasEnded = true;
    if (!this.#request.equal) return;
    const left = epoch.free.splice(0);
    const total = [...epoch.splits.map(({ rows }) => rows), ...left.map(({ rowCount }) => rowCount)].reduce((sum, rows) => sum + rows, 0);
    const target = Math.floor(total / epoch.splits.length);
    for (const { block } of left) {
      // One extra piece until all are given, so that the block is not released in between.
      const shared = { block, pieces: 1 };
      let from = 0;
      for (const split of epoch.splits) {
        const to = Math.min(block.rowCount, from + target - split.rows);
        if (to === from) continue;
        shared.pieces += 1;
        giveTo(split, { shared, from, to });
        from = to;
      }
      drop({ shared, from: 0, to: 0 });
    }
  }

  #release(own: Split): void {
    if (own.taken !== undefined) drop(own.taken);
    own.taken = undefined;
  }

  // -------------------------------------------------------------------------------------------------------------------

  #hasChanged(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  /** Until something has changed, or for so long that the other one must have ended. */
  async #waitFor(slow: number, waiting: number): Promise<void> {
    const { timeoutMs } = this.#request;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const message = `streamingSplit: split ${waiting} waited ${timeoutMs} ms for split ${slow}, which takes nothing of its rows`;
      late.reject(new DataError(message, { hint: "see whether its consumer lives; timeoutMs is how long to wait" }));
    }, timeoutMs);
    await Promise.race([this.#change.promise, late.promise]).finally(() => clearTimeout(timer));
  }
}

function giveTo(split: Split, piece: Piece): void {
  split.rows += piece.to - piece.from;
  if (split.hasLeft) drop(piece);
  else split.waiting.push(piece);
}

/** The piece is needed no more. */
function drop({ shared }: Piece): void {
  shared.pieces -= 1;
  if (shared.pieces === 0) shared.block.release();
}
