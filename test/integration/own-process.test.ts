/**
 * A task that waits has its process for itself: its children's deaths, computing and changes of global state do not reach it.
 */
import { once } from "node:events";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { get, OutOfMemoryError, python, remote, TaskTimeoutError, WorkerCrashedError } from "shoal";
import * as data from "shoal/data";
import { DataParallelTrainer, report } from "shoal/train";
import { gridSearch, Tuner } from "shoal/tune";
import { describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { shoalProcesses, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();

type Death = "SIGKILL" | "exit" | "abort" | "heap";

/** A heap that is full in a moment. */
const SMALL_HEAP = { execArgv: ["--max-old-space-size=60"] };

const dies = remote((how: Death): number => {
  if (how === "SIGKILL") process.kill(process.pid, "SIGKILL");
  if (how === "exit") process.exit(3);
  if (how === "heap") {
    const kept: number[][] = [];
    for (;;) kept.push(Array.from({ length: 1e6 }, () => 1.5));
  }
  process.abort();
});

const computes = remote((ms: number): number => {
  const endMs = Date.now() + ms;
  while (Date.now() < endMs);
  return process.pid;
});

const pidOf = remote(() => process.pid);

describe.each([1, 2])("on %i CPUs, a task that awaits a child", (numCpus) => {
  useSession({ numCpus });

  test.each<Death>(["SIGKILL", "exit", "abort", "heap"])("catches that its process ended by %s, and is not run again", async (how) => {
    const parent = remote(async (death: Death): Promise<string[]> => {
      const pid = process.pid;
      const error = await get(dies.options({ maxRetries: 0 }).remote(death)).catch((reason: Error) => reason);
      if (typeof error === "number") throw new Error("the child has ended");
      return [error.name, String(process.pid === pid)];
    });
    const options = { maxRetries: 0, ...(how === "heap" && { runtimeEnv: SMALL_HEAP }) };
    // To fill a heap takes seconds.
    const count = how === "heap" ? 2 : 4;
    const results = await get(Array.from({ length: count }, () => parent.options(options).remote(how)));
    const expected = how === "heap" ? OutOfMemoryError.name : WorkerCrashedError.name;
    expect(results).toEqual(Array.from({ length: count }, () => [expected, "true"]));
  });

  test("goes on with its timers and sockets while the child computes", async () => {
    const parent = remote(async (): Promise<[number, number, boolean]> => {
      let [ticks, echoes] = [0, 0];
      const server = createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const client = connect(port, "127.0.0.1", () => client.write("."));
      client.on("data", () => {
        echoes += 1;
      });
      const timer = setInterval(() => {
        ticks += 1;
        client.write(".");
      }, 20);
      const child = await computes.remote(1000);
      clearInterval(timer);
      client.destroy();
      server.close();
      return [ticks, echoes, child === process.pid];
    });
    const [ticks, echoes, isSame] = await parent.remote();
    expect(isSame).toBe(false);
    // 50 where nothing else runs on the machine; none on a shared event loop.
    expect(ticks).toBeGreaterThan(10);
    expect(echoes).toBeGreaterThan(10);
  });

  test("has a deadline for a child that computes without end", async () => {
    const parent = remote(async (): Promise<string> => {
      const error = await get(computes.options({ timeoutMs: 500, maxRetries: 0 }).remote(1e9)).catch((reason: Error) => reason);
      return typeof error === "number" ? "the child has ended" : error.name;
    });
    expect(await get(parent.remote(), { timeoutMs: 20_000 })).toBe(TaskTimeoutError.name);
    // The CPU is free again.
    expect(await get(pidOf.remote(), { timeoutMs: 20_000 })).toBeGreaterThan(0);
  });

  test("keeps its working directory, its environment and its globals", async () => {
    const changes = remote((directory: string) => {
      process.chdir(directory);
      process.env["OWN_PROCESS"] = "child";
      (globalThis as Record<string, unknown>)["ownProcess"] = "child";
    });
    const parent = remote(async (directory: string): Promise<unknown[]> => {
      const before = process.cwd();
      delete process.env["OWN_PROCESS"];
      delete (globalThis as Record<string, unknown>)["ownProcess"];
      await changes.remote(directory);
      return [process.cwd() === before, process.env["OWN_PROCESS"], (globalThis as Record<string, unknown>)["ownProcess"]];
    });
    expect(await parent.remote(folder)).toEqual([true, undefined, undefined]);
  });

  test("shares its process with no task of the driver", async () => {
    const waits = remote(async (file: string): Promise<void> => {
      while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
    });
    const parent = remote(async (begun: string, gate: string): Promise<number> => {
      const child = waits.options({ numCpus: 0 }).remote(gate);
      writeFileSync(begun, "");
      await child;
      return process.pid;
    });
    const [begun, gate] = [join(folder, `begun-${numCpus}`), join(folder, `gate-${numCpus}`)];
    const pid = parent.remote(begun, gate);
    await until(() => existsSync(begun), "the parent to begin");
    const others = await get(Array.from({ length: 50 }, () => pidOf.remote()));
    writeFileSync(gate, "");
    expect(others).not.toContain(await pid);
  });
});

describe.skipIf(WITHOUT_PYTHON !== undefined)(`on one CPU, a task of Python that waits for a child${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 1 });
  const call = async (name: string, ...args: unknown[]): Promise<unknown> =>
    await python
      .task<(...values: unknown[]) => unknown>(new URL("python/own_process.py", import.meta.url), name, { maxRetries: 0 })
      .remote(...args);

  test("may hold a lock that the child takes", async () => {
    expect(await call("locked")).toBe("taken");
  });

  test("keeps its working directory, its environment, its random numbers and its globals", async () => {
    expect(await call("kept", folder)).toEqual([true, null, true, false]);
  });

  test("catches that the child's process ended", async () => {
    expect(await call("survives")).toBeGreaterThan(0);
  });

  test("waits no longer than it says", async () => {
    for (const seconds of (await call("timed_out")) as number[]) expect(seconds).toBeLessThan(3);
  });
});

describe("one CPU is enough for", () => {
  useSession({ numCpus: 1 });

  test("a step of a dataset that awaits tasks", async () => {
    const double = remote((n: number) => 2 * n);
    const rows = await data
      .range(4)
      .map(async ({ id }) => ({ doubled: await double.remote(id) }))
      .takeAll();
    expect(rows.map(({ doubled }) => doubled)).toEqual([0, 2, 4, 6]);
  });

  const quadruple = remote(async (n: number): Promise<number> => 2 * (await remote((m: number) => 2 * m).remote(n)));

  test("a trial that awaits tasks, which await others", async () => {
    const trainable = async ({ n }: { n: number }): Promise<{ score: number }> => ({ score: await quadruple.remote(n) });
    const options = { paramSpace: { n: gridSearch([1, 2, 3]) }, runConfig: { storagePath: folder, name: "trials" } };
    const results = await new Tuner(trainable, options).fit();
    expect(Array.from(results, ({ metrics }) => metrics?.score)).toEqual([4, 8, 12]);
  });

  test("a rank that awaits tasks", async () => {
    const trainer = new DataParallelTrainer({
      trainLoopPerWorker: async () => await report({ score: await quadruple.remote(4) }),
      scalingConfig: { numWorkers: 1 },
      runConfig: { storagePath: folder, name: "rank" },
    });
    expect((await trainer.fit()).metrics).toEqual({ score: 16 });
  });
});

describe("with waitingProcessesPerCpu: 0", () => {
  useSession({ numCpus: 1, waitingProcessesPerCpu: 0 });
  const callsAnother = remote(async (n: number): Promise<number> => await remote((m: number) => 2 * m).remote(n));

  test("a task calls another although an earlier one has removed the working directory of the process", async () => {
    const removed = join(folder, "removed");
    await remote((directory: string) => {
      mkdirSync(directory);
      process.chdir(directory);
      rmdirSync(directory);
    }).remote(removed);
    expect(await callsAnother.remote(2)).toBe(4);
  });

  test("a task calls tasks and actors although an earlier one has frozen the intrinsics of the process", async () => {
    class Doubling {
      double(n: number): number {
        return 2 * n;
      }
    }
    const callsActor = remote(async (n: number): Promise<number> => await remote(Doubling, { numCpus: 0 }).remote().double.remote(n));
    await remote(() => {
      for (const intrinsic of [Object, Array, Function, Promise, Map, Set]) Object.freeze(intrinsic.prototype);
    }).remote();
    expect([await callsAnother.remote(2), await callsActor.remote(3)]).toEqual([4, 6]);
  });

  test("a child shares the process of the task that awaits it", async () => {
    const parent = remote(async (): Promise<boolean> => (await pidOf.remote()) === process.pid);
    expect(await parent.remote()).toBe(true);
    expect(shoalProcesses({ kind: "worker" }).length).toBeLessThanOrEqual(1);
  });
});

describe("one level of nesting on two CPUs", () => {
  useSession({ numCpus: 2 });

  test("needs at most two processes more", async () => {
    await get([pidOf.remote(), pidOf.remote()]);
    const parent = remote(async () => await get([computes.remote(50), computes.remote(50)]));
    for (let round = 0; round < 3; round += 1) await get([parent.remote(), parent.remote()]);
    expect(shoalProcesses({ kind: "worker" }).length).toBeLessThanOrEqual(4);
  });

  test("ends the processes in excess after a while", { timeout: 60_000 }, async () => {
    await until(() => shoalProcesses({ kind: "worker" }).length <= 2, "idle workers in excess to end");
    expect(await pidOf.remote()).toBeGreaterThan(0);
  });
});
