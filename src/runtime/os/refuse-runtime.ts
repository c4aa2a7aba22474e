/** Evaluated before the rest of what users import: throws where that cannot run, instead of some error of its depths. */
import { unsupportedRuntime } from "./supported-runtime.ts";

const reason = unsupportedRuntime(globalThis);
// Without frames: the runtime prints the line, and nothing of how modules are loaded.
if (reason !== undefined) throw Object.assign(new Error(reason), { code: "UNSUPPORTED_RUNTIME", stack: `Error: ${reason}` });
