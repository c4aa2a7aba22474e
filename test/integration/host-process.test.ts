/**
 * Shoal as a guest in the user's process: however a program ends, it ends as it would without Shoal, with the same exit code or signal and the same output
 * in the same order. Each program runs with and without, and what comes of both is compared. Afterwards nothing is left on the machine.
 */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { Sandbox } from "./sandbox.ts";

const sandbox = new Sandbox();
afterAll(async () => {
  await sandbox.mustBeEmpty();
  sandbox.remove();
});

/** With an object in shared memory and a worker. Without, the program is as asynchronous. */
const START = `
  if (process.env.WITH_SHOAL === "yes") {
    const { init, put, remote } = await import("shoal");
    await init({ numCpus: 1 });
    globalThis.kept = put(new Float64Array(100_000));
    await remote(() => 1).remote();
  } else await new Promise((resolve) => setTimeout(resolve, 1));
`;
const THROW = `
  setTimeout(() => {
    throw Object.assign(new RangeError("my own mistake", { cause: new Error("the reason") }), { code: "MINE", hint: "do it better" });
  }, 10);
`;
const REJECT = `void Promise.reject(Object.assign(new Error("nobody handles it", { cause: new Error("the reason") }), { code: "MINE" }));`;
/** Libraries that end the process only when nobody else listens: Sentry for exceptions, signal-exit for signals. */
const DEFERRING = `
  process.on("uncaughtException", function own(error) {
    if (process.listeners("uncaughtException").every((listener) => listener === own)) {
      console.error("reported", error.message);
      process.exit(7);
    }
  });
  process.on("SIGTERM", function own() {
    if (process.listeners("SIGTERM").length > 1) return;
    process.off("SIGTERM", own);
    process.kill(process.pid, "SIGTERM");
  });
`;
const TELL = `
  process.on("exit", (code) => console.log("exit", code, process.exitCode));
  process.on("uncaughtExceptionMonitor", (error, origin) => console.log("seen", origin, String(error)));
`;
const DRAIN = `
  process.once("SIGTERM", () => setTimeout(() => { console.log("drained"); process.exit(0); }, 300));
`;
const raise = (signal: string): string => `
  setTimeout(() => process.kill(process.pid, "${signal}"), 10);
  setTimeout(() => console.log("it goes on"), 1500);
`;

interface Case {
  readonly source: string;
  readonly execArgv?: readonly string[];
  /** The required end, so that two programs that both do nothing are not alike. */
  readonly ends: { exitCode?: number; signal?: string; stdout?: RegExp; stderr?: RegExp };
}

const REPORTED = /RangeError: my own mistake[^]*code: 'MINE'[^]*hint: 'do it better'[^]*\[cause\]: Error: the reason/;
const UNHANDLED = /Error: nobody handles it/;

