/**
 * `npm run soak`: ten minutes of work under random faults, and what has to hold all the while.
 *
 * Tasks of many kinds run at a steady number in flight while workers and actors are killed with SIGKILL. Every ref must end, with its right
 * value or with an error that the faults explain. Memory of driver and daemon must stay flat. At the end no process, file or shared memory
 * may be left. Exit code 1 where anything of this does not hold. The seed decides what is submitted and killed; the machine decides what
 * that meets.
 */
import { init, shutdown } from "shoal";
import { OptionError, runTool, type ToolValues, wholeNumber } from "../scripts/tool.ts";
import { Faults } from "./faults.ts";
import { leftovers, memoryOf, type Place, sessionPlaces } from "./machine.ts";
import { Random } from "./random.ts";
import { Workload } from "./workload.ts";

const USAGE = `Usage: npm run soak -- [options]

Runs tasks, actors and objects under random kills, and checks that every ref ends,
that memory is flat and that nothing is left behind.

  --minutes N     how long (default 10)
  --tasks N       end only when so many calls have ended too (default 200,000)
  --seed N        what is submitted and killed (default: drawn, and printed)
  --kill-ms N     mean time between two kills (default 250)
  --help          this text
`;

const REPORT_EVERY_MS = 15_000;
/** Heaps breathe; growth counts from the end of the first third, when pools and caches are filled. */
const WARM_UP_SHARE = 1 / 3;
const GROWTH_BYTES_MAX = 96 * 1024 * 1024;
const LAST_CALLS_WITHIN_MS = 120_000;

interface Settings {
  readonly minutes: number;
  readonly tasks: number;
  readonly seed: number;
  readonly killMs: number;
}

const OPTIONS = {
  minutes: { type: "string", default: "10" },
  tasks: { type: "string", default: "200000" },
  seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
  "kill-ms": { type: "string", default: "250" },
} as const;

/** @throws OptionError */
function settingsOf(values: ToolValues<typeof OPTIONS>): Settings {
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new OptionError(`Cannot use --minutes: a number above 0 is needed: received ${JSON.stringify(values.minutes)}`);
  return {
    minutes,
    tasks: wholeNumber("tasks", values.tasks),
    seed: wholeNumber("seed", values.seed),
    killMs: wholeNumber("kill-ms", values["kill-ms"], { min: 1 }),
  };
}

async function soak(settings: Settings): Promise<number> {
  const problems: string[] = [];
  print(`seed ${settings.seed}: ${settings.minutes} minutes, at least ${settings.tasks} calls, a kill each ${settings.killMs} ms or so`);
  await init({ numCpus: 2, logToDriver: false });
  const places = sessionPlaces();
  const random = new Random(settings.seed);
  const workload = new Workload(random.fork(), (problem) => problems.push(problem));
  const faults = new Faults(random.fork(), settings.killMs);
  try {
    await run(settings, workload, faults, problems);
  } finally {
    faults.stop();
  }
  const unended = await workload.finish(LAST_CALLS_WITHIN_MS);
  if (unended > 0) problems.push(`${unended} refs had not ended ${LAST_CALLS_WITHIN_MS / 1000} s after the last was submitted`);
  const objects = await workload.objectsLeft();
  if (objects > 0) problems.push(`the store still holds ${objects} bytes after the last ref was let go of`);
  await shutdown();
  await checkLeftovers(places, problems);
  print(`${workload.ended} calls ended (${workload.failedByFaults} by faults), ${faults.kills} kills`);
  for (const problem of problems.slice(0, 20)) print(`PROBLEM: ${problem}`);
  print(problems.length === 0 ? "soak passed" : `soak failed: ${problems.length} problems (seed ${settings.seed})`);
  return problems.length === 0 ? 0 : 1;
}

async function run(settings: Settings, workload: Workload, faults: Faults, problems: string[]): Promise<void> {
  const startMs = performance.now();
  const lengthMs = settings.minutes * 60_000;
  const isOver = (): boolean => performance.now() - startMs >= lengthMs && workload.ended >= settings.tasks;
  let reportAtMs = startMs + REPORT_EVERY_MS;
  let baseline: Record<string, number> | undefined;
  faults.start();
  while (!isOver() && problems.length < 100) {
    await workload.step();
    if (performance.now() < reportAtMs) continue;
    reportAtMs += REPORT_EVERY_MS;
    const memory = memoryOf();
    const elapsedMs = performance.now() - startMs;
    if (elapsedMs > lengthMs * WARM_UP_SHARE) baseline ??= memory;
    const sizes = Object.entries(memory).map(([name, bytes]) => `${name} ${(bytes / 1e6).toFixed(0)} MB`);
    print(
      `${(elapsedMs / 1000).toFixed(0)} s: ${workload.ended} ended, ${workload.inFlight} in flight, ${faults.kills} kills, ${sizes.join(", ")}`,
    );
  }
  const last = memoryOf();
  for (const [name, bytes] of Object.entries(last)) {
    const grown = bytes - (baseline?.[name] ?? bytes);
    if (grown > GROWTH_BYTES_MAX) problems.push(`the memory of the ${name} grew by ${(grown / 1e6).toFixed(0)} MB after the first third`);
  }
}

async function checkLeftovers(places: readonly Place[], problems: string[]): Promise<void> {
  const end = performance.now() + 10_000;
  let left = leftovers(places);
  while (left.length > 0 && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    left = leftovers(places);
  }
  problems.push(...left.map((what) => `left behind: ${what}`));
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await runTool({
  command: "npm run soak",
  usage: USAGE,
  options: OPTIONS,
  run: (values) => soak(settingsOf(values)),
});
