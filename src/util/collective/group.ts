/**
 * Operations of a collective group, on the side of a member.
 *
 * Small arrays go through the rendezvous, and each member computes the result in the order of ranks. Large ones stay in shared memory.
 * `allreduce` is a reduce-scatter by direct exchange (each member reads and reduces its rank's part of all arrays) and an allgather of the
 * results. It moves no more bytes than a ring and takes two steps instead of 2(n-1). The scheme is Rabenseifner's (Thakur, Rabenseifner and
 * Gropp, "Optimization of Collective Communication Operations in MPICH", 2005). All members get bitwise the same result. Memory of other
 * members is given back as soon as it was read, so that the next operation writes to existing pages.
 */
import { type ActorHandle, put } from "../../core/index.ts";
import { count, describeValue, oneOf, readOptions, REFERENCE_FROM_BYTES, timeLimit } from "../../core/internal.ts";
import {
  isFloatArray,
  isNumericArray,
  kindOf,
  type NumericArray,
  partOf,
  REDUCE_OPERATIONS,
  reduceInto,
  type ReduceOperation,
} from "./reduction.ts";
import type { Part, Rendezvous, Seat } from "./rendezvous.ts";

/** Time limit for the other members. */
export interface CollectiveOptions {
  /** Time in milliseconds for the others to arrive. Default: the group's. */
  timeoutMs?: number | undefined;
}

/** The options of operations that combine arrays. */
export interface ReduceOptions extends CollectiveOptions {
  /** How elements are combined. `"average"` of whole numbers drops the fraction, as NCCL does; bigints have none. Default: `"sum"`. */
  op?: ReduceOperation | undefined;
}

/** The options of operations that one rank begins or ends. */
export interface RootOptions extends CollectiveOptions {
  /** The rank that has the data, or gets it. Default: 0. */
  root?: number | undefined;
}

interface CollectiveGroupOptions {
  readonly groupName: string;
  readonly seat: Seat;
  readonly rendezvous: ActorHandle<Rendezvous>;
  readonly timeoutMs: number;
}

interface Step {
  readonly key: string;
  readonly signature: string;
  readonly timeoutMs: number;
  readonly parties: readonly number[];
}

const OPERATION = {
  of: "a collective operation",
  otherNames: { timeout: "it is timeoutMs, in milliseconds", dst_rank: "it is root", src_rank: "it is root" },
  options: { timeoutMs: timeLimit() },
};
const ROOTED = { ...OPERATION, options: { ...OPERATION.options, root: count({ min: 0 }, 0) } };
const REDUCE = { ...OPERATION, options: { ...OPERATION.options, op: oneOf(REDUCE_OPERATIONS, "sum") } };
const REDUCE_TO_ROOT = { ...ROOTED, options: { ...REDUCE.options, ...ROOTED.options } };

/**
 * A member's place in a group of actors that compute together. All members make the same calls in the same order, with arrays of the same kind and length;
 * an operation ends when all have made it.
 *
 * @example
 * class Trainer {
 *   async step(gradients: Float32Array) {
 *     const group = await getCollectiveGroup("training");
 *     await group.allreduce(gradients, { op: "average" }); // in place, the same in all members
 *   }
 * }
 */
export class CollectiveGroup {
  readonly groupName: string;
  readonly rank: number;
  readonly worldSize: number;
  readonly #options: CollectiveGroupOptions;
  readonly #everyone: readonly number[];
  /** Operations so far: all members count alike. */
  #sequence = 0;
  /** Messages so far, by the other rank. */
  readonly #sent = new Map<number, number>();
  readonly #received = new Map<number, number>();

  constructor(options: CollectiveGroupOptions) {
    this.#options = options;
    this.groupName = options.groupName;
    this.rank = options.seat.rank;
    this.worldSize = options.seat.worldSize;
    this.#everyone = Array.from({ length: this.worldSize }, (_, rank) => rank);
  }

  /** Combines the arrays of all members, element by element, into each of them, in place. Returns the array. */
  async allreduce<A extends NumericArray>(array: A, options?: ReduceOptions): Promise<A> {
    const { op, timeoutMs } = readOptions(options, REDUCE);
    const exact = reducible(array, op);
    await this.#combine(exact, { op, step: this.#next(`allreduce ${op} of`, array, timeoutMs) });
    return takeBack(array, exact);
  }

  /** Combines the arrays of all members into that of the rank `root`, in place; the others keep theirs. Returns the array. */
  async reduce<A extends NumericArray>(array: A, options?: ReduceOptions & RootOptions): Promise<A> {
    const { op, root, timeoutMs } = readOptions(options, REDUCE_TO_ROOT);
    const exact = reducible(array, op);
    this.#requireRank(root, "root");
    await this.#combine(exact, { op, root, step: this.#next(`reduce ${op} to ${root} of`, array, timeoutMs) });
    return this.rank === root ? takeBack(array, exact) : array;
  }

