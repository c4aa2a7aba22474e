/** A runtime that does nothing until its input ends: its weight is read from outside. */
import { once } from "node:events";
import { init, shutdown } from "shoal";

await init();
process.stdout.write("ready\n");
process.stdin.resume();
await once(process.stdin, "end");
await shutdown();
