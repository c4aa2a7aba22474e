/** A runtime that does nothing, until the end of its input: what it weighs is read from outside. */
import { once } from "node:events";
import { init, shutdown } from "shoal";

await init();
process.stdout.write("ready\n");
process.stdin.resume();
await once(process.stdin, "end");
await shutdown();
