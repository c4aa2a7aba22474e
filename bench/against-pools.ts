/**
 * `npm run bench -- --against-pools`: Shoal beside Piscina, tinypool and workerpool, idle and beside a busy neighbour.
 * Each measurement runs in its own process. The libraries take turns within a round, and each second round has the opposite order, so that a drift of the
 * machine meets all of them. `pools/` has the rows and the programs.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Child, closeAllChildren } from "./child.ts";
import { FULL_PLAN, type Plan, QUICK_PLAN } from "./figure.ts";
import { machineFacts } from "./machine.ts";
import { preparePools } from "./pools/environment.ts";
import { LIBRARIES, type Library } from "./pools/libraries.ts";
import type { PoolMeasurement } from "./pools/program.ts";
import { isStart, ROWS, type Row } from "./pools/rows.ts";
import { median } from "./statistics.ts";
import { newScratchDirectory } from "./subject.ts";

interface PoolsRun {
  readonly repositoryRoot: string;
  readonly command: string;
  readonly only: readonly string[];
  readonly quick: boolean;
  readonly rounds: number;
  readonly json: string | null;
}

/** The measurement's own machine state: nothing beside it, or one process that computes without end. */
const STATES = ["idle", "busy"] as const;
type State = (typeof STATES)[number];

interface Sample {
  readonly value: number;
  readonly processorMicroseconds?: number;
  readonly megabytes?: number;
}

interface PoolsResult {
  readonly row: string;
  readonly state: State;
  readonly unit: "/s" | "ms";
  readonly medians: Readonly<Record<Library, number | null>>;
  /** Shoal beside the fastest other library; above 1, Shoal is faster. */
  readonly ratio: number | null;
  readonly processorMicroseconds: Readonly<Record<Library, number | null>>;
  readonly megabytes: Readonly<Record<Library, number | null>>;
  readonly failures: readonly string[];
}

const LIMIT_MS = 60_000;

/** @throws RangeError for a row that there is not */
export function selectRows(names: readonly string[]): readonly Row[] {
  const unknown = names.find((name) => !ROWS.some((row) => row.name === name));
  if (unknown !== undefined) throw new RangeError(`Cannot measure "${unknown}": the rows are ${ROWS.map(({ name }) => name).join(", ")}`);
  return names.length === 0 ? ROWS : ROWS.filter(({ name }) => names.includes(name));
}

