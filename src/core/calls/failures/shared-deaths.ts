/**
 * Decides whether a worker's end was another call's doing: a call that waited in a process which tasks shared is not to blame for its end.
 *
 * The worker names the call that ran there (WORKER_EXITED). A call that only waited runs again without using up a retry, as often as
 * `SHARED_DEATHS_FREE_MAX`. Calls that must not run twice fail all the same, since they had begun.
 */
import type { ProcessId } from "../../../runtime/base/ids.ts";
import type { WorkerExitedHeader } from "../../../runtime/wire/messages.ts";
import { SHARED_DEATHS_FREE_MAX } from "../../limits.ts";
import { type CallRecord, callIdOf } from "../call-record.ts";

export class SharedDeaths {
  readonly #caller: ProcessId;
  readonly #used = new WeakMap<CallRecord, number>();

  constructor(caller: ProcessId) {
    this.#caller = caller;
  }

  /** Counts the death if the call may run again at no cost. */
  isFree(record: CallRecord, exit: WorkerExitedHeader | undefined): boolean {
    if (record.retry.maxRetries === 0 || !this.#isOfAnother(record, exit)) return false;
    const used = this.#used.get(record) ?? 0;
    this.#used.set(record, used + 1);
    return used < SHARED_DEATHS_FREE_MAX;
  }

  #isOfAnother(record: CallRecord, exit: WorkerExitedHeader | undefined): boolean {
    const { sharing } = exit ?? {};
    return sharing !== undefined && (sharing.callId !== callIdOf(record.sequence) || sharing.caller !== this.#caller);
  }
}
