/**
 * Runs the examples on small inputs, as a user would: real processes, through the built package.
 */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type ProgramRun, runProgram } from "./house/run-program.ts";
import { unless, WITHOUT_PYTHON } from "./integration/python-places.ts";

const PRIMES = "examples/primes.ts";
const WORD_COUNT = "examples/word-count.ts";
const PYTHON_PI = "examples/python-pi.ts";
const SUPERVISOR = "examples/supervisor.ts";
/** The sum of the primes below 100,000. */
const SUM_BELOW_100_000 = "454396537";

test("primes: both parts give the right answers, with progress, times and the speed-up", async () => {
  const run = await runProgram([PRIMES, "--limit", "100000", "--tasks", "3"]);
  expect(run.stderr).toBe("");
  expect(answers(run)).toEqual([Array(3).fill(SUM_BELOW_100_000), Array(3).fill(SUM_BELOW_100_000)]);
  for (const task of [1, 2, 3]) expect(run.stdout.split(`task ${task}: 100 %`)).toHaveLength(3);
  expect(run.stdout.match(/^time: \d+\.\d\d s$/gm)).toHaveLength(2);
  expect(run.stdout).toMatch(/^speed-up: \d+\.\d\dx$/m);
  expect(run.exitCode).toBe(0);
});

test.each([["--sequential-only"], ["--parallel-only"]])("primes: %s runs that part alone", async (option) => {
  const run = await runProgram([PRIMES, "--limit", "100000", "--tasks", "2", option]);
  expect(run.stderr).toBe("");
  expect(answers(run)).toEqual([[SUM_BELOW_100_000, SUM_BELOW_100_000]]);
  expect(run.stdout).not.toContain("speed-up");
  expect(run.exitCode).toBe(0);
});

test("primes: --help documents every option", async () => {
  const run = await runProgram([PRIMES, "--help"]);
  for (const option of ["--limit", "--tasks", "--cpus", "--sequential-only", "--parallel-only"]) expect(run.stdout).toContain(option);
  expect(run.exitCode).toBe(0);
});

test.each([
  [["--limit", "many"], '--limit must be a whole number from 2 to 500000000: received "many"'],
  [["--tasks", "0"], '--tasks must be a whole number from 1 to 1000: received "0"'],
  [["--cpus", "1.5"], '--cpus must be a whole number from 1 to 1024: received "1.5"'],
  [["--fast"], "Unknown option '--fast'"],
  [["--sequential-only", "--parallel-only"], "exclude each other"],
])("primes: %j is refused with a reason", async (args, reason) => {
  const run = await runProgram([PRIMES, ...args]);
  expect(run.stderr).toContain(reason);
  expect(run.stdout).toBe("");
  expect(run.exitCode).toBe(2);
});

