/**
 * Retries of a task: which failures, how often and when; dead workers by `maxRetries`, thrown errors by `retryOn`.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, remote, TaskError, WorkerCrashedError } from "shoal";
import { describe, expect, test } from "vitest";
import { failureOf, Log, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

let marks = 0;
function newMark(): string {
  marks += 1;
  return join(folder, `mark-${marks}`);
}

/** Ends its process the first time that it runs for a mark. */
const dieOnce = remote((mark: string, how: string) => {
  if (existsSync(mark)) return "survived";
  writeFileSync(mark, "");
  if (how === "exit") process.exit(7);
  process.kill(process.pid, how);
  return "not reached";
});

/** Throws until it has run so often. */
const failTimes = remote((file: string, times: number, kind: "range" | "type") => {
  appendFileSync(file, `${Date.now()}\n`);
  const runs = readFileSync(file, "utf8").split("\n").length - 1;
  if (runs <= times) throw kind === "range" ? new RangeError(`run ${runs}`) : new TypeError(`run ${runs}`);
  return runs;
});

describe("a worker that dies under a task", () => {
  test.each(["SIGKILL", "SIGSEGV", "exit"])("%s: the task is run again, elsewhere", async (how) => {
    expect(await dieOnce.remote(newMark(), how)).toBe("survived");
  });

  test("maxRetries: 0 gives the cause: signal, process and what to do", async () => {
    const failure = (await failureOf(dieOnce.options({ maxRetries: 0 }).remote(newMark(), "SIGKILL"))) as WorkerCrashedError;
    expect(failure).toBeInstanceOf(WorkerCrashedError);
    expect(failure).toMatchObject({ signal: "SIGKILL", pid: expect.any(Number), hint: expect.any(String) });
  });

  test("process.exit gives its exit code", async () => {
    const failure = await failureOf(dieOnce.options({ maxRetries: 0 }).remote(newMark(), "exit"));
    expect(failure).toBeInstanceOf(WorkerCrashedError);
    expect(failure).toMatchObject({ exitCode: 7 });
  });

  test("after maxRetries runs more it is given up", async () => {
    const log = new Log(folder);
    const file = log.file;
    const alwaysDie = remote(
      () => {
        appendFileSync(file, "run\n");
        process.kill(process.pid, "SIGKILL");
      },
      { maxRetries: 2 },
    );
    expect(await failureOf(alwaysDie.remote())).toBeInstanceOf(WorkerCrashedError);
    expect(log.lines).toHaveLength(3);
  });

  test("tasks that waited behind it are not lost and use up no retry", async () => {
    const quick = remote((value: number) => value * 2, { maxRetries: 0 });
    // No worker has run this one, so the answers before it leave first: where a function is known to be short they may be lost with the worker.
    const dieFirst = remote((mark: string) => {
      if (existsSync(mark)) return "survived";
      writeFileSync(mark, "");
      process.kill(process.pid, "SIGKILL");
      return "not reached";
    });
    await get(Array.from({ length: 50 }, (_, value) => quick.remote(value)));
    const before = Array.from({ length: 50 }, (_, value) => quick.remote(value));
    const dying = dieFirst.remote(newMark());
    const after = Array.from({ length: 50 }, (_, value) => quick.remote(value));
    expect(await dying).toBe("survived");
    const expected = Array.from({ length: 50 }, (_, value) => value * 2);
    const ended = await Promise.allSettled([get(before), get(after)]);
    expect(ended.map((each) => each.status)).toEqual(["fulfilled", "fulfilled"]);
    expect(await get(after)).toEqual(expected);
  });
});

describe("a task that throws", () => {
  test("is not run again by default", async () => {
    const log = new Log(folder);
    const failure = await failureOf(failTimes.remote(log.file, 1, "range"));
    expect(failure).toBeInstanceOf(TaskError);
    expect(log.lines).toHaveLength(1);
  });

  test("retryOn: true runs it again until it succeeds", async () => {
    expect(await failTimes.options({ retryOn: true }).remote(new Log(folder).file, 2, "range")).toBe(3);
  });

  test("the last failure is given once maxRetries is used up", async () => {
    const log = new Log(folder);
    const failure = await failureOf(failTimes.options({ retryOn: true, maxRetries: 2 }).remote(log.file, 9, "range"));
    expect((failure.cause as Error).message).toBe("run 3");
    expect(log.lines).toHaveLength(3);
  });

  test("retryOn with classes accepts those and no others", async () => {
    const onRange = failTimes.options({ retryOn: [RangeError] });
    expect(await onRange.remote(new Log(folder).file, 1, "range")).toBe(2);
    const log = new Log(folder);
    expect((await failureOf(onRange.remote(log.file, 1, "type"))).cause).toBeInstanceOf(TypeError);
    expect(log.lines).toHaveLength(1);
  });

  test("retryOn with a class of the user's accepts its instances", async () => {
    class Busy extends Error {
      readonly afterMs = 5;
    }
    const log = new Log(folder);
    const file = log.file;
    const busyOnce = remote(
      () => {
        appendFileSync(file, "run\n");
        if (readFileSync(file, "utf8").length < 5) throw new Busy("later");
        return "done";
      },
      { retryOn: [Busy] },
    );
    expect(await busyOnce.remote()).toBe("done");
  });

  test("retryOn with a predicate is asked in the caller, with what was thrown", async () => {
    const asked: unknown[] = [];
    const twice = failTimes.options({
      retryOn: (error) => {
        asked.push(error);
        return (error as Error).message !== "run 2";
      },
    });
    const failure = await failureOf(twice.remote(new Log(folder).file, 9, "range"));
    expect((failure.cause as Error).message).toBe("run 2");
    expect(asked.map((error) => (error as Error).message)).toEqual(["run 1", "run 2"]);
    expect(asked[0]).toBeInstanceOf(RangeError);
  });

  test("a predicate that throws ends the task with the task's failure", async () => {
    const broken = failTimes.options({
      retryOn: () => {
        throw new Error("broken predicate");
      },
    });
    const failure = await failureOf(broken.remote(new Log(folder).file, 9, "range"));
    expect((failure.cause as Error).message).toBe("run 1");
  });

  test("retryDelayMs passes before each further run", async () => {
    const log = new Log(folder);
    await failTimes.options({ retryOn: true, retryDelayMs: 60 }).remote(log.file, 2, "range");
    const times = log.lines.map(Number);
    // A timer may fire up to a millisecond early.
    for (let run = 1; run < times.length; run += 1) expect((times[run] as number) - (times[run - 1] as number)).toBeGreaterThanOrEqual(58);
  });

  test("arguments are kept for the next run, refs and large ones too", async () => {
    const mark = newMark();
    const measure = remote((file: string, bytes: Uint8Array, inner: { ref: PromiseLike<string> }) => {
      if (!existsSync(file)) {
        writeFileSync(file, "");
        process.kill(process.pid, "SIGKILL");
      }
      return inner.ref.then((text) => `${bytes.length} ${text}`);
    });
    const text = remote(() => "inner");
    expect(await measure.remote(mark, new Uint8Array(300_000), { ref: text.remote() })).toBe("300000 inner");
  });
});
