/**
 * Where the process of a worker begins: the cache of compiled modules is set up before the modules are loaded that make a worker of it
 * (`entry/worker-process.ts`). Started by the node's launcher; imports nothing else, as what is imported here is compiled in each process.
 */
import { useCodeCache } from "../runtime/os/files/code-cache.ts";

useCodeCache();
await import("./worker-process.ts");
