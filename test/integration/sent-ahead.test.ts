/**
 * Tasks that were sent ahead to a worker which dies among them: none with `maxRetries: 0` runs twice, however short they are, and those that never began run elsewhere.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, remote, WorkerCrashedError } from "shoal";
import { expect, test } from "vitest";
import { failureOf, useFolder, useSession } from "./session.ts";

const TASKS = [0, 1, 2, 3, 4, 5, 6, 7];
const FATAL = 3;

const folder = useFolder();
useSession({ numCpus: 1 });

interface Run {
  file: string;
  number: number;
}

const marked = remote(
  ({ file, number }: Run, _needed?: unknown) => {
    appendFileSync(file, `${number}\n`);
    if (number === FATAL) process.kill(process.pid, "SIGKILL");
    return number;
  },
  { maxRetries: 0 },
);

/** Awaits a promise that is no ref before it answers, so it never parks. */
const awaiting = remote(
  async ({ file, number }: Run) => {
    appendFileSync(file, `${number}\n`);
    await Promise.resolve();
    if (number === FATAL) process.kill(process.pid, "SIGKILL");
    return number;
  },
  { maxRetries: 0 },
);

const isThere = remote((path: string) => {
  if (existsSync(path)) return false;
  writeFileSync(path, "");
  process.kill(process.pid, "SIGKILL");
  return true;
});

async function outcomes(refs: readonly PromiseLike<unknown>[]): Promise<unknown[]> {
  return Promise.all(
    refs.map((ref) =>
      ref.then(
        (value) => value,
        () => failureOf(ref),
      ),
    ),
  );
}

function runsIn(file: string): number[] {
  return readFileSync(file, "utf8").trim().split("\n").map(Number);
}

/** So short that they run without a frame, and their answers are gathered. */
async function warmUp(fn: typeof marked | typeof awaiting): Promise<void> {
  await get(Array.from({ length: 200 }, () => fn.remote({ file: "/dev/null", number: 0 })));
}

test.each([
  ["synchronous", marked],
  ["asynchronous", awaiting],
])("%s ones", async (kind, fn) => {
  for (let round = 0; round < 3; round += 1) {
    await warmUp(fn);
    const file = join(folder, `${kind}-${round}`);
    const found = await outcomes(TASKS.map((number) => fn.remote({ file, number })));
    expect(runsIn(file)).toEqual(TASKS);
    expect(found[FATAL]).toBeInstanceOf(WorkerCrashedError);
    for (const [number, outcome] of found.entries()) {
      // Answers of those before it may have been lost with the worker.
      if (number < FATAL && outcome instanceof WorkerCrashedError) continue;
      if (number !== FATAL) expect(outcome).toBe(number);
    }
  }
});

test("ones that wait for arguments, which do not run where their frames arrive", async () => {
  await warmUp(marked);
  const needed = remote(() => "needed").remote();
  await get(needed);
  const file = join(folder, "with-arguments");
  const found = await outcomes(TASKS.map((number) => marked.remote({ file, number }, needed)));
  expect(runsIn(file)).toEqual(TASKS);
  expect(found[FATAL]).toBeInstanceOf(WorkerCrashedError);
  expect(found.slice(FATAL + 1)).toEqual(TASKS.slice(FATAL + 1));
});

test("short ones before another that kills the worker", async () => {
  await warmUp(marked);
  // Short the first time that it is measured, and so without a frame the next.
  writeFileSync(join(folder, "there"), "");
  await get(Array.from({ length: 20 }, () => isThere.remote(join(folder, "there"))));
  const file = join(folder, "before-another");
  const before = [0, 1, 2].map((number) => marked.remote({ file, number }));
  const fatal = isThere.remote(join(folder, "not-there"));
  const after = [4, 5, 6].map((number) => marked.remote({ file, number }));
  await outcomes(before);
  expect(await fatal).toBe(false);
  expect(await get(after)).toEqual([4, 5, 6]);
  expect(runsIn(file)).toEqual([0, 1, 2, 4, 5, 6]);
});
