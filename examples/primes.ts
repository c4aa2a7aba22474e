/**
 * The sum of the primes below a limit, computed several times: first in sequence in this process, then as tasks on all cores.
 *
 * An ordinary program on Shoal. `sumPrimes` is called directly in the first part and inside a task in the second; the functions that it
 * uses travel along. Each task tells an actor how far it is, and this program draws the actor's fractions.
 */
import { parseArgs } from "node:util";
import { setImmediate } from "node:timers/promises";
import { type ActorHandle, availableResources, get, init, remote, shutdown, wait } from "shoal";
import { ProgressDisplay } from "./progress-display.ts";

const HELP = `The sum of the primes below a limit, computed several times: in sequence, then as tasks.

  npm run demo -- [options]

  --limit N           sum the primes below N (default 10000000, at most 500000000)
  --tasks N           how many times (default 8, at most 1000)
  --cpus N            run at most N tasks at a time (default: the cores of this machine)
  --sequential-only   only the part in sequence
  --parallel-only     only the part with tasks
  --help              this text
`;

/** Adds up the primes below the limit by trial division; `report` hears the finished fraction 100 times. */
async function sumPrimes(limit: number, report: (fraction: number) => void): Promise<number> {
  const primes: number[] = [];
  const step = Math.ceil(limit / 100);
  let sum = 0;
  for (let start = 2; start < limit; start += step) {
    const end = Math.min(start + step, limit);
    for (let candidate = start; candidate < end; candidate++) {
      if (!isPrime(candidate, primes)) continue;
      sum += candidate;
      // Larger primes divide no candidate: a composite number has a prime factor up to its square root.
      if (candidate * candidate < limit) primes.push(candidate);
    }
    report(end / limit);
    // Between two pieces the process may send the report.
    await setImmediate();
  }
  return sum;
}

/** `primes` holds, in order, all primes up to the candidate's square root. */
function isPrime(candidate: number, primes: readonly number[]): boolean {
  for (const prime of primes) {
    if (prime * prime > candidate) return true;
    if (candidate % prime === 0) return false;
  }
  return true;
}

/** An actor: lives in a separate process and remembers how far each task is. */
class Progress {
  #fractions: number[];

  constructor(tasks: number) {
    this.#fractions = Array.from({ length: tasks }, () => 0);
  }

  report(task: number, fraction: number): void {
    this.#fractions[task] = fraction;
  }

  fractions(): number[] {
    return this.#fractions;
  }
}

const sumPrimesTask = remote(async (task: number, limit: number, progress: ActorHandle<Progress>) => {
  const sum = await sumPrimes(limit, (fraction) => {
    progress.report.remote(task, fraction);
  });
  // Calls from one process arrive in order: after this one, a caller with the sum also finds the task at 100 %.
  await progress.report.remote(task, 1);
  return sum;
});

async function runInSequence(limit: number, tasks: number): Promise<number[]> {
  const display = new ProgressDisplay(tasks);
  const fractions = Array.from({ length: tasks }, () => 0);
  const sums: number[] = [];
  for (let task = 0; task < tasks; task++) {
    const sum = await sumPrimes(limit, (fraction) => {
      fractions[task] = fraction;
      display.show(fractions);
    });
    sums.push(sum);
  }
  return sums;
}

async function runAsTasks(limit: number, tasks: number): Promise<number[]> {
  const display = new ProgressDisplay(tasks);
  using progress = remote(Progress).remote(tasks);
  const sums = Array.from({ length: tasks }, (_, task) => sumPrimesTask.remote(task, limit, progress));
  let pending = sums;
  while (pending.length > 0) {
    [, pending] = await wait(pending, { numReturns: pending.length, timeoutMs: 100 });
    display.show(await progress.fractions.remote());
  }
  return get(sums);
}

/** Runs one part, prints its answers and its time, and returns both. */
async function timed(title: string, part: () => Promise<number[]>): Promise<{ sums: number[]; seconds: number }> {
  console.log(`\n${title}`);
  const start = performance.now();
  const sums = await part();
  const seconds = (performance.now() - start) / 1000;
  console.log(`answers: ${sums.join(" ")}`);
  console.log(`time: ${seconds.toFixed(2)} s`);
  return { sums, seconds };
}

interface Choices {
  limit: number;
  tasks: number;
  cpus: number | undefined;
  sequential: boolean;
  parallel: boolean;
}

/** Prints help, or the fault in the arguments, and ends the process when there is nothing to run. */
function readChoices(): Choices {
  try {
    const { values } = parseArgs({
      options: {
        limit: { type: "string", default: "10000000" },
        tasks: { type: "string", default: "8" },
        cpus: { type: "string" },
        "sequential-only": { type: "boolean", default: false },
        "parallel-only": { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) {
      process.stdout.write(HELP);
      process.exit(0);
    }
    if (values["sequential-only"] && values["parallel-only"]) {
      throw new RangeError("--sequential-only and --parallel-only exclude each other");
    }
    return {
      limit: wholeNumber("--limit", values.limit, { min: 2, max: 500_000_000 }),
      tasks: wholeNumber("--tasks", values.tasks, { min: 1, max: 1000 }),
      cpus: values.cpus === undefined ? undefined : wholeNumber("--cpus", values.cpus, { min: 1, max: 1024 }),
      sequential: !values["parallel-only"],
      parallel: !values["sequential-only"],
    };
  } catch (error) {
    console.error(`primes: ${(error as Error).message}\nRun with --help to see what can be said.`);
    process.exit(2);
  }
}

function wholeNumber(option: string, text: string, { min, max }: { min: number; max: number }): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new RangeError(`${option} must be a whole number from ${min} to ${max}: received "${text}"`);
}

async function main(): Promise<void> {
  const { limit, tasks, cpus, sequential, parallel } = readChoices();
  console.log(`The sum of the primes below ${limit.toLocaleString("en")}, computed ${tasks} times.`);

  const alone = sequential ? await timed("In sequence", () => runInSequence(limit, tasks)) : undefined;
  if (!parallel) return;

  await init(cpus === undefined ? {} : { numCpus: cpus });
  try {
    const { CPU = 0 } = await availableResources();
    const together = await timed(`As ${tasks} tasks on ${CPU} CPUs`, () => runAsTasks(limit, tasks));
    if (alone === undefined) return;
    console.log(`\nspeed-up: ${(alone.seconds / together.seconds).toFixed(2)}x`);
    if (new Set([...alone.sums, ...together.sums]).size !== 1) throw new Error("the answers differ");
  } finally {
    await shutdown();
  }
}

await main();
