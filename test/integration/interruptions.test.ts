/**
 * An interruption harms only its own call: neighbours keep their worker, and no later task meets half-done work of the stopped code.
 *
 * On one CPU the tasks behind an interrupted one were sent to the same worker, and a waiting parent shares it.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { runInThisContext } from "node:vm";
import { cancel, type ObjectRef, put, remote, TaskCancelledError, TaskTimeoutError } from "shoal";
import { describe, expect, test } from "vitest";
import { collectGarbage, driverRuntime, failureOf, isAlive, shoalProcesses, until, useFolder, useSession } from "./session.ts";

/** Over all ways to end the task. */
const TRIES = 64;

const folder = useFolder();
useSession({ numCpus: 1 });

let marks = 0;
function newMark(): string {
  marks += 1;
  return join(folder, `mark-${marks}`);
}

function written(mark: string): Promise<void> {
  return until(() => existsSync(mark) && readFileSync(mark, "utf8") !== "", `something to be in ${mark}`);
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Every call is known to have ended in its worker, too. */
function untilQuiet(): Promise<void> {
  return until(() => driverRuntime().cancellation.pursuedCount === 0, "the cancelled call to end");
}

/** Endless work that spends its time in Shoal's own code. */
const endless = {
  prints: remote((begun: string) => {
    writeFileSync(begun, String(process.pid));
    for (;;) console.log("a line that a task prints");
  }),
  puts: remote((begun: string) => {
    writeFileSync(begun, String(process.pid));
    for (let index = 0; ; index += 1) put([index]);
  }),
};
const identity = remote((n: number) => n, { maxRetries: 0 });

const ways = ["cancel", "timeoutMs", "signal"] as const;

/** Ends the call some moments after it has begun. */
async function end(work: (typeof endless)["prints"], way: (typeof ways)[number], afterMs: number): Promise<[ObjectRef<never>]> {
  const begun = newMark();
  const controller = new AbortController();
  const options = way === "signal" ? { signal: controller.signal } : way === "timeoutMs" ? { timeoutMs: 100 + afterMs } : {};
  const ref = work.options(options).remote(begun);
  if (way === "timeoutMs") return [ref];
  await written(begun);
  await sleep(afterMs);
  if (way === "signal") controller.abort();
  else cancel(ref);
  return [ref];
}

describe.each(Object.keys(endless) as (keyof typeof endless)[])("a task that %s without end", (kind) => {
  test.each(ways)(
    "costs no task behind it anything when %s ends it",
    async (way) => {
      const outcomes: string[] = [];
      for (let index = 0; index < TRIES / 6; index += 1) {
        const [ref] = await end(endless[kind], way, index % 8);
        const behind = [1, 2, 3, 4].map((n) => identity.remote(n));
        const failure = await failureOf(ref);
        expect(failure).toBeInstanceOf(way === "timeoutMs" ? TaskTimeoutError : TaskCancelledError);
        for (const result of await Promise.allSettled(behind))
          outcomes.push(result.status === "fulfilled" ? "ended" : result.reason.message);
      }
      expect(outcomes.filter((outcome) => outcome !== "ended")).toEqual([]);
    },
    120_000,
  );
});

describe("what an interrupted task has left half done is met by no later task:", () => {
  /** The first takes its time to load, the second when it is first used, the third whenever it is used; while the gate is there they take for ever. */
  const modules = {
    "a CommonJS module that was loading": "work(); exports.isWhole = () => true;",
    "a table that is filled at the first use": `
      let table;
      exports.isWhole = () => {
        if (table === undefined) { table = []; work(); table.push(1); }
        return table.length === 1;
      };`,
    "a lock that a finally opens": `
      let isLocked = false;
      exports.isWhole = () => {
        if (isLocked) return false;
        isLocked = true;
        try { work(); } finally { isLocked = false; }
        return true;
      };`,
  };
  const use = remote(
    (file: string): boolean => {
      return (createRequire(import.meta.url)(file) as { isWhole?: () => boolean }).isWhole?.() === true;
    },
    { maxRetries: 0 },
  );

  test.each(Object.entries(modules))(
    "%s",
    async (name, code) => {
      const gate = newMark();
      for (let index = 0; index < TRIES / 8; index += 1) {
        const begun = newMark();
        const file = join(folder, `${name.replaceAll(" ", "-")}-${index}.cjs`);
        writeFileSync(
          file,
          `const { existsSync, writeFileSync } = require("node:fs");
        const work = () => { writeFileSync(${JSON.stringify(begun)}, "begun"); while (existsSync(${JSON.stringify(gate)})); };
        ${code}`,
        );
        writeFileSync(gate, "");
        const ref = use.remote(file);
        await written(begun);
        cancel(ref);
        expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
        await untilQuiet();
        rmSync(gate);
        expect(await use.remote(file)).toBe(true);
      }
    },
    120_000,
  );

  test("Shoal's own parser", async () => {
    const capture = remote((begun: string) => {
      writeFileSync(begun, "begun");
      for (let index = 0; ; index += 1) remote(runInThisContext(`() => { const [a, b] = [${index}, 2]; return a + b; }`)).remote();
    });
    const nested = remote(
      async (n: number) => {
        const add = (m: number): number => n + m;
        return await remote(() => add(1)).remote();
      },
      { maxRetries: 0 },
    );
    for (let index = 0; index < TRIES / 4; index += 1) {
      const begun = newMark();
      const ref = capture.remote(begun);
      await written(begun);
      await sleep(index);
      cancel(ref);
      expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
      expect(await nested.remote(index)).toBe(index + 1);
    }
  }, 120_000);
});

describe("a worker in which a task was interrupted", () => {
  const spin = remote((begun: string) => {
    writeFileSync(begun, String(process.pid));
    for (;;);
  });

  async function interrupted(): Promise<number> {
    const begun = newMark();
    const ref = spin.remote(begun);
    await written(begun);
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    return Number(readFileSync(begun, "utf8"));
  }

  test("is replaced; none is left over", async () => {
    const before = shoalProcesses({ kind: "worker" }).length;
    const pids = new Set<number>();
    for (let index = 0; index < 4; index += 1) pids.add(await interrupted());
    expect(pids.size).toBe(4);
    await until(() => Array.from(pids).every((pid) => !isAlive(pid)), "the interrupted workers to end");
    expect(await identity.remote(1)).toBe(1);
    expect(shoalProcesses({ kind: "worker" }).length).toBeLessThanOrEqual(before + 1);
  });

  test("keeps the tasks that wait there", async () => {
    class Gate {
      readonly #opened = Promise.withResolvers<string>();
      passed(): Promise<string> {
        return this.#opened.promise;
      }
      open(): void {
        this.#opened.resolve("passed");
      }
    }
    using gate = remote(Gate, { numCpus: 0, maxConcurrency: 4 }).remote();
    const waiting = remote(
      async (pidFile: string) => {
        writeFileSync(pidFile, String(process.pid));
        return await gate.passed.remote();
      },
      { maxRetries: 0 },
    );
    // With the third more wait than may keep their process, and one is shared.
    const pidFiles = [newMark(), newMark(), newMark()];
    const refs = pidFiles.map((pidFile) => waiting.remote(pidFile));
    for (const pidFile of pidFiles) await written(pidFile);
    const pids = pidFiles.map((pidFile) => Number(readFileSync(pidFile, "utf8")));
    const shared = await interrupted();
    expect(pids).toContain(shared);
    expect(await identity.remote(1)).toBe(1);
    await gate.open.remote();
    expect(await Promise.all(refs)).toEqual(["passed", "passed", "passed"]);
    await until(() => !isAlive(shared), "the interrupted worker to end");
  }, 30_000);

  test("lives on for the actors that were created there, and runs nothing", async () => {
    class Counter {
      #count = 0;
      increment(): number {
        this.#count += 1;
        return this.#count;
      }
    }
    const remoteCounter = remote(Counter, { numCpus: 0 });
    const create = remote(async (pidFile: string) => {
      const counter = remoteCounter.remote();
      await counter.increment.remote();
      writeFileSync(pidFile, String(process.pid));
      return [counter] as const;
    });
    const pidFile = newMark();
    const [counter] = await create.remote(pidFile);
    const pid = Number(readFileSync(pidFile, "utf8"));
    expect(await interrupted()).toBe(pid);
    expect(await counter.increment.remote()).toBe(2);
    expect(await interrupted()).not.toBe(pid);
    expect(await counter.increment.remote()).toBe(3);
    counter[Symbol.dispose]();
    await until(async () => {
      await collectGarbage();
      return !isAlive(pid);
    }, "the worker to end with the last actor that was created there");
  }, 60_000);
});
