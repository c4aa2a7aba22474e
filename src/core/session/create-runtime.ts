/**
 * Makes a runtime and the parts on top: the travel of handles and remote functions in values, and the handlers of the daemon's messages.
 */
import { createReducer } from "../objects/values/reducer.ts";
import type { RuntimeOptions } from "../runtime-options.ts";
import { Runtime } from "../runtime.ts";
import { DaemonMessages } from "./daemon-messages.ts";

export function createRuntime(options: RuntimeOptions): Runtime {
  const runtime = new Runtime(options);
  runtime.serializer.reducer = createReducer(runtime);
  const messages = new DaemonMessages(runtime);
  runtime.daemon.onFrame = (frame) => messages.receive(frame);
  return runtime;
}
