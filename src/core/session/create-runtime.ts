/** Makes a runtime with what is built on it: how handles and remote functions travel in values, and what becomes of the daemon's messages. */
import { createReducer } from "../objects/reducer.ts";
import { Runtime, type RuntimeOptions } from "../runtime.ts";
import { DaemonMessages } from "./daemon-messages.ts";

export function createRuntime(options: RuntimeOptions): Runtime {
  const runtime = new Runtime(options, createReducer);
  const messages = new DaemonMessages({
    runtime,
    recovery: runtime.recovery,
    links: runtime.links,
    actor: (id) => runtime.knownActor(id),
    onWorkerMessage: options.onWorkerMessage,
  });
  runtime.daemon.onFrame = (frame) => messages.receive(frame);
  return runtime;
}
