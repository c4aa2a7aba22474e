/**
 * Reads the full form of a caller's calls and definitions: arguments, dependencies, and the references that the
 * message holds for this process.
 *
 * The file counts the tasks that were read, whether they began or were declined. When a connection ends, only the
 * tasks behind that count certainly never begin. The file also counts the messages with holds. This process must
 * release what these messages refer to, and it reports the count to the daemon now and then. One `call-server.ts`
 * owns the counts.
 */
import { TELL_HELD_EVERY } from "../../objects/limits.ts";
import type { ObjectTable } from "../../objects/object-table.ts";
import { type Payload, PayloadReader } from "../../objects/payload.ts";
import type { Frame } from "../../wire/frame.ts";
import type { CallHeader, HelloHeader } from "../../wire/messages.ts";
import type { Callee, Method } from "./call-targets.ts";

export interface ReceivedCall {
  readonly callId: number;
  readonly name: string;
  readonly numReturns: number;
  /** Function of a task. */
  readonly callee?: Callee | undefined;
  /** Method of an actor. */
  readonly method?: Method | undefined;
  /** Makes a lost object again. */
  readonly isRemade?: boolean | undefined;
  readonly args: Payload;
  readonly deps: readonly Payload[];
}

type Caller = Pick<HelloHeader, "processId" | "link" | "leaseId">;

export class ReceivedCalls {
  /** Number of the last call or definition with holds that was read. */
  heldRead = 0;
  taskCount = 0;
  readonly #table: ObjectTable;
  readonly #caller: Caller;

  constructor(table: ObjectTable, caller: Caller) {
    this.#table = table;
    this.#caller = caller;
  }

  /**
   * The lease for which the caller connected, and the number of tasks that were read. Undefined for a caller without a
   * lease.
   */
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

  /** Notes that a message with this number of holds was read; undefined for one without holds. */
  read(held: number | undefined): void {
    if (held === undefined) return;
    this.heldRead = held;
    const { processId: sender, link } = this.#caller;
    if (held % TELL_HELD_EVERY === 0) this.#table.heldRead({ sender, link: -(link ?? 0), number: held });
  }

  /** Releases the references of a call that does not run. */
  discard(call: Pick<ReceivedCall, "args" | "deps">): void {
    this.#table.discard(call.args);
    for (const dep of call.deps) this.#table.discard(dep);
  }
}
