/**
 * Extensions: parts that a library adds to the head, to each node's daemon and to each worker, without a change in their code.
 *
 * A library describes its messages once (`ExtensionMessages`) and answers them in the head or in the daemon (`answering`). The library asks
 * by the same description (`core/cluster/extensions.ts`), so both ends have the same types and no header is cast. Extensions run in processes that
 * never wait, so their functions return at once.
 */
import { describeValue } from "../base/texts/describe.ts";
import type { JobId, NodeId, ProcessId } from "../base/ids.ts";
import type { Shape } from "../wire/header-shape.ts";
import { ANSWERS_WITHIN_MS } from "./limits.ts";

/**
 * The messages of an extension by their names, each with its answer, by their shapes. Headers are plain data of less than 4 KB of bytes each.
 *
 * `withinMs` limits the time of an answer that is given later (default: 30 s).
 */
export type ExtensionMessages = Readonly<Record<string, { readonly asks: Shape; readonly answers: Shape; readonly withinMs?: number }>>;

export type AskedOf<M> = M extends { asks: Shape<infer Asked> } ? Asked : never;
export type AnsweredOf<M> = M extends { answers: Shape<infer Answered> } ? Answered : never;

/** The process that asks. */
export interface ExtensionCaller {
  /** A driver or worker; for a message of a node extension to the head, the node's daemon. */
  readonly process: ProcessId;
  /** The same where a question comes again, to the next head, which the last one may have answered: a handler that changes something has to bear that. */
  readonly question: string;
}

/** An answer with bytes behind its header, 1 MiB of them at most; made by `withBytes`. */
interface AnswerWithBytes<Header> {
  readonly header: Header;
  readonly [BYTES]: Uint8Array;
}

/** Registered by its name: the extension may have been loaded with another copy of this module. */
const BYTES: unique symbol = Symbol.for("shoal.answerWithBytes") as never;

/** Adds up to 1 MiB of bytes to an answer. The askers get them from `askForBytes`. */
export function withBytes<Header>(header: Header, bytes: Uint8Array): AnswerWithBytes<Header> {
  return { header, [BYTES]: bytes };
}

/** Returns the bytes of an answer that `withBytes` made; undefined for a plain answer. */
export function bytesOf(answer: unknown): Uint8Array | undefined {
  return typeof answer === "object" && answer !== null ? (answer as Partial<AnswerWithBytes<unknown>>)[BYTES] : undefined;
}

type Given<Answered> = Answered | AnswerWithBytes<Answered>;

/** Messages with what answers them; made by `answering`. */
export type ExtensionTable = ReadonlyMap<
  string,
  { readonly asks: Shape; readonly withinMs: number; answer(asked: unknown, from: ExtensionCaller): unknown }
>;

/**
 * Joins messages with their handlers. A handler returns its answer, or a promise where the answer depends on others; it never computes for long. An error that it
 * throws reaches the asker as a refusal with the error's name, message and `details` (`ExtensionRefusal`).
 */
export function answering<M extends ExtensionMessages>(
  messages: M,
  handlers: {
    readonly [N in keyof M]: (asked: AskedOf<M[N]>, from: ExtensionCaller) => Given<AnsweredOf<M[N]>> | Promise<Given<AnsweredOf<M[N]>>>;
  },
): ExtensionTable {
  return new Map(
    Object.entries(messages).map(([name, { asks, withinMs = ANSWERS_WITHIN_MS }]) => {
      const handler = handlers[name] as (asked: unknown, from: ExtensionCaller) => unknown;
      return [name, { asks, withinMs, answer: (asked: unknown, from: ExtensionCaller) => handler(asked, from) }];
    }),
  );
}

/** The abilities of every extension in every place. */
export interface ExtensionContext {
  /** A clock for durations. */
  nowMs(): number;
  /** Calls `body` again and again until the process or the head's term ends; it keeps no process alive. */
  every(periodMs: number, body: () => void): void;
  /** Tells people, through the drivers. */
  warn(text: string): void;
}

/** Values by key that outlive the head, where the cluster keeps its tables (NATS); elsewhere they live as long as the head. */
export interface DurableTable<T> {
  get(key: string): T | undefined;
  /** Sets a record. An answer leaves only after all earlier records are kept. @throws RangeError for a record of more than 8 MiB */
  set(key: string, value: T): void;
  /** @returns whether it was there */
  delete(key: string): boolean;
  entries(): IterableIterator<[key: string, value: T]>;
  readonly size: number;
}

