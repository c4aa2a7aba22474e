/** The worker of workerpool, which registers its functions itself. The bench tells in its environment where that package is. */
import { createRequire } from "node:module";
import { bytes, lengthOf, one } from "./tasks.ts";

const load = createRequire(`${process.env["SHOAL_BENCH_POOLS"]}/package.json`);
const { worker } = load("workerpool") as { worker: (methods: Readonly<Record<string, unknown>>) => void };
worker({ one, bytes, lengthOf });
