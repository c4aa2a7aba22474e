/**
 * Identifiers: the only place that makes or parses one.
 *
 * An id is a branded lowercase hex string in the API and in messages. A process draws six random bytes once and numbers its ids, so that a
 * hot path pays for a counter and not for randomness; the job completes the id. Layout in bytes: task = process prefix 6 + sequence 6 + job
 * 4. Object = task 16 + return index 4, where `put` sets the top bit of the index. Actor = 6 + 6 + job 4. Node = 16 random. Process = the
 * node's first 8 bytes + 8 random, so that the owner of a ref reveals the node to ask.
 */
import { NODE_TAG_DIGITS } from "./limits.ts";

declare const brand: unique symbol;
type Id<Name extends string> = string & { readonly [brand]: Name };

export type NodeId = Id<"node">;
/** First half of a node's id. The ids of the node's processes begin with it. */
export type NodeTag = Id<"node tag">;
export type JobId = Id<"job">;
/** A driver, a worker or a node daemon: any process that can own or hold objects. */
export type ProcessId = Id<"process">;
export type TaskId = Id<"task">;
export type ActorId = Id<"actor">;
export type ObjectId = Id<"object">;

/** The caller provides random bytes: `base` imports nothing, and simulations have their own. */
type RandomHex = (byteCount: number) => string;

const PUT_INDEX_BIT = 0x80000000;
const PROGRAM_NAMESPACE = "program-";

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

/** The last number that any source of this process gave: sessions that follow each other never use one twice. */
let lastSequence = 0;

/** Makes ids that are unique in the cluster and cheap: one random prefix, then a counter. */
export class IdSource {
  readonly #prefix: string;
  readonly #suffix: JobId;
  /** Numbers up to this one were given before by others. */
  readonly before: number = lastSequence;

  constructor(random: RandomHex, job: JobId) {
    this.#prefix = random(6);
    this.#suffix = job;
  }

  /** Common beginning of the ids of this process. */
  get prefix(): string {
    return this.#prefix;
  }

  /** The caller keeps the number and makes an id from it only on request. */
  nextSequence(): number {
    lastSequence += 1;
    return lastSequence;
  }

  taskId(sequence: number): TaskId {
    return taskIdOf(this.#prefix, sequence, this.#suffix);
  }

  actorId(): ActorId {
    return this.taskId(this.nextSequence()) as string as ActorId;
  }

  returnId(sequence: number, index: number): ObjectId {
    return (this.taskId(sequence) + hex(index, 8)) as ObjectId;
  }

  putId(sequence: number): ObjectId {
    return (this.taskId(sequence) + hex(PUT_INDEX_BIT, 8)) as ObjectId;
  }
}

/** Whether an object was put, and not returned by a call. */
export function isPutId(id: ObjectId): boolean {
  return Number.parseInt(id.slice(-8), 16) >= PUT_INDEX_BIT && !id.endsWith("ffffffff");
}

/** The id of a call that came from another process, from the prefix of that process' ids and the call's number. */
export function taskIdOf(prefix: string, sequence: number, job: JobId): TaskId {
  return (prefix + hex(sequence, 12) + job) as TaskId;
}

export function newJobId(random: RandomHex): JobId {
  return random(4) as JobId;
}

export function newProcessId(random: RandomHex, node: NodeId): ProcessId {
  return (nodeTagOf(node) + random(8)) as ProcessId;
}

/** Whether a text is the key of a runtime environment, safe as a folder's name. Empty for the default environment. */
export function isEnvironmentKey(key: unknown): boolean {
  return typeof key === "string" && /^[\w-]{0,128}$/.test(key);
}

/** Returns the part that the ids of a node, its processes and its store's files have in common. */
export function nodeTagOf(id: NodeId | ProcessId | string): NodeTag {
  return id.slice(0, NODE_TAG_DIGITS) as NodeTag;
}

export function newNodeId(random: RandomHex): NodeId {
  return random(16) as NodeId;
}

/** The namespace of a program that names none. Keys in it end with the program. */
export function programNamespace(driver: ProcessId): string {
  return PROGRAM_NAMESPACE + driver;
}

/** The driver of the program that a namespace was made for; undefined for a namespace that somebody named. */
export function programOfNamespace(namespace: string): ProcessId | undefined {
  const driver = namespace.slice(PROGRAM_NAMESPACE.length);
  return namespace.startsWith(PROGRAM_NAMESPACE) && /^[0-9a-f]{32}$/.test(driver) ? (driver as ProcessId) : undefined;
}

/** The counted reference that represents an actor: its handles are held like refs, in the daemon's table. */
export function actorObjectId(actor: ActorId): ObjectId {
  return (actor + "ffffffff") as ObjectId;
}