/** Resources on one node, for work that the extension starts there. */
export interface Reservation {
  readonly resources: Readonly<Record<string, number>>;
  /** Labels that the node must have, as in the option `labelSelector`. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The argument of an extension of the head. */
export interface HeadContext extends ExtensionContext {
  /**
   * A durable table of this extension; the same one for the same name.
   *
   * @throws TypeError where it holds a value that is not of the shape: one of another version of the library
   */
  table<T>(name: string, shape: Shape<T>): DurableTable<T>;
  /**
   * Tells the extension of a node, after all changes so far are kept. The link to a node delivers in order. A node that is away drops the
   * message: its `nodeJoined` is the time to tell it again.
   *
   * @returns false for a node that this head does not know
   */
  tellNode(node: NodeId, message: string, header: unknown): boolean;
  /**
   * Reserves resources until `release`, as a placement group of one bundle: the reservation waits, is explained and launches nodes as all
   * demand does. `reserved` of the parts hears of the node, perhaps during this call. A repeated id changes nothing.
   *
   * @param id 32 hexadecimal digits that nothing else has
   * @returns the node where the resources are reserved already
   */
  reserve(id: string, wanted: Reservation): NodeId | undefined;
  /** Gives the resources back. An unknown id is no error. */
  release(id: string): void;
}

/** The parts of an extension of the head. A head that begins to lead makes new ones. */
export interface HeadParts {
  readonly messages?: ExtensionTable;
  /** A driver or worker has ended, anywhere in the cluster. */
  processGone?(process: ProcessId): void;
  nodeJoined?(node: NodeId): void;
  nodeGone?(node: NodeId, reason: string): void;
  /** A reservation of this or another extension has its node. After the node's death it gets another one, and this is called again. */
  reserved?(id: string, node: NodeId): void;
  /** The head ends, or leads no more. */
  close?(): void;
}

/** Folders of a cluster's node that its extensions may use. */
export interface ExtensionFolders {
  /** The logs of the run, which the next daemon of the machine continues; undefined for a node without log files. */
  readonly logs: string | undefined;
  /** A folder for files that end with the node; made by its first user. */
  readonly temporary: string;
}

/** The argument of an extension of a daemon. */
export interface NodeContext extends ExtensionContext {
  readonly nodeId: NodeId;
  /** Undefined where no cluster has the node. */
  readonly folders: ExtensionFolders | undefined;
  /** Tells the extension of the head, which answers nothing. It is told again where a head has gone before it had kept it. */
  tellHead(message: string, header: unknown): void;
  /** The ids of accelerators that a reservation of the head's extension holds on this node, by resource name. */
  acceleratorsOf(reservation: string): Readonly<Record<string, readonly string[]>>;
}

/** The parts of an extension of a daemon. */
export interface NodeParts {
  /** Questions that processes of this node, and of other nodes of the cluster, may ask. */
  readonly messages?: ExtensionTable;
  processJoined?(process: ProcessId, kind: "driver" | "worker", facts: { readonly job: JobId; readonly pid: number }): void;
  processGone?(process: ProcessId): void;
  /** The number of things under way that a drained node waits for, besides tasks, actors and programs. */
  work?(): number;
  close?(): void;
}

/** A call that runs in this worker. */
export interface RunningCall {
  readonly taskId: string;
  /** As in stacks and logs: `resize`, `Counter.add`. */
  readonly name: string;
  readonly actor: string | undefined;
}

/** `declined`: it goes back to its caller, as its arguments are lost, and is sent again later. */
export type CallOutcome = "finished" | "failed" | "cancelled" | "declined";

/** The parts of an extension of a worker. */
export interface WorkerParts {
  /** Called as each call begins, on the hot path; the returned function is called at the call's end. */
  callBegins?(call: RunningCall): ((outcome: CallOutcome) => void) | undefined;
}

/** A library's parts in the processes of Shoal: the default export of its extension module. */
export interface Extension {
  /** Lower-case letters, digits and dashes; no two extensions have the same. */
  readonly name: string;
  readonly head?: (context: HeadContext) => HeadParts;
  readonly node?: (context: NodeContext) => NodeParts;
  readonly worker?: () => WorkerParts;
}

/** Checks an extension. @throws TypeError with the problem for any other value */
export function requireExtension(value: unknown, from: string): Extension {
  const { name, head, node, worker } = (value ?? {}) as Partial<Extension>;
  const problem =
    typeof name !== "string" || !/^[a-z][a-z0-9-]{0,63}$/.test(name) || name === "telemetry"
      ? `its name is lower-case letters, digits and dashes, and not "telemetry": received ${describeValue(name)}`
      : [head, node, worker].every((part) => part === undefined || typeof part === "function")
        ? undefined
        : "head, node and worker are functions where they are there";
  if (problem !== undefined) throw new TypeError(`Cannot use the extension of ${from}: ${problem}`);
  return value as Extension;
}
