/**
 * Pi by throwing darts, in Python (`python_pi.py` beside this file): tasks count the hits, an actor adds them up, TypeScript asks it.
 *
 *   node examples/python-pi.ts [TASKS [POINTS]]
 */
import { get, init, python, shutdown } from "shoal";

interface Tally {
  add(hits: number, points: number): void;
  estimate(): number;
}

const [tasks = 8, points = 1_000_000] = process.argv.slice(2).map(Number);
if (![tasks, points].every((count) => Number.isInteger(count) && count > 0)) {
  console.error("Usage: node examples/python-pi.ts [TASKS [POINTS]]: whole numbers above 0");
  process.exit(2);
}

await init({ logToDriver: false });
const file = new URL("python_pi.py", import.meta.url);
const throwDarts = python.task<(points: number, seed: number) => number>(file, "throw_darts");
const tally = python.actor<Tally, []>(file, "Tally", { numCpus: 0 }).remote();

const hits = Array.from({ length: tasks }, (_, seed) => throwDarts.remote(points, seed));
// The references are arguments: the actor gets each number when it is there.
await get(hits.map((count) => tally.add.remote(count, points)));
console.log(`${tasks * points} points in ${tasks} tasks: pi is about ${await tally.estimate.remote()}`);
await shutdown();
