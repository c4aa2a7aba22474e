/**
 * The one runtime of this process, for code built on it: the API's functions, remote functions, actors and placement groups.
 *
 * Starts one with defaults where a call comes before `init`. Refs, which the runtime itself makes, find it in `runtime-slot.ts`.
 */
import { ShoalError } from "../runtime/base/errors.ts";
import type { Reply, RequestOptions } from "../runtime/rpc/peer-connection.ts";
import type { ReplyTo } from "../runtime/wire/tables/replies.ts";
import type { Runtime } from "./runtime.ts";
import { RuntimeSlot } from "./runtime-slot.ts";

const slot = new RuntimeSlot<Runtime>();
let start: (() => Runtime) | undefined;

/** How to start one when the first call comes before `init`; set by `init.ts`, which lies above. */
export function setAutoStart(autoStart: () => Runtime): void {
  start = autoStart;
}

export function currentRuntime(): Runtime | undefined {
  return slot.current;
}

export function setCurrentRuntime(runtime: Runtime | undefined): void {
  slot.current = runtime;
}

/** Whether the session of this process takes calls: not before it begins, while it ends, or once its daemon is gone. */
export function isSessionOpen(): boolean {
  const runtime = slot.current;
  return runtime !== undefined && !runtime.isClosed && !runtime.daemon.isClosed;
}

/** The runtime, started with defaults where there is none. */
export function requireRuntime(): Runtime {
  const runtime = slot.requireOpen();
  if (runtime !== undefined) return runtime;
  if (start === undefined) throw new Error('Cannot start Shoal: import it from "shoal"');
  return start();
}

/** Asks the node and returns its answer; a driver lives until then. @throws NodeDiedError if the node ends before */
export function askNode<N extends number>(type: N, header: unknown, options: RequestOptions = {}): Promise<Reply<ReplyTo<N>>> {
  const runtime = requireRuntime();
  return runtime.holdWhile(runtime.daemon.request(type, header, options));
}

/** @throws ShoalError when Shoal does not run any more: see `RuntimeSlot` */
export function requireRunning(): Runtime {
  return slot.requireRunning();
}

/** @throws ShoalError when the session in which an actor lived is over */
export function requireSessionOf(runtime: Runtime, call: string): void {
  // While it ends, calls fail as all pending ones do.
  if (!runtime.isClosed || slot.current === runtime) return;
  throw new ShoalError(`Cannot call ${call}: the session of the actor has ended`, {
    reason: "the actor ended when Shoal was shut down in this process",
    hint: "Create the actor again after init().",
  });
}
