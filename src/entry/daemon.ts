/**
 * Where the process of a node daemon begins: the cache of compiled modules is set up before the modules are loaded that make a daemon of it
 * (`entry/daemon-process.ts`). Imports nothing else, as what is imported here is compiled in each process.
 */
import { useCodeCache } from "../platform/files/code-cache.ts";

useCodeCache();
await import("./daemon-process.ts");
