/** Throws on an unsupported runtime before other modules are evaluated, where some obscure error would follow. */
import { unsupportedRuntime } from "./engine/supported-runtime.ts";

const reason = unsupportedRuntime(globalThis);
// Without frames: the runtime prints the line, and nothing of how modules are loaded.
if (reason !== undefined) throw Object.assign(new Error(reason), { code: "UNSUPPORTED_RUNTIME", stack: `Error: ${reason}` });
