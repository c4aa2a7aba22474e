/**
 * Measures one row with one library: opens its pool, repeats the row's call, and writes rates, processor time and memory to a file.
 * Started by `against-pools.ts` as `program.ts LIBRARY ROW PLAN FOLDER RESULT-FILE`. For the row of the start it prints "ready" at the first result.
 */
import { writeFileSync } from "node:fs";
import { MARK_VARIABLE } from "../child.ts";
import type { Plan } from "../figure.ts";
import { markedProcesses, processorMicroseconds, weighProcesses } from "../process-tree.ts";
import { operationsPerSecond } from "../throughput.ts";
import { LIBRARIES, openPool } from "./libraries.ts";
import { isStart, ROWS } from "./rows.ts";

export interface PoolMeasurement {
  /** Operations a second, one value a window. */
  readonly rates: readonly number[];
  /** Processor time an operation, of all processes of the program. */
  readonly processorMicroseconds: number;
  /** Memory of all processes of the program at the end of the last window, shared memory included. */
  readonly megabytes: number;
}

const [libraryName, rowName, planText, folder, resultFile] = process.argv.slice(2);
const library = LIBRARIES.find((name) => name === libraryName);
const row = ROWS.find(({ name }) => name === rowName);
if (library === undefined || row === undefined || planText === undefined || folder === undefined || resultFile === undefined) {
  throw new TypeError("Cannot measure a pool: want LIBRARY ROW PLAN FOLDER RESULT-FILE");
}
const pool = await openPool(library, folder);
if (isStart(row)) {
  await row.step(pool);
  process.stdout.write("ready\n");
} else {
  const plan = JSON.parse(planText) as Plan;
  const others = async () => (await markedProcesses(`${MARK_VARIABLE}=${process.env[MARK_VARIABLE]}`)).filter((pid) => pid !== process.pid);
  let stepsCount = 0;
  const step = () => {
    stepsCount += 1;
    return row.step(pool);
  };
  // The warm-up alone: workers start, and code is compiled.
  await operationsPerSecond(step, { ...plan, windows: 0 });
  const before = await processorMicroseconds(await others());
  stepsCount = 0;
  const { samples } = await operationsPerSecond(step, plan, { operationsPerCall: row.operationsPerStep });
  const pids = await others();
  const spent = (await processorMicroseconds(pids)) - before;
  const weight = await weighProcesses([process.pid, ...pids]);
  const measurement: PoolMeasurement = {
    rates: samples,
    processorMicroseconds: spent / (stepsCount * row.operationsPerStep),
    megabytes: weight.privateMegabytes + weight.mappedSharedMegabytes,
  };
  writeFileSync(resultFile, JSON.stringify(measurement));
}
await pool.close();
