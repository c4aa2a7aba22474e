/**
 * Tasks and actors that use more memory than they may, or than the machine has: they are ended, told apart from other failures, and run again where that helps.
 * The machine of these tests is a pretended one.
 */
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, init, put, remote, shutdown } from "shoal";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

const MEGABYTE = 1_000_000;
/** A task that is to be ended keeps its memory until its end. */
const FOR_EVER_MS = 600_000;
const folder = useFolder();

/** Takes so much memory in steps that the node can see, and keeps it for a while. */
const fill = async (megabytes: number, keptMs: number): Promise<number> => {
  const kept: Uint8Array[] = [];
  for (let taken = 0; taken < megabytes; taken += 20) {
    kept.push(new Uint8Array(20_000_000).fill(1));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await new Promise((resolve) => setTimeout(resolve, keptMs));
  return kept.length;
};

describe("memoryBytes", () => {
  useSession({ numCpus: 2 });

  test("ends a task that uses more, and says how much it used and who else uses memory", async () => {
    const greedy = remote(fill, { memoryBytes: 50 * MEGABYTE, maxRetries: 0 });
    const failure = await failureOf(greedy.remote(400, FOR_EVER_MS));
    expect(failure).toMatchObject({
      name: "OutOfMemoryError",
      code: "OUT_OF_MEMORY",
      reason: expect.stringMatching(/it used \d+ MB of memory, and may use \d+ MB by its memoryBytes/),
      details: { usedBytes: expect.any(Number), limitBytes: expect.any(Number) },
    });
    expect(failure.message).toMatch(/\d+ MB {2}pid \d+ {2}worker with tasks/);
    expect(failure.message).toContain("the driver");
  });

  test("lets a task be that stays below, whatever its worker did before", async () => {
    expect(await remote(fill).remote(100, 0)).toBe(5);
    expect(await remote(fill, { memoryBytes: 300 * MEGABYTE }).remote(100, 600)).toBe(5);
  });

  test("is a failure of the worker: the task has its maxRetries", async () => {
    const log = new Log(folder);
    const greedy = remote(
      async (file: string) => {
        appendFileSync(file, "run\n");
        return fill(400, FOR_EVER_MS);
      },
      { memoryBytes: 50 * MEGABYTE, maxRetries: 1 },
    );
    expect((await failureOf(greedy.remote(log.file))).name).toBe("OutOfMemoryError");
    expect(log.lines).toEqual(["run", "run"]);
  });

  test("ends an actor that uses more", async () => {
    class Greedy {
      small(): number {
        return 1;
      }
      fill(megabytes: number): Promise<number> {
        return fill(megabytes, FOR_EVER_MS);
      }
    }
    const actor = remote(Greedy, { memoryBytes: 50 * MEGABYTE }).remote();
    expect(await actor.small.remote()).toBe(1);
    const failure = await failureOf(actor.fill.remote(400));
    expect(failure).toMatchObject({ name: "OutOfMemoryError", reason: expect.stringMatching(/by its memoryBytes/) });
    expect(failure.message).toContain("actor Greedy");
    expect((await failureOf(actor.small.remote())).name).toBe("ActorDiedError");
  });

  test("does not count what is mapped from the object store", async () => {
    const ref = put(new Uint8Array(200 * MEGABYTE).fill(1));
    const sum = remote(
      async (bytes: Uint8Array) => {
        let total = 0;
        for (let at = 0; at < bytes.length; at += 4096) total += bytes[at] as number;
        await new Promise((resolve) => setTimeout(resolve, 600));
        return total;
      },
      { memoryBytes: 40 * MEGABYTE, maxRetries: 0 },
    );
    expect(await sum.remote(ref)).toBe(Math.ceil((200 * MEGABYTE) / 4096));
  });
});

describe("a machine that is nearly full", () => {
  beforeAll(() => {
    process.env["SHOAL_TEST_MEMORY_BYTES"] = String(400 * MEGABYTE);
  });
  afterAll(() => {
    delete process.env["SHOAL_TEST_MEMORY_BYTES"];
  });
  afterEach(shutdown);

  test("runs tasks again that were ended, and all of them come to an end", async () => {
    await init({ numCpus: 2, logToDriver: false, memoryUsageThreshold: 0.8 });
    // Together they do not fit.
    const both = [remote(fill).remote(200, 600), remote(fill).remote(200, 600)];
    expect(await get(both)).toEqual([10, 10]);
  });

  test("fails a task at last that never fits, and names the numbers", async () => {
    await init({ numCpus: 1, logToDriver: false, memoryUsageThreshold: 0.5, taskOomRetries: 1 });
    const log = new Log(folder);
    const greedy = remote(async (file: string) => {
      appendFileSync(file, "run\n");
      return fill(300, FOR_EVER_MS);
    });
    const failure = await failureOf(greedy.remote(log.file));
    expect(failure).toMatchObject({
      name: "OutOfMemoryError",
      reason: expect.stringMatching(/used [\d.]+ % of its memory .*the limit is 50 %/),
    });
    expect(log.lines).toEqual(["run", "run"]);
    expect(await remote(() => 1).remote()).toBe(1);
  });

  test("does not repeat what may not run twice", async () => {
    await init({ numCpus: 1, logToDriver: false, memoryUsageThreshold: 0.5 });
    expect((await failureOf(remote(fill, { maxRetries: 0 }).remote(300, FOR_EVER_MS))).name).toBe("OutOfMemoryError");
  });

  test("ends a task that may run again rather than one that may not, although that is newer", async () => {
    await init({ numCpus: 2, logToDriver: false, memoryUsageThreshold: 0.8 });
    const log = new Log(folder);
    const done = join(folder, "once-is-done");
    const again = remote(async (file: string, end: string) => {
      appendFileSync(file, `${process.pid}\n`);
      const kept = [];
      for (let taken = 0; taken < 120; taken += 20) kept.push(new Uint8Array(20_000_000).fill(1));
      while (!existsSync(end)) await new Promise((resolve) => setTimeout(resolve, 20));
      return kept.length;
    });
    const first = again.remote(log.file, done);
    await until(() => log.lines.length === 1, "the first task to run");
    // Keeps its memory until the other has lost its process.
    const once = remote(
      async (other: number) => {
        const kept = [];
        for (let taken = 0; taken < 220; taken += 20) kept.push(new Uint8Array(20_000_000).fill(1));
        while (existsSync(`/proc/${other}`)) await new Promise((resolve) => setTimeout(resolve, 20));
        return kept.length;
      },
      { maxRetries: 0 },
    );
    expect(await once.remote(Number(log.lines[0]))).toBe(11);
    writeFileSync(done, "");
    expect(await first).toBe(6);
    expect(log.lines.length).toBeGreaterThan(1);
  });

  test("ends a task rather than an actor", async () => {
    await init({ numCpus: 2, logToDriver: false, memoryUsageThreshold: 0.8, taskOomRetries: 0 });
    class Keeper {
      #kept: Uint8Array | undefined;
      keep(): number {
        this.#kept ??= new Uint8Array(150_000_000).fill(1);
        return this.#kept.length;
      }
    }
    const keeper = remote(Keeper).remote();
    await keeper.keep.remote();
    expect((await failureOf(remote(fill).remote(260, FOR_EVER_MS))).name).toBe("OutOfMemoryError");
    expect(await keeper.keep.remote()).toBe(150_000_000);
  });
});
