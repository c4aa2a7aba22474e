/**
 * Ends worker processes in the midst of bulk calls, and compares answers with a log of runs. No call that had ended may fail or run twice.
 *
 * Each round submits calls that append a line to a file at their end. One call ends its process. `npm run chaos -- --deaths N` runs N
 * rounds for each kind of work and death, a test a few.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { python, remote } from "shoal";

/** The ways in which a process ends, as a task brings them about. */
const ENDS = {
  exit: () => process.exit(3),
  uncaught: () => {
    process.nextTick(() => {
      throw new Error("nobody catches this");
    });
  },
  SIGKILL: () => {
    process.kill(process.pid, "SIGKILL");
    for (;;);
  },
  heap: () => {
    const full: unknown[] = [];
    for (;;) full.push(Array.from({ length: 100_000 }, (_, index) => ({ index })));
  },
  handler: () => {
    process.once("SIGTERM", () => process.exit(5));
    process.kill(process.pid, "SIGTERM");
  },
} as const;
type Death = keyof typeof ENDS;
export const DEATHS: readonly Death[] = Object.keys(ENDS) as Death[];

/** The kinds of calls under way when a process ends. */
export const WORKS = ["tasks", "actors", "streams", "Python"] as const;
export type Work = (typeof WORKS)[number];

/** Python has neither a heap that is full nor an error that nobody catches and that ends the process. */
export const OF_PYTHON: readonly Death[] = ["exit", "SIGKILL", "handler"];

interface DeathRun {
  readonly work: Work;
  readonly death: Death;
  /** How many processes end. */
  readonly deaths: number;
  /** How many calls, or items, are under way at each. */
  readonly calls: number;
  readonly folder: string;
  /** Resources of each call, which decide its node. Default: none. */
  readonly resources?: Readonly<Record<string, number>> | undefined;
}

/** A heap that is full in a moment. */
const SMALL_HEAP = { execArgv: ["--max-old-space-size=48"] };

/** The file to which calls append a line at their end, and the number of the call that ends its process. */
interface Round {
  readonly file: string;
  readonly last: number;
  readonly death: Death;
}

/** A handler of a signal runs some turns later. The call waits for its process to end, as that would meet the next round otherwise. */
const untilDead = (death: Death): Promise<number> | undefined => (death === "handler" ? new Promise(() => {}) : undefined);

const quick = remote(function quick({ file, last, death }: Round, index: number): number | Promise<number> {
  if (index === last) {
    ENDS[death]();
    const dead = untilDead(death);
    if (dead !== undefined) return dead;
  }
  appendFileSync(file, `${index}\n`);
  return index;
});

class Counter {
  call({ file, last, death }: Round, index: number): number | Promise<number> {
    if (index === last && !existsSync(`${file}-died`)) {
      writeFileSync(`${file}-died`, "");
      ENDS[death]();
      const dead = untilDead(death);
      if (dead !== undefined) return dead;
    }
    appendFileSync(file, `${index}\n`);
    return index;
  }
}

const items = remote(function* items({ last, death }: Round): Generator<number> {
  for (let index = 0; index < last; index += 1) yield index;
  ENDS[death]();
  // Until the process ends: an error that nobody catches takes a tick, and a handler of a signal longer. The death would meet the next round.
  for (;;) yield -1;
});

/** @returns the problems of all rounds */
export async function dieInBulk(run: DeathRun): Promise<string[]> {
  const problems: string[] = [];
  mkdirSync(run.folder, { recursive: true });
  for (let round = 0; round < run.deaths; round += 1) {
    const file = join(run.folder, `${run.work}-${run.death}-${round}`);
    writeFileSync(file, "");
    const found = await DO[run.work](run, { file, last: Math.floor(run.calls / 2), death: run.death });
    problems.push(...found.map((problem) => `${run.work}, ${run.death}, death ${round + 1}: ${problem}`));
  }
  return problems;
}

const DO: Readonly<Record<Work, (run: DeathRun, round: Round) => Promise<string[]>>> = {
  tasks: async (run, round) => {
    const task = quick.options({ maxRetries: 0, ...optionsOf(run) });
    return await callsAndNotes(run, round, (index) => task.remote(round, index));
  },
  actors: async (run, round) => {
    const actor = remote(Counter, optionsOf(run)).options({ maxRestarts: -1, maxTaskRetries: -1 }).remote();
    const problems = await callsAndNotes(run, round, (index) => actor.call.remote(round, index));
    const failed = problems.some((problem) => problem.startsWith("failed"));
    return failed || noted(round).has(round.last) ? problems : [...problems, "the call that ended the process did not run again"];
  },
  streams: async (run, round) => {
    const received: number[] = [];
    const read = async (): Promise<void> => {
      for await (const item of items.options({ maxRetries: 0, ...optionsOf(run) }).remote(round)) received.push(item);
    };
    await read().catch(() => {});
    const expected = Array.from({ length: round.last }, (_, index) => index);
    const given = received.slice(0, round.last);
    return String(given) === String(expected) ? [] : [`${given.length} of ${round.last} items arrived`];
  },
  Python: async (run, round) => {
    const task = python.task<(file: string, last: number, death: string, index: number) => number>(
      new URL("deaths.py", import.meta.url),
      "quick",
      { maxRetries: 0, ...optionsOf(run) },
    );
    return await callsAndNotes(run, round, (index) => task.remote(round.file, round.last, round.death, index));
  },
};

function optionsOf({ death, work, resources }: DeathRun): { runtimeEnv?: typeof SMALL_HEAP; resources?: Record<string, number> } {
  return {
    ...(death === "heap" && work !== "Python" ? { runtimeEnv: SMALL_HEAP } : {}),
    ...(resources === undefined ? {} : { resources: { ...resources } }),
  };
}

/** How often each call noted that it has ended. */
function noted({ file }: Round): Map<number, number> {
  const counts = new Map<number, number>();
  for (const line of readFileSync(file, "utf8").split("\n").slice(0, -1)) counts.set(Number(line), (counts.get(Number(line)) ?? 0) + 1);
  return counts;
}

async function callsAndNotes({ calls }: DeathRun, round: Round, call: (index: number) => PromiseLike<number>): Promise<string[]> {
  const outcomes = await Promise.allSettled(Array.from({ length: calls }, (_, index) => call(index)));
  const notes = noted(round);
  const problems: string[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const times = notes.get(index) ?? 0;
    if (times > 1) problems.push(`call ${index} ran ${times} times`);
    if (outcome.status === "fulfilled") {
      if (outcome.value !== index || times === 0) problems.push(`call ${index} gave ${outcome.value} and noted ${times} ends`);
    } else if (times > 0 || index !== round.last)
      problems.push(`failed: call ${index}, which noted ${times} ends: ${String(outcome.reason)}`);
  }
  return problems;
}
