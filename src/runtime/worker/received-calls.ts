/**
 * What the full form of a caller's calls and definitions brings along: arguments, dependencies, and the references that it holds for this process.
 *
 * Owns the count of tasks that were read, whether they began or were declined: only those behind them certainly never begin once the connection has ended. Owns the count up to which messages with holds have been read: what they refer to is this process' to let go of, and the daemon is told now and then.
 * Owned by one `call-server.ts`.
 */
import { TELL_HELD_EVERY } from "../objects/limits.ts";
import type { ObjectTable } from "../objects/object-table.ts";
import { type Payload, PayloadReader } from "../objects/payload.ts";
import type { Frame } from "../wire/frame.ts";
import type { CallHeader, HelloHeader } from "../wire/messages.ts";
import type { Callee, Method } from "./call-targets.ts";

export interface ReceivedCall {
  readonly callId: number;
  readonly name: string;
  readonly numReturns: number;
  /** Of a task: its function. */
  readonly callee?: Callee | undefined;
  /** Of an actor: its method. */
  readonly method?: Method | undefined;
  /** Makes a lost object again. */
  readonly isRemade?: boolean | undefined;
  readonly args: Payload;
  readonly deps: readonly Payload[];
}

type Caller = Pick<HelloHeader, "processId" | "link" | "leaseId">;

export class ReceivedCalls {
  /** The last call or definition with holds that has been read. */
  heldRead = 0;
  taskCount = 0;
  readonly #table: ObjectTable;
  readonly #caller: Caller;

  constructor(table: ObjectTable, caller: Caller) {
    this.#table = table;
    this.#caller = caller;
  }

  /** The lease for which the caller connected, and how many tasks have been read of it; nothing of one that connected for none. */
  get tasksRead(): [madeFor: number, calls: number][] {
    const { leaseId } = this.#caller;
    return leaseId === undefined ? [] : [[leaseId, this.taskCount]];
  }

  readCall(header: CallHeader, frame: Frame, name: string): ReceivedCall {
    const reader = new PayloadReader(frame.body, { copy: true });
    const args = reader.next(header.args);
    const deps = header.deps.map((dep) => reader.next(dep));
    this.read(header.held);
    return { callId: frame.callId, name, numReturns: header.numReturns, isRemade: header.isRemade, args, deps };
  }

  /** A message with this number of holds was read; undefined for one without. */
  read(held: number | undefined): void {
    if (held === undefined) return;
    this.heldRead = held;
    const { processId: sender, link } = this.#caller;
    if (held % TELL_HELD_EVERY === 0) this.#table.heldRead({ sender, link: -(link ?? 0), number: held });
  }

  /** It does not run: what it refers to is let go of. */
  discard(call: Pick<ReceivedCall, "args" | "deps">): void {
    this.#table.discard(call.args);
    for (const dep of call.deps) this.#table.discard(dep);
  }
}
