/**
 * Asks the processes of a node for their calls that have not begun, and merges the answers.
 *
 * Only processes that have made calls are asked. One that computes does not answer in time: it is named, and the others' calls are shown.
 */
import type { ProcessId } from "../base/ids.ts";
import { OWNERS_ANSWER_WITHIN_MS } from "../observe/limits.ts";
import { firstRows, type KeyedRow, type SelectedRows } from "../observe/select-rows.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { OpenCallsAsked } from "../wire/observing/state-messages.ts";
import type { Peer } from "./node-peers.ts";

export class OpenCalls {
  readonly #local: ReadonlyMap<ProcessId, Peer>;
  readonly #callers = new Set<ProcessId>();

  constructor(local: ReadonlyMap<ProcessId, Peer>) {
    this.#local = local;
  }

  /** The process has made a call. */
  madeCall(process: ProcessId): void {
    if (this.#local.has(process)) this.#callers.add(process);
  }

  processGone(process: ProcessId): void {
    this.#callers.delete(process);
  }

  async select(asked: OpenCallsAsked): Promise<SelectedRows & { readonly warnings: string[] }> {
    const callers = Array.from(this.#callers, (id) => this.#local.get(id)).filter((peer) => peer !== undefined);
    const answers = await Promise.allSettled(
      callers.map(({ connection }) => connection.request(MESSAGE.OPEN_CALLS, asked, { timeoutMs: OWNERS_ANSWER_WITHIN_MS })),
    );
    const rows: KeyedRow[] = [];
    const warnings: string[] = [];
    let total = 0;
    let numFiltered = 0;
    for (const [index, answer] of answers.entries()) {
      const caller = callers[index] as Peer;
      if (answer.status === "rejected") {
        if (this.#local.has(caller.id)) warnings.push(silentText(caller));
        continue;
      }
      const { header } = answer.value;
      for (const [at, row] of header.rows.entries()) {
        const key = header.keys[at];
        if (key !== undefined) rows.push({ key, row });
      }
      total += header.total;
      numFiltered += header.numFiltered;
      warnings.push(...header.warnings);
    }
    return { rows: firstRows(rows, asked.query), total, numFiltered, warnings };
  }
}

function silentText({ kind, pid }: Peer): string {
  const what = kind === "driver" ? "Program" : "Worker";
  return `${what} ${pid} computes and did not answer within ${OWNERS_ANSWER_WITHIN_MS} ms: calls of it that have not begun are missing.`;
}