/** @returns the exit code: 1 where a measurement failed */
export async function runAgainstPools(run: PoolsRun): Promise<number> {
  const rows = selectRows(run.only);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const pools = await preparePools(run.repositoryRoot, say);
  const machine = await machineFacts(run.repositoryRoot, null);
  const scratch = await newScratchDirectory();
  const interrupted = async () => {
    await closeAllChildren();
    await rm(scratch, { recursive: true, force: true });
    process.exit(130);
  };
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  const date = new Date().toISOString();
  try {
    say(`${machine.cpu}, ${machine.cores} cores; Shoal ${machine.shoal} on Node ${machine.node}; two workers each; ${run.rounds} round(s)`);
    say(`${"row".padEnd(30)} ${"state".padEnd(5)} ${LIBRARIES.map((name) => name.padStart(11)).join("")}   Shoal / fastest other`);
    const results: PoolsResult[] = [];
    for (const row of rows) {
      for (const state of STATES) {
        const result = await measure(row, state, { ...run, pools, scratch });
        results.push(result);
        say(resultLine(row, result));
      }
    }
    say(costLines(results).join("\n"));
    for (const failure of results.flatMap(({ failures }) => failures)) say(`FAILED ${failure}`);
    if (run.json !== null) await writeFile(run.json, `${JSON.stringify({ machine, date, command: run.command, results }, null, 2)}\n`);
    return results.some(({ failures }) => failures.length > 0) ? 1 : 0;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function measure(row: Row, state: State, run: PoolsRun & { readonly pools: string; readonly scratch: string }): Promise<PoolsResult> {
  const samples = new Map<Library, Sample[]>(LIBRARIES.map((library) => [library, []]));
  const failures: string[] = [];
  const neighbour = state === "busy" ? spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }) : undefined;
  try {
    for (let round = 0; round < run.rounds; round += 1) {
      for (const library of round % 2 === 0 ? LIBRARIES : LIBRARIES.toReversed()) {
        try {
          samples.get(library)?.push(await measureOnce(row, library, run));
        } catch (error) {
          failures.push(`${row.name}, ${state}, ${library}: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
    }
  } finally {
    if (neighbour !== undefined) await end(neighbour);
  }
  return summary(row, { state, samples, failures });
}

async function measureOnce(
  row: Row,
  library: Library,
  run: { readonly repositoryRoot: string; readonly quick: boolean } & Folders,
): Promise<Sample> {
  const plan: Plan = run.quick ? QUICK_PLAN : FULL_PLAN;
  const resultFile = join(run.scratch, "result.json");
  await using child = new Child({
    command: process.execPath,
    args: [join(run.repositoryRoot, "bench", "pools", "program.ts"), library, row.name, JSON.stringify(plan), run.pools, resultFile],
    environment: { ...process.env, SHOAL_BENCH_POOLS: run.pools },
    workingDirectory: run.repositoryRoot,
    timeLimitMs: LIMIT_MS,
  });
  if (isStart(row)) {
    const value = await child.waitForLine("ready");
    await child.succeeded();
    return { value };
  }
  await child.succeeded();
  const { rates, ...costs } = JSON.parse(await readFile(resultFile, "utf8")) as PoolMeasurement;
  return { value: median(rates), ...costs };
}

interface Folders {
  readonly pools: string;
  readonly scratch: string;
}

async function end(neighbour: ChildProcess): Promise<void> {
  const ended = once(neighbour, "exit");
  neighbour.kill("SIGKILL");
  await ended;
}

interface Measured {
  readonly state: State;
  readonly samples: ReadonlyMap<Library, readonly Sample[]>;
  readonly failures: readonly string[];
}

function summary(row: Row, { state, samples, failures }: Measured): PoolsResult {
  const mediansOf = (valueOf: (sample: Sample) => number | undefined) =>
    Object.fromEntries(
      LIBRARIES.map((library) => {
        const values = (samples.get(library) ?? []).map(valueOf).filter((value) => value !== undefined);
        return [library, values.length === 0 ? null : median(values)];
      }),
    ) as Record<Library, number | null>;
  const medians = mediansOf(({ value }) => value);
  return {
    row: row.name,
    state,
    unit: isStart(row) ? "ms" : "/s",
    medians,
    ratio: ratioToFastest(medians, isStart(row)),
    processorMicroseconds: mediansOf(({ processorMicroseconds }) => processorMicroseconds),
    megabytes: mediansOf(({ megabytes }) => megabytes),
    failures,
  };
}

/** @returns null where Shoal, or all others, have no value */
export function ratioToFastest(medians: Readonly<Record<Library, number | null>>, lowerIsFaster: boolean): number | null {
  const { shoal, ...others } = medians;
  const values = Object.values(others).filter((value) => value !== null);
  if (shoal === null || values.length === 0) return null;
  return lowerIsFaster ? Math.min(...values) / shoal : shoal / Math.max(...values);
}

function resultLine(row: Row, result: PoolsResult): string {
  const values = LIBRARIES.map((library) => shown(result.medians[library]).padStart(11)).join("");
  const ratio = result.ratio === null ? "-" : `${result.ratio.toFixed(2)}x`;
  return `${`${row.title} (${result.unit})`.padEnd(30)} ${result.state.padEnd(5)} ${values}   ${ratio}`;
}

/** Processor time and memory, of idle machines: beside a busy neighbour they are the same but for noise. */
function costLines(results: readonly PoolsResult[]): string[] {
  const idle = results.filter(({ state, unit }) => state === "idle" && unit === "/s");
  const line = (title: string, values: Readonly<Record<Library, number | null>>) =>
    `${title.padEnd(36)} ${LIBRARIES.map((library) => shown(values[library]).padStart(11)).join("")}`;
  return idle.flatMap(({ row, processorMicroseconds, megabytes }) => [
    line(`${row}: processor µs a call`, processorMicroseconds),
    line(`${row}: memory in MB`, megabytes),
  ]);
}

function shown(value: number | null): string {
  if (value === null) return "-";
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
}