  /** Combines the arrays of all members and returns the part of this rank: lengths differ by one at most, the longer parts first. */
  async reduceScatter<A extends NumericArray>(array: A, options?: ReduceOptions): Promise<A> {
    const { op, timeoutMs } = readOptions(options, REDUCE);
    const exact = reducible(array, op);
    const [start, end] = partOf(array.length, this.rank, this.worldSize);
    const own = exact.slice(start, end);
    await this.#reduceScatter(exact, own, { op, step: this.#next(`reduceScatter ${op} of`, array, timeoutMs) });
    return exact === array ? (own as A) : takeBack(array.slice(start, end) as A, own);
  }

  /** The arrays of all members, by rank. */
  async allgather<A extends NumericArray>(array: A, options?: CollectiveOptions): Promise<A[]> {
    requireArray(array);
    const parts = await this.#exchange(this.#next("allgather of", array, timeoutOf(options)), [partFor(array)]);
    const gathered: A[] = [];
    gathered[this.rank] = array.slice() as A;
    for (const [rank, part] of parts.entries()) {
      if (part === undefined) continue;
      if ("inline" in part) gathered[rank] = part.inline as A;
      else {
        gathered[rank] = (await part.ref) as A;
        // The value is the caller's for as long as it is used; the reference is not needed for that.
        part.ref[Symbol.dispose]();
      }
    }
    return gathered;
  }

  /** Copies the array of the rank `root` into those of all others. Returns the array. */
  async broadcast<A extends NumericArray>(array: A, options?: RootOptions): Promise<A> {
    const { root, timeoutMs } = readOptions(options, ROOTED);
    requireArray(array);
    this.#requireRank(root, "root");
    const step = this.#next(`broadcast from ${root} of`, array, timeoutMs);
    await this.#eachPart(await this.#exchange(step, this.rank === root ? [partFor(array)] : []), (part) => array.set(part as never));
    return array;
  }

  /** Resolves when all members have arrived. */
  async barrier(options?: CollectiveOptions): Promise<void> {
    await this.#exchange(this.#next("barrier", undefined, timeoutOf(options)), []);
  }

  /** Sends an array to one other member, which calls `recv`. Resolves when that has happened. */
  async send(array: NumericArray, to: number, options?: CollectiveOptions): Promise<void> {
    requireArray(array);
    const step = this.#direct({ from: this.rank, to, counts: this.#sent }, array, timeoutOf(options));
    await this.#exchange(step, this.#only(to, partFor(array)));
  }

  /** Receives an array that the member sends with `send` into `array`, and returns it. */
  async recv<A extends NumericArray>(array: A, from: number, options?: CollectiveOptions): Promise<A> {
    requireArray(array);
    const step = this.#direct({ from, to: this.rank, counts: this.#received }, array, timeoutOf(options));
    await this.#eachPart(await this.#exchange(step, []), (part) => array.set(part as never));
    return array;
  }

  /** Combines into the array of `root`, or of each member without a root. */
  async #combine(array: NumericArray, how: { op: ReduceOperation; step: Step; root?: number }): Promise<void> {
    const { op, step, root } = how;
    const isResult = root === undefined || root === this.rank;
    const brought = (part: Part): Part[] => (root === undefined ? [part] : isResult ? [] : this.#only(root, part));
    if (array.byteLength < REFERENCE_FROM_BYTES) {
      const parts = await this.#exchange(step, brought({ inline: array }));
      if (isResult) await this.#reduceInOrder(array, op, parts);
      return;
    }
    const [start, end] = partOf(array.length, this.rank, this.worldSize);
    const own = isResult ? array.subarray(start, end) : array.slice(start, end);
    await this.#reduceScatter(array, own, { op, step });
    const parts = await this.#exchange({ ...step, key: `${step.key} gather` }, brought(partFor(own)));
    await this.#eachPart(parts, (part, rank) => array.set(part as never, partOf(array.length, rank, this.worldSize)[0]));
  }

