/**
 * Keeps one call until it has been answered, so that the caller can push it again.
 *
 * The encoded arguments stay here: small ones as a range of a shared chunk, others as a payload. Refs among the
 * arguments are `dependencies`. The call is pushed once they have settled, with their values in their place. The
 * entries of the results hold their handles while the call is pending, which pins them.
 */
import { copyBytes } from "../../runtime/base/collections/bytes.ts";
import type { ActorId } from "../../runtime/base/ids.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import { inBandPayload, type Payload } from "../../runtime/objects/payload.ts";
import type { DefinitionHeader } from "../../runtime/wire/calls/definition-messages.ts";
import type { TaskContext } from "../../runtime/worker/tasks/task-context.ts";
import type { RetryPolicy } from "../options/options.ts";
import type { ItemSink } from "../streams/stream-receiver.ts";

/** Target of a call: a method by name, or a function whose definition travels ahead of the first call. */
export interface CallTarget {
  readonly kind: "task" | "method";
  /** Definition id, or method name. */
  readonly id: string;
  readonly name: string;
  /** Concurrency group of a method's calls; undefined is the default group. */
  readonly group?: string | undefined;
  /** Whether the method is in another language, so that this process does not know its signature. */
  readonly isOpen?: boolean | undefined;
  /** How many calls of a task a worker takes before it ends; undefined for any number. */
  readonly maxCalls?: number | undefined;
  /** Mean run time on the worker as measured there; infinite until the first answer. */
  meanMs: number;
  /** The definition in message form, for workers that have not had it. */
  definition?(): Definition;
}

export interface Definition {
  readonly header: Omit<DefinitionHeader, "number">;
  readonly parts: readonly Uint8Array[];
  readonly payloads: readonly Payload[];
}

/** A definition that the worker fetches, as a length of -1 says. */
export function fetchedDefinition({ id, name }: Pick<CallTarget, "id" | "name">): Definition {
  return {
    header: { id, contentId: id, name, inBand: -1, buffers: [], dependencies: [], refs: [], stored: undefined },
    parts: [],
    payloads: [],
  };
}

/** Arguments in the form in which they travel. */
export interface EncodedArguments {
  /** Plain arguments: in-band bytes `chunk[start..end)`. */
  readonly chunk: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly graph: boolean;
  /** Arguments of any other form. */
  readonly args: Payload | undefined;
  /** Top-level refs, in the order of their places. */
  readonly dependencies: readonly ObjectEntry[];
  /**
   * Everything that stays pinned until the call has ended: dependencies, refs inside the arguments, the stored
   * arguments themselves.
   */
  readonly pinned: readonly ObjectEntry[];
}

/** The time limit and the signal of one call that has not ended. */
interface ActiveLimits {
  /** Ends the limits, because the call has its result. */
  close(): void;
  /** Ends the call if its time is over and this process was too busy to notice. @returns whether it was over */
  expire(): boolean;
}

export interface CallRecord extends EncodedArguments {
  readonly sequence: number;
  readonly target: CallTarget;
  /** The actor's id, which changes when `getIfExists` found an actor. */
  actor: ActorId | undefined;
  readonly name: string | undefined;
  readonly shape: string;
  readonly numReturns: number;
  readonly results: readonly ObjectEntry[];
  /** For a call whose items are a stream: `results` is its completion alone. */
  readonly stream: ItemSink | undefined;
  readonly retry: RetryPolicy;
  retriesLeft: number;
  /** How often it was tried before. */
  attempt: number;
  /** Whether the worker said that the call began and waits. */
  hasParked: boolean;
  /** The task or actor call of this process that made it; undefined for the driver's own. */
  readonly parent: TaskContext | undefined;
  /** The stack that made it, where that is known (`call-sites.ts`). */
  readonly callSite: string | undefined;
  /** Whether its results are settled. The worker may still run a call that was cancelled. */
  isEnded: boolean;
  /**
   * Whether the call runs again because its results were lost. Others wait for the results, and the call keeps no
   * order.
   */
  isRemade: boolean;
  /** Whether it waits in a queue for a worker, or for its actor. */
  isQueued: boolean;
  /** Ends the call at its time limit or by its signal. */
  limits: ActiveLimits | undefined;
}

/** Largest number of a call: frames have 32 bits for it. */
export const CALL_ID_RANGE = 2 ** 32;

/** Names a call at both ends of a connection. */
export function callIdOf(sequence: number): number {
  return sequence % CALL_ID_RANGE;
}

const CHUNK_SIZE = 64 * 1024;
let chunk = new Uint8Array(CHUNK_SIZE);
let used = 0;

/** Copies a range into a shared chunk: one allocation per 64 KB of arguments instead of one per call. */
export function keepBytes(bytes: Uint8Array, start: number, end: number): { chunk: Uint8Array; start: number; end: number } {
  const size = end - start;
  if (size > CHUNK_SIZE / 4) return { chunk: copyBytes(bytes, start, end), start: 0, end: size };
  if (used + size > CHUNK_SIZE) {
    chunk = new Uint8Array(CHUNK_SIZE);
    used = 0;
  }
  const at = used;
  if (size < 32) for (let index = 0; index < size; index += 1) chunk[at + index] = bytes[start + index] as number;
  else chunk.set(bytes.subarray(start, end), at);
  used += size;
  return { chunk, start: at, end: at + size };
}

/**
 * Returns the first failure among the values that a call needs; the call fails with it. This runs again just before
 * the call is sent, because a value may be lost by then.
 */
export function failedDependency({ dependencies }: CallRecord): ObjectEntry | undefined {
  return dependencies.length === 0 ? undefined : dependencies.find(({ state }) => state === "failed");
}

/** Whether a value that the call needs is missing: not made yet, or made again after its bytes were lost. */
export function lacksDependency({ dependencies }: CallRecord): boolean {
  return dependencies.some(({ state }) => state === "pending");
}

/** Name of the call in messages: from its options, or that of the function or method. */
export function callName({ name, target }: CallRecord): string {
  return name ?? target.name;
}

/** Returns the arguments of a call in the form in which they are sent. */
export function argumentsOf({ args, chunk: bytes, start, end, graph }: EncodedArguments): Payload {
  return args ?? inBandPayload(bytes.subarray(start, end), { graph, error: false });
}

/**
 * Calls back once all of them have settled. @returns whether all had settled already, so that it called back at once
 */
export function whenSettled(entries: readonly ObjectEntry[], table: Pick<ObjectTable, "watch">, callback: () => void): boolean {
  let missing = 0;
  const waiter = {
    entrySettled: (): void => {
      missing -= 1;
      if (missing === 0) callback();
    },
  };
  for (const entry of entries) {
    if (entry.isSettled) continue;
    missing += 1;
    entry.addWaiter(waiter);
    table.watch(entry);
  }
  if (missing > 0) return false;
  callback();
  return true;
}