const CASES: Record<string, Case> = {
  "an exception in a timer": { source: TELL + START + THROW, ends: { exitCode: 1, stderr: REPORTED, stdout: /seen[^]*exit 1/ } },
  "an exception of the top level": {
    source: `${START} throw new Error("at the top", { cause: 5 });`,
    ends: { exitCode: 1, stderr: /Error: at the top/ },
  },
  "an exception that is no error": {
    source: `${START} setTimeout(() => { throw { code: 5 }; });`,
    ends: { exitCode: 1, stderr: /code: 5/ },
  },
  "an exception beside node:repl": { source: `import "node:repl"; ${START}${THROW}`, ends: { exitCode: 1, stderr: REPORTED } },
  "an exception beside node:domain": { source: `import "node:domain"; ${START}${THROW}`, ends: { exitCode: 1, stderr: REPORTED } },
  "an exception in a domain": {
    source: `import domain from "node:domain"; ${START}
      const own = domain.create();
      own.on("error", (error) => console.log("in the domain", error.message));
      own.run(() => { ${THROW} });`,
    ends: { exitCode: 0, stdout: /in the domain my own mistake/ },
  },
  "an exception under tsx": {
    source: START + THROW,
    execArgv: ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href],
    ends: { exitCode: 1, stderr: REPORTED },
  },
  "an exception with a listener, of before, that defers to others": {
    source: DEFERRING + START + THROW,
    ends: { exitCode: 7, stderr: /reported my own mistake/ },
  },
  "an exception with a listener, of after, that defers to others": {
    source: START + DEFERRING + THROW,
    ends: { exitCode: 7, stderr: /reported my own mistake/ },
  },
  "an exception with a listener that goes on": {
    source: `process.on("uncaughtException", (error) => console.log("listened", error.message)); ${START}${THROW}`,
    ends: { exitCode: 0, stdout: /listened my own mistake/ },
  },
  "an exception with a listener that chooses the exit code": {
    source: `${START} process.on("uncaughtException", () => process.exit(40)); ${TELL}${THROW}`,
    ends: { exitCode: 40 },
  },
  "an exception with a capture callback": {
    source: `process.setUncaughtExceptionCaptureCallback((error) => console.log("captured", error.message)); ${START}${THROW}`,
    ends: { exitCode: 0, stdout: /captured/ },
  },
  "an exit code that an exit listener changes": {
    source: `${START} process.on("exit", () => { process.exitCode = 12; }); ${THROW}`,
    ends: { exitCode: 12 },
  },
  "a rejection": { source: TELL + START + REJECT, ends: { exitCode: 1, stderr: UNHANDLED, stdout: /seen unhandledRejection/ } },
  "a rejection, strict": { source: START + REJECT, execArgv: ["--unhandled-rejections=strict"], ends: { exitCode: 1, stderr: UNHANDLED } },
  "a rejection, warn": { source: START + REJECT, execArgv: ["--unhandled-rejections=warn"], ends: { exitCode: 0, stderr: UNHANDLED } },
  "a rejection, warn-with-error-code": {
    source: START + REJECT,
    execArgv: ["--unhandled-rejections=warn-with-error-code"],
    ends: { exitCode: 1, stderr: UNHANDLED },
  },
  "a rejection, none": { source: START + REJECT, execArgv: ["--unhandled-rejections=none"], ends: { exitCode: 0 } },
  "process.exit": { source: `${TELL}${START} process.exit(9);`, ends: { exitCode: 9, stdout: /exit 9/ } },
  SIGTERM: { source: START + raise("SIGTERM"), ends: { signal: "SIGTERM" } },
  SIGINT: { source: START + raise("SIGINT"), ends: { signal: "SIGINT" } },
  "SIGTERM with a listener, of before, that is called once": {
    source: DRAIN + START + raise("SIGTERM"),
    ends: { exitCode: 0, stdout: /drained/ },
  },
  "SIGTERM with a listener, of after, that is called once": {
    source: START + DRAIN + raise("SIGTERM"),
    ends: { exitCode: 0, stdout: /drained/ },
  },
  "SIGTERM again while a listener that is called once drains": {
    source: `${DRAIN}${START}${raise("SIGTERM")} setTimeout(() => process.kill(process.pid, "SIGTERM"), 100);`,
    ends: { signal: "SIGTERM" },
  },
  "SIGTERM with a listener, of before, that defers to others": {
    source: DEFERRING + START + raise("SIGTERM"),
    ends: { signal: "SIGTERM" },
  },
  "SIGTERM with a listener, of after, that defers to others": { source: START + DEFERRING + raise("SIGTERM"), ends: { signal: "SIGTERM" } },
  "SIGHUP with a listener that goes on": {
    source: `${START} process.on("SIGHUP", () => console.log("no terminal")); ${raise("SIGHUP")}`,
    ends: { exitCode: 0, stdout: /no terminal[^]*it goes on/ },
  },
};

test.concurrent.each(Object.entries(CASES))(
  "%s ends the program as without Shoal",
  { timeout: 60_000 },
  async (_name, { source, execArgv, ends }) => {
    const [without, within] = await Promise.all(
      ["no", "yes"].map(async (WITH_SHOAL) => {
        const run = await sandbox.run(source, { env: { WITH_SHOAL }, ...(execArgv === undefined ? {} : { execArgv }) });
        const text = (output: string): string => output.replaceAll(/program-\d+|\(node:\d+\)/g, "*");
        return { ...run, stdout: text(run.stdout), stderr: text(run.stderr) };
      }),
    );
    expect(within).toEqual(without);
    expect(without).toMatchObject({ exitCode: ends.exitCode ?? null, signal: ends.signal ?? null });
    if (ends.stdout !== undefined) expect(within?.stdout).toMatch(ends.stdout);
    if (ends.stderr !== undefined) expect(within?.stderr).toMatch(ends.stderr);
  },
);

