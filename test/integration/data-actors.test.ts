/**
 * Classes as transforms: pools of real actors, their state, their size, their deaths and their ends.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { ActorDiedError, SerializationError, TaskError } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { failureOf, isAlive, Log, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Writes the process of each instance, and says in each row how many its instance has had. */
class Numbering {
  #rows = 0;

  constructor(log: string) {
    appendFileSync(log, `${process.pid}\n`);
  }

  call({ id }: { id: number }) {
    this.#rows += 1;
    return { id, pid: process.pid, row: this.#rows };
  }
}

/** Takes some time for each batch, and for the first one as long as there are not so many instances. */
class Slow {
  readonly #log: string;
  readonly #ms: number;
  readonly #instances: number;

  constructor(log: string, ms: number, instances = 1) {
    appendFileSync(log, `${process.pid}\n`);
    this.#log = log;
    this.#ms = ms;
    this.#instances = instances;
  }

  async call(batch: data.Batch<{ id: number }>) {
    // The first one to be there could take all blocks before the others are.
    while (readFileSync(this.#log, "utf8").split("\n").length <= this.#instances) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, this.#ms));
    return { id: batch.id, pid: Float64Array.from(batch.id, () => process.pid) };
  }
}

/** Is killed at some rows: as long as its file is not there, or each time. */
class Mortal {
  readonly #file: string | undefined;

  constructor(file?: string) {
    this.#file = file;
  }

  async call({ id }: { id: number }) {
    if (id === 700 && (this.#file === undefined || !existsSync(this.#file))) {
      if (this.#file !== undefined) writeFileSync(this.#file, "");
      process.kill(process.pid, "SIGKILL");
      await new Promise(() => {});
    }
    return { id };
  }
}

/** Gives separate blocks, and is killed behind the third the first time. */
class MortalStream {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  async *call(batch: data.Batch<{ id: number }>) {
    const first = batch.id[0] as number;
    for (let part = 0; part < 5; part += 1) {
      yield { first: new Float64Array(200_000).fill(first), part: new Float64Array(200_000).fill(part) };
      if (part !== 2 || existsSync(this.#file)) continue;
      await new Promise((resolve) => setTimeout(resolve, 200));
      writeFileSync(this.#file, "");
      process.kill(process.pid, "SIGKILL");
    }
  }
}

class Unmakeable {
  constructor() {
    throw new RangeError("no model here");
  }

  call(row: { id: number }) {
    return row;
  }
}

class Refusing {
  call({ id }: { id: number }) {
    if (id === 5) throw new RangeError("not five");
    return { id };
  }
}

/** Expects that the processes in a log have ended. */
function expectEnded(log: Log): void {
  expect(log.lines).not.toEqual([]);
  expect(log.lines.map(Number).filter(isAlive)).toEqual([]);
}

describe("on two CPUs", () => {
  useSession({ numCpus: 2 });

  test("an instance is made once and keeps its state, and rows keep their order", async () => {
    const log = new Log(folder);
    const rows = await data
      .range(2000)
      .map(Numbering, { constructorArgs: [log.file], concurrency: 1 })
      .takeAll();
    expect(rows.map(({ id }) => id)).toEqual(upTo(2000));
    expect(rows.map(({ row }) => row)).toEqual(upTo(2000).map((i) => i + 1));
    expect(log.lines).toEqual([String(rows[0]?.pid)]);
    expectEnded(log);
  });

  test("two actors beside a read, on two CPUs, are both fed", async () => {
    const log = new Log(folder);
    const slow = data.range(800).mapBatches(Slow, { constructorArgs: [log.file, 30, 2], batchSize: 50, concurrency: 2 });
    const rows = await slow.takeAll();
    expect(rows.map(({ id }) => id)).toEqual(upTo(800));
    expect(new Set(rows.map(({ pid }) => String(pid)))).toEqual(new Set(log.lines));
    expect(log.lines).toHaveLength(2);
    expectEnded(log);
  });

  test("the rows of one small file are cut for all actors and tasks, in whole batches and in their order", async () => {
    const log = new Log(folder);
    const file = join(folder, "one.csv");
    writeFileSync(file, `id\n${upTo(1000).join("\n")}\n`);
    const read = data.readCsv<{ id: number }>(file);
    const slow = read.mapBatches(Slow, { constructorArgs: [log.file, 50, 2], batchSize: 100, concurrency: 2 });
    const rows = await slow.takeAll();
    expect(rows.map(({ id }) => id)).toEqual(upTo(1000));
    expect(new Set(rows.map(({ pid }) => pid)).size).toBe(2);
    expectEnded(log);
    const sizes = read.mapBatches(({ id }) => ({ rows: [id.length] }), { batchSize: 100, concurrency: 2 });
    expect((await sizes.takeAll()).map(({ rows: size }) => size)).toEqual(Array.from({ length: 10 }, () => 100));
    const mapped = read.map(({ id }) => ({ id }), { concurrency: 2 });
    expect((await mapped.takeAll()).map(({ id }) => id)).toEqual(upTo(1000));
    // Two for each that may run; one where no more than one may.
    for (const dataset of [slow, sizes, mapped]) expect((await dataset.stats())?.operators.at(-1)?.tasks).toBe(4);
    const alone = read.map(({ id }) => ({ id }), { concurrency: 1 });
    expect(await alone.count()).toBe(1000);
    expect((await alone.stats())?.operators.at(-1)?.tasks).toBe(1);
  });

  test("a pool grows while blocks wait, and no further than its largest size", async () => {
    const log = new Log(folder);
    const options = { constructorArgs: [log.file, 30, 2], batchSize: 20, concurrency: { min: 1, max: 3 }, numCpus: 0.25 } as const;
    const rows = await data
      .fromItems(upTo(800).map((id) => ({ id })))
      .mapBatches(Slow, options)
      .takeAll();
    expect(rows.map(({ id }) => id)).toEqual(upTo(800));
    expect(log.lines.length).toBeGreaterThan(1);
    expect(log.lines.length).toBeLessThanOrEqual(3);
    expectEnded(log);
  });

  test("flatMap and filter take classes, one pool feeds another, and functions behind them run in tasks", async () => {
    class Twice {
      *call({ id }: { id: number }) {
        yield { id, copy: 0 };
        yield { id, copy: 1 };
      }
    }
    class Even {
      async call({ id }: { id: number }) {
        return id % 2 === 0;
      }
    }
    const pipeline = data
      .range(100)
      .flatMap(Twice, { concurrency: 1 })
      .filter(Even, { concurrency: 1 })
      .map(({ id }) => ({ half: id / 2 }));
    expect((await pipeline.takeAll()).map(({ half }) => half)).toEqual(upTo(50).flatMap((half) => [half, half]));
  });

  test("an actor that is killed is replaced, and no row is lost or given twice", async () => {
    const mortal = data.range(1000).map(Mortal, { constructorArgs: [join(folder, "killed")], concurrency: 2 });
    expect((await mortal.takeAll()).map(({ id }) => id)).toEqual(upTo(1000));
    expect(existsSync(join(folder, "killed"))).toBe(true);
  });

  test("blocks that a call gave before its actor was killed are not given twice", async () => {
    const stream = data
      .fromItems([{ id: 1 }, { id: 2 }])
      .mapBatches(MortalStream, { constructorArgs: [join(folder, "streamed")], concurrency: 1 });
    const parts: string[] = [];
    for await (const { first, part } of stream.iterBatches({ batchSize: 200_000 })) parts.push(`${first[0]}:${part[0]}`);
    expect(parts).toEqual(["1:0", "1:1", "1:2", "1:3", "1:4", "2:0", "2:1", "2:2", "2:3", "2:4"]);
    expect(existsSync(join(folder, "streamed"))).toBe(true);
  });

  test("rows that end each of their actors end the pipeline", async () => {
    const error = await failureOf(data.range(1000).map(Mortal, { concurrency: 2 }).takeAll());
    expect(error).toBeInstanceOf(ActorDiedError);
    expect(error.message).toContain("map(Mortal): its actor died 3 times in a row with the same rows");
  });

  test("maxTaskRetries and maxRestarts are the user's", async () => {
    const retries = await failureOf(data.range(1000).map(Mortal, { concurrency: 1, maxTaskRetries: 0 }).takeAll());
    expect(retries.message).toContain("its actor died once with the same rows");
    const restarts = await failureOf(data.range(1000).map(Mortal, { concurrency: 1, maxRestarts: 1 }).takeAll());
    expect(restarts.message).toContain("its actor died 2 times");
  });

  test("what a constructor throws is the pipeline's error, with the user's line", async () => {
    const error = await failureOf(data.range(1000).map(Unmakeable, { concurrency: 2 }).takeAll());
    expect(error).toBeInstanceOf(ActorDiedError);
    expect(error.message).toBe("Cannot make an actor of map(Unmakeable): the constructor of its class failed: no model here");
    expect(error.cause).toBeInstanceOf(RangeError);
    expect((error.cause as Error).stack).toContain("data-actors.test.ts");
    class NoCall {}
    const without = data.range(10).map(NoCall as never);
    expect((await failureOf(without.takeAll())).message).toContain("map(NoCall): a class of a transform has a method call(row)");
  });

  test("an error of call names the operator and the user's line", async () => {
    const error = await failureOf(data.range(10).map(Refusing).takeAll());
    expect(error).toBeInstanceOf(TaskError);
    expect(error.message).toContain("map(Refusing)");
    expect(error.message).toContain("not five");
    expect(error.stack).toContain("data-actors.test.ts");
  });

  test("what cannot be sent is an error, for functions and for classes", async () => {
    const server = createServer();
    class Holding {
      call({ id }: { id: number }) {
        return { id, isListening: server.listening };
      }
    }
    const ofClass = await failureOf(data.range(10).map(Holding).takeAll());
    expect(ofClass).toBeInstanceOf(SerializationError);
    expect(ofClass.message).toContain("`server` (Server) cannot be sent");
    const ofFunction = data.range(10).map(({ id }) => ({ id, isListening: server.listening }));
    expect(await failureOf(ofFunction.takeAll())).toBeInstanceOf(SerializationError);
  });

  test("after a break, an abort and a failure no actor is left", async () => {
    const logs = [new Log(folder), new Log(folder), new Log(folder)] as const;
    const slow = (log: Log): data.Dataset<{ id: number; pid: number }> =>
      data.range(8000).mapBatches(Slow, { constructorArgs: [log.file, 5, 2], batchSize: 20, concurrency: 2 });
    for await (const { id } of slow(logs[0])) if (id === 20) break;
    expectEnded(logs[0]);
    const abort = new AbortController();
    const aborted = failureOf(slow(logs[1]).takeAll({ signal: abort.signal }));
    await until(() => logs[1].lines.length === 2, "the actors of the second run");
    abort.abort(new Error("enough"));
    expect((await aborted).message).toBe("enough");
    expectEnded(logs[1]);
    const failing = slow(logs[2]).map(({ id }) => {
      if (id === 100) throw new Error("no further");
      return { id };
    });
    expect((await failureOf(failing.takeAll())).message).toContain("no further");
    expectEnded(logs[2]);
  });

  test("errors that retryOn accepts are retried, and async calls of one actor overlap", async () => {
    class Flaky {
      #calls = 0;
      async call(batch: data.Batch<{ id: number }>) {
        this.#calls += 1;
        if (this.#calls === 2) throw new RangeError("not now");
        return batch;
      }
    }
    const retried = data.range(100).mapBatches(Flaky, { batchSize: 10, concurrency: 1, retryOn: [RangeError] });
    expect((await retried.takeAll()).map(({ id }) => id)).toEqual(upTo(100));
    class Overlapping {
      #open = 0;
      async call({ id }: { id: number }) {
        this.#open += 1;
        await new Promise((resolve) => setTimeout(resolve, 5));
        const open = this.#open;
        this.#open -= 1;
        return { id, open };
      }
    }
    const overlapping = await data.range(40).map(Overlapping, { concurrency: 1, maxConcurrency: 2 }).takeAll();
    expect(overlapping.map(({ id }) => id)).toEqual(upTo(40));
    expect(Math.max(...overlapping.map(({ open }) => open))).toBe(2);
  });

  test("concurrency of a function is how many of its tasks run at a time", async () => {
    const log = new Log(folder);
    const { file } = log;
    const rows = await data
      .fromItems(upTo(12).map((id) => ({ id })))
      .map(
        async ({ id }) => {
          appendFileSync(file, "begin\n");
          await new Promise((resolve) => setTimeout(resolve, 5));
          appendFileSync(file, "end\n");
          return { id };
        },
        { concurrency: 1 },
      )
      .takeAll();
    expect(rows.map(({ id }) => id)).toEqual(upTo(12));
    expect(log.lines).toEqual(upTo(12).flatMap(() => ["begin", "end"]));
  });
});

describe("on one CPU", () => {
  useSession({ numCpus: 1 });

  test("a pool of any size and the read before it both go on", async () => {
    const log = new Log(folder);
    const options = { constructorArgs: [log.file, 1], batchSize: 100, concurrency: { min: 2, max: 4 } } as const;
    const rows = await data.range(1000).withSettings({ memoryBytes: 1 }).mapBatches(Slow, options).takeAll();
    expect(rows.map(({ id }) => id)).toEqual(upTo(1000));
    expectEnded(log);
  });
});

describe("in one process", () => {
  useSession({ numCpus: 2, mode: "inProcess" });

  test("a pool gives the same rows", async () => {
    const log = new Log(folder);
    const rows = await data
      .range(1000)
      .map(Numbering, { constructorArgs: [log.file], concurrency: { min: 1, max: 2 } })
      .takeAll();
    expect(rows.map(({ id }) => id)).toEqual(upTo(1000));
  });
});
