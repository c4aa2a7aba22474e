/**
 * The interruption guard of a simulated worker: a task that is to be stopped throws `Stopped`, as no signal can reach code in virtual time.
 *
 * The guard turns the exception into the interruption that a signal would have caused. From there on the worker's own code runs: the worker answers the call, begins
 * nothing more, and retires. Calls are marked as they begin, as in the interrupt slot of a real worker.
 */
import { Interruption, InterruptionGuard } from "../src/runtime/worker/tasks/interruption-guard.ts";
import type { InterruptRequest, WorkerInterruptSlot } from "../src/runtime/os/processes/memory/interrupt-slot.ts";
import type { SimulatedProcess } from "./world.ts";

/** Thrown by the code of a task where the signal stops the task. */
export class Stopped extends Error {
  readonly request: InterruptRequest | undefined;

  /** @param isCancelled the caller has cancelled the task; otherwise the signal comes from outside */
  constructor({ isCancelled }: { isCancelled: boolean }) {
    super("the code was stopped here");
    this.request = isCancelled ? { recursive: true, isForAncestor: false, isDeferred: false } : undefined;
  }
}

export class SimulatedGuard extends InterruptionGuard {
  readonly #process: SimulatedProcess;

  constructor(process: SimulatedProcess) {
    // The slot is that of a real process, and none of what uses it is called.
    super(undefined as unknown as WorkerInterruptSlot);
    this.#process = process;
  }

  override begunOf(leaseId: number): ReturnType<InterruptionGuard["begunOf"]> {
    const begins = (callId: number): void => this.#process.marks(leaseId, callId);
    return { begins } as ReturnType<InterruptionGuard["begunOf"]>;
  }

  /** Does nothing, so a death costs all tasks there an attempt: processes may end earlier in a turn than the last name says. */
  override share(): void {}

  override run<T>(_call: unknown, body: () => T): T {
    try {
      return body();
    } catch (error) {
      if (error instanceof Stopped) throw new Interruption(error.request, false);
      throw error;
    }
  }
}
