/** Evaluated before the rest of the program `shoal`: on an unsupported runtime it prints one line and ends. */
import { unsupportedRuntime } from "../../runtime/os/engine/supported-runtime.ts";

const reason = unsupportedRuntime(globalThis);
if (reason !== undefined) {
  console.error(`shoal: ${reason}`);
  process.exit(1);
}
