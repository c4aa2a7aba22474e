/**
 * The entry point of a worker's process: sets up the cache of compiled modules before the worker's own modules are loaded (`entry/worker-process.ts`). The
 * node's launcher starts it. Imports nothing else, because each process would compile such imports without the cache.
 */
import { useCodeCache } from "../runtime/os/files/code-cache.ts";

useCodeCache();
await import("./worker-process.ts");
