/**
 * The entry point of a node daemon's process: the urgent start (`entry/daemon-start.ts`) runs before the daemon's own modules are loaded
 * (`entry/daemon-process.ts`).
 */
import "./daemon-start.ts";

await import("./daemon-process.ts");
