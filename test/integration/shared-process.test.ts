/**
 * Tasks that share a process, as no further process may wait: the death of one is its own, and says that the process was shared.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, python, remote, TaskTimeoutError, why, WorkerCrashedError } from "shoal";
import { describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { failureOf, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
let files = 0;
const newFile = (): string => {
  files += 1;
  const file = join(folder, `ran-${files}`);
  writeFileSync(file, "");
  return file;
};
const linesOf = (file: string): string[] => readFileSync(file, "utf8").split("\n").slice(0, -1);

const child = remote(
  function dies(file: string, times: number): string {
    appendFileSync(file, "child\n");
    const deaths = readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line === "child").length;
    if (deaths > times) return "done";
    process.kill(process.pid, "SIGKILL");
    for (;;);
  },
  { maxRetries: 0 },
);

const parent = remote(async function waits(file: string, times: number): Promise<string> {
  appendFileSync(file, "parent\n");
  return await child.remote(file, times);
});

describe("with waitingProcessesPerCpu: 0, the death of a child", () => {
  useSession({ numCpus: 1, waitingProcessesPerCpu: 0 });

  test("counts as no attempt of its parent", async () => {
    const file = newFile();
    expect(await parent.options({ maxRetries: 1 }).remote(file, 3)).toBe("done");
    expect(linesOf(file).filter((line) => line === "parent").length).toBe(4);
  });

  test("ends a parent that must not run twice, with an error that names the child", async () => {
    const file = newFile();
    const error = await failureOf(parent.options({ maxRetries: 0 }).remote(file, 1));
    expect(error).toBeInstanceOf(WorkerCrashedError);
    expect(error.message).toContain("as task dies ran in the process that both shared");
    expect(linesOf(file)).toEqual(["parent", "child"]);
  });

  test("is an attempt of the parent after the third time", async () => {
    const file = newFile();
    const error = await failureOf(parent.options({ maxRetries: 2 }).remote(file, 1000));
    expect(error).toBeInstanceOf(WorkerCrashedError);
    expect(linesOf(file).filter((line) => line === "parent").length).toBe(1 + 3 + 2);
  });

  test("why says which tasks share a process", async () => {
    const gate = join(folder, "asked");
    const waits = remote(async function waitsForGate(path: string): Promise<void> {
      while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 5));
    });
    const outer = remote(async function asks(path: string): Promise<void> {
      await waits.remote(path);
    });
    const ref = outer.remote(gate);
    let text = "";
    await until(async () => {
      text = String(await why(ref));
      return text.includes("shares");
    }, "why to say that the process is shared");
    expect(text).toMatch(/it runs in process \d+, which it shares with waitsForGate, and waits for 1 ref/);
    writeFileSync(gate, "");
    await ref;
  });
});

describe("with waitingProcessesPerCpu: 0, a deadline of a child that computes without end", () => {
  useSession({ numCpus: 1, waitingProcessesPerCpu: 0 });

  const computes = remote(function computes(ms: number): number {
    const endMs = Date.now() + ms;
    while (Date.now() < endMs);
    return process.pid;
  });

  test("holds although its parent stands still", async () => {
    const waits = remote(async (): Promise<string[]> => {
      const error = await get(computes.options({ timeoutMs: 500, maxRetries: 0 }).remote(1e9)).catch((reason: Error) => reason);
      const next = await computes.remote(0);
      return typeof error === "number" ? ["the child has ended"] : [error.name, typeof next];
    });
    const ref = waits.options({ maxRetries: 0 }).remote();
    expect(await get(ref, { timeoutMs: 20_000 })).toEqual([TaskTimeoutError.name, "number"]);
  });

  test("ends the process of a function that was quick before, and costs its parent no attempt", async () => {
    const file = newFile();
    const waits = remote(async (ran: string): Promise<string> => {
      appendFileSync(ran, "parent\n");
      if (linesOf(ran).length === 1) for (let count = 0; count < 100; count += 1) await computes.remote(0);
      const error = await get(computes.options({ timeoutMs: 500, maxRetries: 0 }).remote(1e9)).catch((reason: Error) => reason);
      return typeof error === "number" ? "the child has ended" : error.name;
    });
    expect(await get(waits.options({ maxRetries: 1 }).remote(file), { timeoutMs: 30_000 })).toBe(TaskTimeoutError.name);
    expect(linesOf(file).length).toBe(2);
  });
});

describe.skipIf(WITHOUT_PYTHON !== undefined)(`with waitingProcessesPerCpu: 0, in Python${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 1, waitingProcessesPerCpu: 0 });

  test("the death of a child counts as no attempt of its parent", async () => {
    const call = python.task<(...args: unknown[]) => unknown>(new URL("python/own_process.py", import.meta.url), "dies_sometimes", {
      maxRetries: 1,
    });
    const file = newFile();
    expect(await get(call.remote(file, 3))).toBe("done");
    expect(linesOf(file).filter((line) => line === "parent").length).toBe(4);
    const error = await failureOf(call.options({ maxRetries: 0 }).remote(newFile(), 1));
    expect(error.message).toContain("as task _dies ran in the process that both shared");
  });
});