  /** Gives each rank its part of the array, and combines the parts from other ranks into `own`, the part of this rank. */
  async #reduceScatter(array: NumericArray, own: NumericArray, { op, step }: { op: ReduceOperation; step: Step }): Promise<void> {
    const outgoing = this.#everyone.map((rank) =>
      rank === this.rank ? undefined : partFor(array.subarray(...partOf(array.length, rank, this.worldSize))),
    );
    let left = this.worldSize - 1;
    await this.#eachPart(await this.#exchange(step, outgoing), (part) => {
      left -= 1;
      reduceInto(own, part, { op, last: left === 0 ? { count: this.worldSize } : undefined });
    });
  }

  /** Small arrays: everyone computes the same from the same, in the order of ranks. */
  async #reduceInOrder(array: NumericArray, op: ReduceOperation, parts: Part[]): Promise<void> {
    const arrays: NumericArray[] = [];
    arrays[this.rank] = array.slice();
    await this.#eachPart(parts, (part, rank) => {
      arrays[rank] = part;
    });
    const [first, ...others] = arrays;
    array.set(first as never);
    for (const [index, other] of others.entries()) {
      reduceInto(array, other, { op, last: index === others.length - 1 ? { count: this.worldSize } : undefined });
    }
  }

  /** Reads the other members' parts in the order of ranks; the memory behind a part is given back after the callback. */
  async #eachPart(parts: readonly Part[], read: (array: NumericArray, rank: number) => void): Promise<void> {
    // Fetches all at once: each answer takes a way to the daemon and back.
    const arrays = await Promise.all(parts.map((part) => (part !== undefined && "ref" in part ? part.ref : part?.inline)));
    for (const [rank, part] of parts.entries()) {
      if (part === undefined) continue;
      const array = arrays[rank] as NumericArray;
      read(array, rank);
      if (!("ref" in part)) continue;
      part.ref[Symbol.dispose]();
      // Unmaps it now: the garbage collector would come much later, and the sender would write to new pages meanwhile.
      (array.buffer as ArrayBuffer).transfer(0);
    }
  }

  async #exchange({ key, signature, timeoutMs, parties }: Step, brought: readonly Part[]): Promise<Part[]> {
    const { rendezvous, seat } = this.#options;
    const meeting = { generation: seat.generation, key, rank: this.rank, parties, signature, timeoutMs };
    const answer = rendezvous.exchange.remote(meeting, brought);
    try {
      return await answer;
    } finally {
      // Until garbage collection both keep the memory behind their references.
      answer[Symbol.dispose]();
      for (const part of brought) if (part !== undefined && "ref" in part) part.ref[Symbol.dispose]();
    }
  }

  #next(what: string, array: NumericArray | undefined, timeoutMs: number | undefined): Step {
    this.#sequence += 1;
    const signature = array === undefined ? what : `${what} ${kindOf(array)}(${array.length})`;
    return { key: `all ${this.#sequence}`, signature, timeoutMs: timeoutMs ?? this.#options.timeoutMs, parties: this.#everyone };
  }

  #direct(way: { from: number; to: number; counts: Map<number, number> }, array: NumericArray, timeoutMs: number | undefined): Step {
    const { from, to, counts } = way;
    const other = from === this.rank ? to : from;
    this.#requireRank(other, "the other rank");
    if (other === this.rank) throw new RangeError(`Cannot send to or receive from oneself: received rank ${other}`);
    const number = (counts.get(other) ?? 0) + 1;
    counts.set(other, number);
    const signature = `send from ${from} to ${to} of ${kindOf(array)}(${array.length})`;
    return { key: `${from} to ${to}: ${number}`, signature, timeoutMs: timeoutMs ?? this.#options.timeoutMs, parties: [from, to] };
  }

  /** For one rank alone. */
  #only(rank: number, part: Part): Part[] {
    return this.#everyone.map((each) => (each === rank ? part : undefined));
  }

  #requireRank(rank: number, name: string): void {
    if (!Number.isInteger(rank) || rank < 0 || rank >= this.worldSize)
      throw new RangeError(
        `Cannot do a collective operation: ${name} must be a rank from 0 to ${this.worldSize - 1}: received ${describeValue(rank)}`,
      );
  }
}

function partFor(array: NumericArray): Part {
  return array.byteLength < REFERENCE_FROM_BYTES ? { inline: array } : { ref: put(array) };
}

function timeoutOf(options: CollectiveOptions | undefined): number | undefined {
  return readOptions(options, OPERATION).timeoutMs;
}

function requireArray(array: unknown): asserts array is NumericArray {
  if (!isNumericArray(array))
    throw new TypeError(`Cannot do a collective operation: a typed array is needed: received ${describeValue(array)}`);
}

/** The array to combine. An average of whole numbers needs their sum, which may not fit into the array: it is taken of a copy with doubles. */
function reducible(array: unknown, op: ReduceOperation): NumericArray {
  requireArray(array);
  if (op !== "average" || isFloatArray(array)) return array;
  if (array instanceof BigInt64Array || array instanceof BigUint64Array)
    throw new TypeError(`Cannot average bigints: doubles do not hold their sum: received a ${kindOf(array)}. Take the sum, and divide it.`);
  return Float64Array.from(array as Int32Array);
}

/** Writes a result back where a copy was combined. */
function takeBack<A extends NumericArray>(array: A, combined: NumericArray): A {
  if (combined !== array) array.set(combined as never);
  return array;
}
