/** Evaluated before the rest of the program `shoal`: where that cannot run, says so in one line and ends. */
import { unsupportedRuntime } from "../../runtime/os/supported-runtime.ts";

const reason = unsupportedRuntime(globalThis);
if (reason !== undefined) {
  console.error(`shoal: ${reason}`);
  process.exit(1);
}
