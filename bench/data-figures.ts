/**
 * Pipelines of Data, timed and weighed from outside. Each process starts its runtime, warms its workers up, says "ready", and runs the
 * pipeline once between "begun" and "finished".
 *
 * Owns the input, which both sides read: made once, by Shoal, in a temporary folder that goes with this process. `programs/data-pipelines.ts` and `ray/data_pipelines.py` have
 * the pipelines; what both tell of their results has to agree, or the figure fails. `ray/data_beside.py` runs the same with DuckDB and Polars, in one process without Ray.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Child } from "./child.ts";
import type { Bar, Details, HarnessFigure, Measurement, Plan } from "./figure.ts";
import { markedProcesses, processorSeconds, sharedMemoryInUseMegabytes, weighProcesses } from "./process-tree.ts";
import type { Subject } from "./subject.ts";

interface DataFigureFacts {
  readonly name: string;
  readonly title: string;
  readonly goal: Bar | null;
  readonly floor: Bar | null;
  readonly note?: string;
  /** The pipeline. Default: the name without `data-`. */
  readonly pipeline?: string;
  /** The measured quantity. Default: time. */
  readonly of?: "time" | "memory";
  /** Whether DuckDB and Polars have such a pipeline, to stand beside in the details. Default: true. */
  readonly beside?: boolean;
  /** The pipeline's input: the table, or pictures of 640 x 480. Default: the table. */
  readonly input?: Input;
}

type Input = "table" | "images";

/** The time of a process since the last look is lost when the process ends. A look costs processor time, the same on both sides. */
const WEIGH_EVERY_MS = 500;
const ROWS: Readonly<Record<Input, { readonly full: number; readonly quick: number }>> = {
  table: { full: 10_000_000, quick: 1_000_000 },
  images: { full: 20_000, quick: 2000 },
};
const MAKE_WITHIN_MS = 600_000;
/** Sums of floats in another order differ by about that. */
const ROUNDING = 1e-9;

/** Facts of a program about its result. */
type Facts = Readonly<Record<string, number>>;

export function dataFigure(facts: DataFigureFacts): HarnessFigure {
  const { name, title, goal, floor, note, pipeline = name.replace("data-", ""), of = "time", beside = true, input = "table" } = facts;
  const told = new Map<boolean, Facts>();
  const check = (quick: boolean, by: string, found: Facts): void => {
    const first = told.get(quick) ?? found;
    told.set(quick, first);
    if (!agree(first, found))
      throw new Error(`The results differ: ${by} has ${JSON.stringify(found)}, before were ${JSON.stringify(first)}`);
  };
  return {
    where: "harness",
    name,
    title,
    unit: of === "time" ? "ms" : "MB",
    higherIsBetter: false,
    goal,
    floor,
    ...(note === undefined ? {} : { note }),
    observe: async (subject, plan) => {
      const { elapsedMs, processorTime, peak, found } = await runPipeline(subject, plan, { pipeline, input });
      check(plan.quick, subject.side, found);
      const details: Details = { processorSeconds: processorTime, peakMegabytes: peak };
      if (subject.side === "ray" && beside) {
        for (const library of ["duckdb", "polars"]) {
          const other = await runBeside(subject, plan, [library, pipeline]);
          check(plan.quick, library, other.facts);
          details[`${library}Ms`] = other.ms;
          details[`${library}PeakMegabytes`] = other.peakMegabytes;
        }
      }
      return { samples: [of === "time" ? elapsedMs : peak], details } satisfies Measurement;
    },
  };
}

function agree(a: Facts, b: Facts): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Math.abs((a[name] ?? 0) - (b[name] ?? NaN)) <= ROUNDING * Math.abs(a[name] ?? 0))
  );
}

async function runPipeline(subject: Subject, plan: Plan, run: { pipeline: string; input: Input }) {
  const { pipeline } = run;
  const input = await inputFolder(plan, run.input);
  const scratch = mkdtempSync(join(tmpdir(), "shoal-bench-out-"));
  const sharedBefore = await sharedMemoryInUseMegabytes();
  try {
    await using child = subject.start("data-pipelines", plan, [pipeline, input, join(scratch, "table")]);
    const begun = child.waitForLine("begun");
    const finished = child.waitForLine("finished");
    // A program that ends before is told of once, by the line that is waited for first.
    void Promise.allSettled([begun, finished]);
    await child.waitForLine("ready");
    const spentBefore = sumOf(await processorSeconds(await markedProcesses(child.mark)));
    const spent = new Map<number, number>();
    let peak = 0;
    for (let isOver = false; !isOver; ) {
      isOver = await Promise.race([delay(WEIGH_EVERY_MS, false), finished.then(() => true)]);
      const processes = await markedProcesses(child.mark);
      for (const [pid, seconds] of await processorSeconds(processes)) spent.set(pid, seconds);
      peak = Math.max(peak, await megabytesOf(processes, sharedBefore));
    }
    const elapsedMs = (await finished) - (await begun);
    const processorTime = sumOf(spent) - spentBefore;
    child.endInput();
    await child.succeeded();
    return { elapsedMs, processorTime, peak, found: toldBy(child) as Facts };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function sumOf(seconds: ReadonlyMap<number, number>): number {
  return seconds.values().reduce((sum, one) => sum + one, 0);
}

/** Memory of all its processes, and what the object store has, mapped or not. */
async function megabytesOf(processes: readonly number[], sharedBefore: number): Promise<number> {
  const weight = await weighProcesses(processes);
  const shared = (await sharedMemoryInUseMegabytes()) - sharedBefore;
  return weight.privateMegabytes + Math.max(weight.mappedSharedMegabytes, shared);
}

interface Beside {
  readonly ms: number;
  readonly peakMegabytes: number;
  readonly facts: Facts;
}

async function runBeside(subject: Subject, plan: Plan, [library, pipeline]: readonly [string, string]): Promise<Beside> {
  const scratch = mkdtempSync(join(tmpdir(), "shoal-bench-out-"));
  try {
    await using child = subject.start("data-beside", plan, [library, pipeline, await inputFolder(plan, "table"), scratch]);
    await child.succeeded();
    return toldBy(child) as Beside;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function toldBy(child: Child): unknown {
  const json = /^facts (.*)$/m.exec(child.outputTail)?.[1];
  if (json === undefined) throw new Error(`The program told no facts of its result\n${child.outputTail}`);
  return JSON.parse(json);
}

const inputs = new Map<string, Promise<string>>();

function inputFolder({ quick, rows }: Plan, input: Input): Promise<string> {
  const count = (input === "table" ? rows : undefined) ?? ROWS[input][quick ? "quick" : "full"];
  const key = `${input} ${count}`;
  let made = inputs.get(key);
  if (made === undefined) inputs.set(key, (made = makeInput(input, count)));
  return made;
}

async function makeInput(input: Input, count: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-bench-data-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  await using child = new Child({
    command: process.execPath,
    args: [join(import.meta.dirname, "programs", "data-pipelines.ts"), `make-${input}`, folder, String(count)],
    environment: process.env,
    workingDirectory: join(import.meta.dirname, ".."),
    timeLimitMs: MAKE_WITHIN_MS,
  });
  child.endInput();
  await child.succeeded();
  return folder;
}