test.each(["process.exit(4);", `throw new Error("early");`, `process.kill(process.pid, "SIGTERM");`])(
  "what ends a program while Shoal starts leaves nothing behind: %s",
  async (end) => {
    const run = await sandbox.run(`import { put } from "shoal"; put(new Float64Array(100_000)); ${end}`);
    expect(run.exitCode !== 0 && !run.stderr.includes("shoal:")).toBe(true);
    await sandbox.mustBeEmpty();
  },
);

test("the report of a task's failure has its cause and fields, and comes after what the task has printed", async () => {
  const run = await sandbox.run(`
    import { init, remote } from "shoal";
    await init({ numCpus: 1 });
    const broken = remote(function broken() {
      for (let line = 0; line < 100; line += 1) console.error("line", line);
      throw new RangeError("in the task", { cause: new Error("deep") });
    });
    await broken.remote();
  `);
  expect(run.exitCode).toBe(1);
  expect(run.stderr).toMatch(
    /line 99\n[^]*TaskError: Task broken failed: RangeError: in the task\n[^]*code: 'TASK_FAILED'[^]*\[cause\]: Error: deep/,
  );
});

test("the report of a failure of Shoal's own has its reason and hint", async () => {
  const run = await sandbox.run(`
    import { init } from "shoal";
    await init({ address: "127.0.0.1:1" });
  `);
  expect(run.exitCode).toBe(1);
  expect(run.stderr).toMatch(/ShoalError: Cannot connect[^]*reason: '[^]*hint: '/);
});

test("what was printed before process.exit is printed, while a worker computes without a pause", async () => {
  const run = await sandbox.run(`
    import { init, remote } from "shoal";
    await init({ numCpus: 2 });
    const spin = remote(() => { for (;;); });
    void spin.remote();
    await remote(() => console.log("last words")).remote();
    process.exit(3);
  `);
  expect(run.exitCode).toBe(3);
  expect(run.stdout).toContain("last words");
});

test("a drain handler of before finishes its calls and shuts down", async () => {
  const run = await sandbox.run(`
    process.once("SIGTERM", () => void drain());
    const { init, remote, shutdown } = await import("shoal");
    await init({ numCpus: 1 });
    const slow = remote(async () => { await new Promise((resolve) => setTimeout(resolve, 300)); return "done"; });
    const last = slow.remote();
    async function drain() {
      console.log("last call", await last);
      await shutdown();
      console.log("shut down");
      process.exit(0);
    }
    setTimeout(() => process.kill(process.pid, "SIGTERM"), 10);
    setInterval(() => {}, 1000);
  `);
  expect(run).toMatchObject({ exitCode: 0, signal: null, stdout: "last call done\nshut down\n" });
});

test.each([
  ["process.exit(4);", { exitCode: 4 }],
  [`throw new Error("mine");`, { exitCode: 1 }],
])("in-process mode leaves nothing behind: %s", async (end, ends) => {
  const run = await sandbox.run(`
    import { init, put } from "shoal";
    await init({ mode: "inProcess" });
    globalThis.kept = put(new Float64Array(100_000));
    ${end}
  `);
  expect(run).toMatchObject(ends);
  await sandbox.mustBeEmpty();
});

test("in-process mode, in which no process is started, removes what a signal has left of the session before", async () => {
  const start = `import { init, put } from "shoal"; await init({ mode: "inProcess" }); globalThis.kept = put(new Float64Array(100_000));`;
  expect(await sandbox.run(`${start} process.kill(process.pid, "SIGTERM");`)).toMatchObject({ signal: "SIGTERM" });
  expect(sandbox.leftovers()).not.toEqual([]);
  expect((await sandbox.run(start)).exitCode).toBe(0);
  await sandbox.mustBeEmpty();
});