test("word-count: adds up a tree of folders", async () => {
  const folder = await mkdtemp(join(tmpdir(), "shoal-word-count-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "a", "b"), { recursive: true });
  await mkdir(join(folder, "node_modules"));
  await writeFile(join(folder, "one.md"), "Red, blue; red!");
  await writeFile(join(folder, "a", "two.ts"), "const red = blue;");
  await writeFile(join(folder, "a", "b", "three.md"), "RED green");
  await writeFile(join(folder, "a", "b", "not-counted.txt"), "red red red");
  await writeFile(join(folder, "node_modules", "not-counted.md"), "red red red");
  const run = await runProgram([WORD_COUNT, folder]);
  expect(run.stderr).toBe("");
  const [summary, first, second, ...rest] = run.stdout.trimEnd().split("\n");
  expect(summary).toBe("8 words in 3 files in 3 folders");
  expect([first, second]).toEqual(["       4  red", "       2  blue"]);
  expect(rest.map((line) => line.trim()).sort()).toEqual(["1  const", "1  green"]);
  expect(run.exitCode).toBe(0);
});

test("word-count: a folder that is not there is refused with a reason", async () => {
  const run = await runProgram([WORD_COUNT, "/no/such/folder"]);
  expect(run.stderr).toContain('there is no folder "/no/such/folder"');
  expect(run.exitCode).toBe(2);
});

test("supervisor: all jobs are done, although workers die", async () => {
  const run = await runProgram([SUPERVISOR, "20"]);
  expect(run.stdout).toContain("20 jobs done, the sum of their results is 2870");
  expect(run.stdout).toContain("workers that died and were replaced: some");
  expect(run.exitCode).toBe(0);
  expect((await runProgram([SUPERVISOR, "0"])).exitCode).toBe(2);
});

test.skipIf(WITHOUT_PYTHON !== undefined)(`python-pi: tasks and an actor of Python${unless(WITHOUT_PYTHON)}`, async () => {
  const run = await runProgram([PYTHON_PI, "4", "20000"]);
  expect(run.stderr).toBe("");
  expect(run.stdout).toMatch(/^80000 points in 4 tasks: pi is about 3\.1\d+$/m);
  expect(run.exitCode).toBe(0);
  expect((await runProgram([PYTHON_PI, "none"])).exitCode).toBe(2);
});

/** The answers of each part that ran. */
function answers(run: ProgramRun): string[][] {
  return [...run.stdout.matchAll(/^answers: (.*)$/gm)].map(([, list = ""]) => list.split(" "));
}

test("tune-function: finds a network that learns XOR, and ends others early", async () => {
  const home = await mkdtemp(join(tmpdir(), "shoal-home-"));
  onTestFinished(() => rm(home, { recursive: true }));
  const run = await runProgram(["examples/tune-function.ts"], { env: { HOME: home } });
  expect(run.stderr).toBe("");
  expect(run.stdout).toBe("40 trials, some ended early\nbest loss below 0.1: true\n");
});

test("rl-cartpole: a policy learns to balance the pole, is saved, and plays", async () => {
  const run = await runProgram(["examples/rl-cartpole.ts"]);
  expect(run.stderr).toBe("");
  expect(run.stdout).toMatch(/^(after \d+ steps: \d+\n)+the mean return is above 400: true\n.* for more than 200 steps: true\n$/);
  expect((await runProgram(["examples/rl-cartpole.ts", "-1"])).exitCode).toBe(2);
});

test("rl-tic-tac-toe: a policy learns the rules and the game by self-play", async () => {
  const run = await runProgram(["examples/rl-tic-tac-toe.ts"]);
  expect(run.stderr).toBe("");
  expect(run.stdout).toMatch(/^(after \d+ games: learner .*\n){3}won more than 75 % .*: true\nchose taken fields .*: true\n$/);
  expect((await runProgram(["examples/rl-tic-tac-toe.ts", "x"])).exitCode).toBe(2);
});

test("rl-league: copies of a policy join a league and leave it, and the policy beats random play", async () => {
  const run = await runProgram(["examples/rl-league.ts"]);
  expect(run.stderr).toBe("");
  expect(run.stdout).toMatch(/^(after \d+ games the league has beginner, .*\n){2}won 75 % .*: true\n$/);
  expect((await runProgram(["examples/rl-league.ts", "-1"])).exitCode).toBe(2);
});

test("rl-vpg: an algorithm of one's own learns, and comes back from its checkpoint", async () => {
  const run = await runProgram(["examples/rl-vpg.ts"]);
  expect(run.stderr).toBe("");
  expect(run.stdout).toBe("the mean return is above 150: true\na restored run goes on above half: true\n");
});

test("rl-old-spellings: a program for older versions runs, and each old name says today's", async () => {
  const run = await runProgram(["examples/rl-old-spellings.ts"]);
  expect(run.stdout).toBe("the mean return is above 100: true\n");
  const lines = run.stderr.trimEnd().split("\n");
  expect(lines.filter((line) => line.includes("is an old spelling: today it is"))).toHaveLength(8);
  expect(lines).toHaveLength(8);
});

test.skipIf(WITHOUT_PYTHON !== undefined)(
  `rl-torch: without PyTorch the program says how to install it${unless(WITHOUT_PYTHON)}`,
  async () => {
    const bare = join(await mkdtemp(join(tmpdir(), "test-shoal-bare-")), "venv");
    try {
      execFileSync("python3", ["-m", "venv", "--without-pip", bare]);
      const run = await runProgram(["examples/rl-torch.ts", bare]);
      expect(run.stdout).toBe("");
      expect(run.stderr).toContain("Cannot train default_policy in PyTorch: ");
      expect(run.stderr).toMatch(/this Python has no torch: \S+ -m pip install torch numpy \(or name a Python that has it/);
      expect(run.exitCode).toBe(1);
    } finally {
      await rm(dirname(bare), { recursive: true });
    }
  },
);

test("tune-pbt-cart-pole: a population finds a policy that balances the pole", async () => {
  const run = await runProgram(["examples/tune-pbt-cart-pole.ts"]);
  expect(run.stderr).toBe("");
  expect(run.stdout).toMatch(/^8 policies, (some|none) went on .*\nthe best one keeps the pole up for more than 400 of 500 steps: true\n$/);
  expect((await runProgram(["examples/tune-pbt-cart-pole.ts", "2"])).exitCode).toBe(2);
});
