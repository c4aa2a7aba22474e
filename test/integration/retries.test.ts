/**
 * How often a task runs, by `maxRetries` and `retryOn`: one table. Scripts of crashes and of errors were run on Ray 2.60 too
 * (`max_retries`, `retry_exceptions`), with the same outcomes; predicates are ours alone.
 *
 * Each row is a script of a task's runs, one letter a run: K ends the process, R and T throw a RangeError or TypeError, a dot returns.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { get, remote, TaskError, type TaskOptions, WorkerCrashedError } from "shoal";
import { describe, expect, test } from "vitest";
import { failureOf, Log, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

const follow = remote((file: string, script: string): number => {
  appendFileSync(file, "run\n");
  const run = readFileSync(file, "utf8").split("\n").length - 1;
  const step = script[run - 1] ?? ".";
  if (step === "K") process.kill(process.pid, "SIGKILL");
  if (step === "R") throw new RangeError(`run ${run}`);
  if (step === "T") throw new TypeError(`run ${run}`);
  return run;
});

type Outcome = "value" | "RangeError" | "TypeError" | "WorkerCrashedError";

interface Row {
  script: string;
  options: Omit<TaskOptions, "numReturns">;
  runs: number;
  outcome: Outcome;
}

const ROWS: Row[] = [
  // System failures are retried by default, three times.
  { script: "K", options: {}, runs: 2, outcome: "value" },
  { script: "KKKK", options: {}, runs: 4, outcome: "WorkerCrashedError" },
  { script: "K", options: { maxRetries: 0 }, runs: 1, outcome: "WorkerCrashedError" },
  { script: "KK", options: { maxRetries: 1 }, runs: 2, outcome: "WorkerCrashedError" },
  { script: "KK", options: { maxRetries: 2 }, runs: 3, outcome: "value" },
  { script: "KKKKK", options: { maxRetries: -1 }, runs: 6, outcome: "value" },
  // An error that a task throws is not, unless retryOn accepts it.
  { script: "R", options: {}, runs: 1, outcome: "RangeError" },
  { script: "R", options: { maxRetries: -1 }, runs: 1, outcome: "RangeError" },
  { script: "RR", options: { retryOn: true }, runs: 3, outcome: "value" },
  { script: "R", options: { retryOn: true, maxRetries: 0 }, runs: 1, outcome: "RangeError" },
  { script: "RRR", options: { retryOn: true, maxRetries: 2 }, runs: 3, outcome: "RangeError" },
  { script: "RRRRRR", options: { retryOn: true, maxRetries: -1 }, runs: 7, outcome: "value" },
  { script: "RT", options: { retryOn: [RangeError] }, runs: 2, outcome: "TypeError" },
  { script: "RT", options: { retryOn: [RangeError, TypeError] }, runs: 3, outcome: "value" },
  { script: "RT", options: { retryOn: [] }, runs: 1, outcome: "RangeError" },
  { script: "RT", options: { retryOn: (error) => error instanceof RangeError }, runs: 2, outcome: "TypeError" },
  // Both kinds share one budget.
  { script: "KR", options: { retryOn: true, maxRetries: 1 }, runs: 2, outcome: "RangeError" },
  { script: "RK", options: { retryOn: true, maxRetries: 1 }, runs: 2, outcome: "WorkerCrashedError" },
  { script: "RKR", options: { retryOn: true, maxRetries: 3 }, runs: 4, outcome: "value" },
];

function optionsText({ retryOn, ...rest }: Row["options"]): string {
  const classes = Array.isArray(retryOn) ? `[${retryOn.map((each: { name: string }) => each.name).join(", ")}]` : String(retryOn);
  return JSON.stringify(rest) + (retryOn === undefined ? "" : ` retryOn ${classes}`);
}

test.each(ROWS.map((row) => [row.script, optionsText(row.options), row] as const))("%s with %s", async (_script, _options, row) => {
  const log = new Log(folder);
  const ref = follow.options(row.options).remote(log.file, row.script);
  if (row.outcome === "value") {
    expect(await ref).toBe(row.runs);
  } else {
    const failure = await failureOf(ref);
    expect((failure instanceof TaskError ? (failure.cause as Error) : failure).name).toBe(row.outcome);
  }
  expect(log.lines).toHaveLength(row.runs);
});

describe("failures that pass through tasks", () => {
  const dies = follow.options({ maxRetries: 0 });

  test("of another task's process keep their class, as an awaited ref and as an argument", async () => {
    const awaits = remote(async (file: string) => await dies.remote(file, "K"), { maxRetries: 0 });
    const takes = remote((value: number) => value);
    const failures = [
      await failureOf(awaits.remote(new Log(folder).file)),
      await failureOf(takes.remote(dies.remote(new Log(folder).file, "K"))),
    ];
    for (const failure of failures) expect(failure).toBeInstanceOf(WorkerCrashedError);
    expect(failures[0]).toMatchObject({ signal: "SIGKILL", hint: expect.any(String) });
  });

  test("of another task's code have the original as their cause, through any number of tasks", async () => {
    const inner = remote(async (file: string) => await follow.remote(file, "R"));
    const outer = remote(async (file: string) => await inner.remote(file));
    const failure = await failureOf(outer.remote(new Log(folder).file));
    expect(failure).toBeInstanceOf(TaskError);
    expect(failure.cause).toBeInstanceOf(RangeError);
  });
});

test("retryOn is not asked for a failure of an argument: the task has not run", async () => {
  const asked: unknown[] = [];
  const takes = remote((value: number) => value, { retryOn: (error) => asked.push(error) > 0 });
  expect((await failureOf(takes.remote(follow.remote(new Log(folder).file, "R")))).cause).toBeInstanceOf(RangeError);
  expect(asked).toEqual([]);
});

test("arguments stay until the call has ended, also when their refs are given up while it is retried", async () => {
  const log = new Log(folder);
  const big = remote(() => new Float64Array(100_000).fill(3));
  const uses = remote(
    (array: Float64Array, file: string) => {
      appendFileSync(file, "run\n");
      if (readFileSync(file, "utf8").split("\n").length < 4) process.kill(process.pid, "SIGKILL");
      return array[0];
    },
    { retryDelayMs: 20 },
  );
  const argument = big.remote();
  const used = uses.remote(argument, log.file);
  argument[Symbol.dispose]();
  expect(await get(used)).toBe(3);
  expect(log.lines).toHaveLength(3);
});
