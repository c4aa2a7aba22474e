/**
 * Answers from before a process's end reach the caller, however the process ends: answers of tasks and actors, items of streams, objects.
 * Nothing that had ended fails or runs again.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, put, remote, type ObjectRef } from "shoal";
import { describe, expect, test } from "vitest";
import { collectGarbage, driverRuntime, failureOf, shoalProcesses, until, useFolder, useSession } from "./session.ts";

/** Ways in which a process ends. */
const ENDS = {
  exit: () => process.exit(3),
  kill: () => {
    process.kill(process.pid, "SIGKILL");
    for (;;);
  },
  abort: () => process.abort(),
  uncaught: () => {
    process.nextTick(() => {
      throw new Error("nobody catches this");
    });
  },
  heap: () => {
    const full: unknown[] = [];
    for (;;) full.push(Array.from({ length: 100_000 }, (_, index) => ({ index })));
  },
} as const;
type End = keyof typeof ENDS;
const WAYS = Object.keys(ENDS) as End[];

/** A heap that is full in a moment. */
const SMALL_HEAP = { runtimeEnv: { execArgv: ["--max-old-space-size=48"] } };
const environmentFor = (way: End): typeof SMALL_HEAP | undefined => (way === "heap" ? SMALL_HEAP : undefined);

const folder = useFolder();
useSession({ numCpus: 2 });

let files = 0;
const newFile = (): string => {
  files += 1;
  const file = join(folder, `ran-${files}`);
  writeFileSync(file, "");
  return file;
};
/** How often each number was noted. */
function runs(file: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of readFileSync(file, "utf8").split("\n").slice(0, -1)) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

describe("quick tasks beside one that ends its worker", () => {
  test.each(WAYS)("%s: it alone fails, and none runs twice", async (way) => {
    const [last, count] = [39, 2000];
    const file = newFile();
    const end = ENDS[way];
    const task = remote(
      (index: number): number => {
        if (index === last) {
          end();
          return -1;
        }
        appendFileSync(file, `${index}\n`);
        return index;
      },
      { maxRetries: 0, ...environmentFor(way) },
    );
    const outcomes = await Promise.allSettled(Array.from({ length: count }, (_, index) => task.remote(index)));
    const failed = outcomes.flatMap(({ status }, index) => (status === "rejected" ? [index] : []));
    // An uncaught error ends the process a tick later: by then the task has ended.
    expect(failed.filter((index) => index !== last)).toEqual([]);
    expect(
      outcomes.flatMap((outcome, index) => (outcome.status === "fulfilled" && outcome.value !== index && index !== last ? [index] : [])),
    ).toEqual([]);
    const counts = runs(file);
    expect(counts.size).toBe(count - 1);
    expect([...counts].filter(([, times]) => times > 1)).toEqual([]);
  });

  test("with retries it runs again, and nothing that had ended does", async () => {
    const file = newFile();
    const task = remote((index: number): number => {
      if (index === 39 && !existsSync(`${file}-ended`)) {
        writeFileSync(`${file}-ended`, "");
        process.kill(process.pid, "SIGKILL");
        for (;;);
      }
      appendFileSync(file, `${index}\n`);
      return index;
    });
    const values = await Promise.all(Array.from({ length: 2000 }, (_, index) => task.remote(index)));
    expect(values).toEqual(Array.from({ length: 2000 }, (_, index) => index));
    expect([...runs(file)].filter(([, times]) => times > 1)).toEqual([]);
  });
});

