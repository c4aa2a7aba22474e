/**
 * One call on its way: what the caller keeps until it has been answered, so that it can be pushed again.
 *
 * The encoded arguments stay here, as a range of a shared chunk for small ones and as a payload otherwise. Refs among the arguments are
 * `dependencies`: the call is pushed once they have settled, with their values in their place. The entries of its results hold their
 * handles while the call is pending, which pins them.
 */
import { copyBytes } from "../../runtime/base/bytes.ts";
import type { ActorId } from "../../runtime/base/ids.ts";
import type { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import { inBandPayload, type Payload } from "../../runtime/objects/payload.ts";
import type { DefinitionHeader } from "../../runtime/wire/definition-messages.ts";
import type { TaskContext } from "../../runtime/worker/task-context.ts";
import type { RetryPolicy } from "../options/options.ts";
import type { ItemSink } from "../streams/stream-receiver.ts";

/** What a call calls: a definition that travels ahead of its first call, or a method by name. */
export interface CallTarget {
  readonly kind: "task" | "method";
  /** Definition id, or method name. */
  readonly id: string;
  readonly name: string;
  /** Of a method: the concurrency group of its calls; undefined is the default one. */
  readonly group?: string | undefined;
  /** Of a method: it is one of another language, of which nothing is known here. */
  readonly isOpen?: boolean | undefined;
  /** Of a task: how many calls of it a worker takes before it ends; undefined for any number. */
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

/** Arguments as they travel. */
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
  /** Everything pinned until the call has ended: dependencies, refs inside the arguments, the stored arguments themselves. */
  readonly pinned: readonly ObjectEntry[];
}

export interface CallRecord extends EncodedArguments {
  readonly sequence: number;
  readonly target: CallTarget;
  /** Another than at first where `getIfExists` found one. */
  actor: ActorId | undefined;
  readonly name: string | undefined;
  readonly shape: string;
  readonly numReturns: number;
  readonly results: readonly ObjectEntry[];
  /** For a call whose items are a stream: `results` is its completion alone. */
  readonly stream: ItemSink | undefined;
  readonly retry: RetryPolicy;
  retriesLeft: number;
  /** The worker said that it began and waits. */
  hasParked: boolean;
  /** The task or actor call of this process that made it; undefined for the driver's own. */
  readonly parent: TaskContext | undefined;
  /** Its results are settled. The worker may still be at it, when it was cancelled. */
  isEnded: boolean;
  /** It runs again, as its results were lost: others wait for them, and none for it to keep its order. */
  isRemade: boolean;
  /** Whether it waits in a queue for a worker, or for its actor. */
  isQueued: boolean;
  /** Ends its time limit and its listening to a signal. */
  endLimits: (() => void) | undefined;
}

/** Frames have 32 bits for it. */
export const CALL_ID_RANGE = 2 ** 32;

/** By which both ends of a connection name a call. */
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

/** Of what a call needs, what has failed: the call fails with it. Looked for again just before the call is sent, since what was there may be lost by then. */
export function failedDependency({ dependencies }: CallRecord): ObjectEntry | undefined {
  return dependencies.length === 0 ? undefined : dependencies.find(({ state }) => state === "failed");
}

/** Whether something that a call needs is not there: it is made for the first time, or again after its bytes were lost. */
export function lacksDependency({ dependencies }: CallRecord): boolean {
  return dependencies.some(({ state }) => state === "pending");
}

/** Its name in messages: what its options say, or that of the function or method. */
export function callName({ name, target }: CallRecord): string {
  return name ?? target.name;
}

/** The arguments of a call as they are sent. */
export function argumentsOf({ args, chunk: bytes, start, end, graph }: EncodedArguments): Payload {
  return args ?? inBandPayload(bytes.subarray(start, end), { graph, error: false });
}

/** Calls back once all of them have settled. @returns whether they had, and it was at once */
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
