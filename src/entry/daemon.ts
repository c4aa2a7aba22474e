/**
 * Where the process of a node daemon begins: what others wait for (`entry/daemon-start.ts`) comes before the modules are loaded that make a daemon of it
 * (`entry/daemon-process.ts`).
 */
import "./daemon-start.ts";

await import("./daemon-process.ts");