class Counter {
  #file: string;
  constructor(file: string) {
    this.#file = file;
  }
  call(index: number, way?: End | "once"): number {
    if (way === "once" && !existsSync(`${this.#file}-ended`)) {
      writeFileSync(`${this.#file}-ended`, "");
      process.kill(process.pid, "SIGKILL");
      for (;;);
    }
    if (way !== undefined && way !== "once") ENDS[way]();
    appendFileSync(this.#file, `${index}\n`);
    return index;
  }
}

describe("calls of an actor, the 501st of which is its end", () => {
  test.each(WAYS)("%s: those before have their answers", async (way) => {
    const file = newFile();
    const actor = remote(Counter, environmentFor(way)).remote(file);
    await actor.call.remote(-1);
    const calls = Array.from({ length: 1000 }, (_, index) => actor.call.remote(index, index === 500 ? way : undefined));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.slice(0, 500).map((outcome) => (outcome.status === "fulfilled" ? outcome.value : outcome.reason))).toEqual(
      Array.from({ length: 500 }, (_, index) => index),
    );
    expect([...runs(file)].filter(([, times]) => times > 1)).toEqual([]);
    // An uncaught error ends the process in the next tick: by then the others may have run.
    if (way !== "uncaught") expect((await failureOf(calls[500] as PromiseLike<unknown>)).code).toMatch(/ACTOR_DIED|OUT_OF_MEMORY/);
  });

  test("with restarts and retries no call that had ended runs again", async () => {
    const file = newFile();
    const actor = remote(Counter).options({ maxRestarts: 1, maxTaskRetries: 1 }).remote(file);
    await actor.call.remote(-1);
    const calls = Array.from({ length: 1000 }, (_, index) => actor.call.remote(index, index === 500 ? "once" : undefined));
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 1000 }, (_, index) => index));
    expect([...runs(file)].filter(([, times]) => times > 1)).toEqual([]);
    expect(runs(file).size).toBe(1001);
  });
});

describe("a stream whose process ends", () => {
  test.each(WAYS)("%s: gives all items that it had yielded", async (way) => {
    const end = ENDS[way];
    const items = remote(
      function* (): Generator<number> {
        for (let index = 0; index < 100; index += 1) yield index;
        end();
        // An uncaught error ends the process in the next tick.
        yield 100;
        yield 101;
      },
      { maxRetries: 0, ...environmentFor(way) },
    );
    const received: number[] = [];
    const failure = await (async () => {
      for await (const item of items.remote()) received.push(item);
      return undefined;
    })().catch((error: unknown) => error);
    expect(received.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, index) => index));
    if (way !== "uncaught") expect((failure as { code?: string } | undefined)?.code).toMatch(/WORKER_CRASHED|OUT_OF_MEMORY/);
  });
});

describe("objects in answers of a process that ends", () => {
  interface Made {
    large: Uint8Array;
    ref: ObjectRef<Uint8Array>;
    small: ObjectRef<string>;
  }

  test.each(["exit", "kill", "abort", "heap"] as const)("%s: can be read for as long as they are held", async (way) => {
    class Maker {
      make(index: number): Made {
        return { large: new Uint8Array(200_000).fill(index), ref: put(new Uint8Array(300_000).fill(index)), small: put(`small ${index}`) };
      }
      end(how: End): void {
        ENDS[how]();
      }
    }
    const maker = remote(Maker, environmentFor(way)).remote();
    await maker.make.remote(0);
    const calls = Array.from({ length: 20 }, (_, index) => maker.make.remote(index));
    const end = maker.end.remote(way);
    const made = await Promise.all(calls);
    expect((await failureOf(end)).code).toBe(way === "heap" ? "OUT_OF_MEMORY" : "ACTOR_DIED");
    await collectGarbage();
    for (const [index, { large, ref, small }] of made.entries()) {
      expect([large[199_999], large.length]).toEqual([index, 200_000]);
      const bytes = await get(ref);
      expect([bytes[299_999], bytes.length]).toEqual([index, 300_000]);
      expect(await get(small)).toBe(`small ${index}`);
    }
  });
});

test("without the native part they are handed over where the process hears of its end", async () => {
  const native = { runtimeEnv: { envVars: { SHOAL_NATIVE: "0" } } };
  for (const way of ["exit", "uncaught"] as const) {
    const actor = remote(Counter, native).remote(newFile());
    await actor.call.remote(-1);
    const calls = Array.from({ length: 1000 }, (_, index) => actor.call.remote(index, index === 500 ? way : undefined));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.slice(0, 500).every(({ status }) => status === "fulfilled")).toBe(true);
    expect(outcomes.some(({ status }) => status === "rejected")).toBe(way === "exit");
  }
});

test("nothing is left of the outboxes of workers that have ended", async () => {
  const { memoryDirectory } = driverRuntime().options;
  const outboxes = (): string[] => readdirSync(memoryDirectory).filter((name) => name.startsWith("out-"));
  await until(() => outboxes().length === shoalProcesses({ kind: "worker" }).length, "each worker, and nobody else, to have an outbox");
});
