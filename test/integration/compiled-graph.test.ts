/**
 * Compiled graphs: over channels in shared memory, and by ordinary calls in-process, with the same results; errors, capacity, large values, death and teardown.
 */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import {
  ActorDiedError,
  type ActorHandle,
  GraphCapacityExceededError,
  GraphClosedError,
  getRuntimeContext,
  InputNode,
  kill,
  MultiOutputNode,
  put,
  remote,
  TaskError,
} from "shoal";
import { describe, expect, test } from "vitest";
import { driverRuntime, failureOf, until, useFolder, useSession } from "./session.ts";

const HAS_CHANNELS = process.platform === "linux" && process.env["SHOAL_NATIVE"] !== "0";

class Point {
  x: number;
  constructor(x: number) {
    this.x = x;
  }
  doubled(): number {
    return this.x * 2;
  }
}

class Worker {
  calls = 0;
  add(x: number, by = 1): number {
    this.calls += 1;
    return x + by;
  }
  async later(x: number): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return x;
  }
  failOn(x: number, bad: number): number {
    if (x === bad) throw new RangeError(`bad ${x}`);
    return x;
  }
  sizeOf(bytes: Uint8Array): number {
    return bytes.byteLength;
  }
  grow(size: number): Uint8Array {
    return new Uint8Array(size).fill(7);
  }
  echo<T>(value: T): T {
    return value;
  }
  change(list: number[]): number[] {
    list.push(1);
    return list;
  }
  point(x: number): Point {
    return new Point(x);
  }
  doubled(point: Point): number {
    return point.doubled();
  }
  names(): (string | undefined)[] {
    const { taskName, actorId } = getRuntimeContext();
    return [taskName, actorId];
  }
  pid(): number {
    return process.pid;
  }
  total(): number {
    return this.calls;
  }
  busy(ms: number): number {
    const end = performance.now() + ms;
    while (performance.now() < end) {}
    return ms;
  }
  /** Until the file is there; not at all without a name. */
  async pauseUntil(file: string): Promise<string> {
    if (file === "") return file;
    while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
    return file;
  }
  exit(): never {
    process.exit(3);
  }
}
const WorkerClass = remote(Worker, { numCpus: 0 });

function newWorkers(count: number): ActorHandle<Worker>[] {
  return Array.from({ length: count }, () => WorkerClass.remote());
}

const folder = useFolder();
let gates = 0;
function newGate(): { file: string; open: () => void } {
  gates += 1;
  const file = join(folder, `gate-${gates}`);
  return { file, open: () => writeFileSync(file, "") };
}

/** Files of graphs in the session's memory. */
function graphFiles(): string[] {
  return readdirSync(driverRuntime().options.memoryDirectory).filter((name) => name.startsWith("graph-"));
}

for (const mode of ["process", "inProcess"] as const) {
  describe(mode, () => {
    useSession({ numCpus: 2, mode });

    test("executions go through a chain of actors, many at a time, and come back in any order", async () => {
      const [first, second] = newWorkers(2) as [ActorHandle<Worker>, ActorHandle<Worker>];
      const input = new InputNode<number>();
      await using graph = await second.add.bind(first.add.bind(input), 10).compile();
      expect(graph.transport).toBe(mode === "process" && HAS_CHANNELS ? "channels" : "calls");
      expect(await graph.execute(1)).toBe(12);
      const refs = Array.from({ length: 500 }, (_item, index) => graph.execute(index));
      expect(await refs[499]).toBe(510);
      expect(await refs[0]).toBe(11);
      expect(await Promise.all(refs.slice(1, 499))).toEqual(Array.from({ length: 498 }, (_item, index) => index + 12));
      for (let index = 0; index < 200; index += 1) expect(await graph.execute(index)).toBe(index + 11);
    });

    test("a diamond with parts of the input, constants, references and several outputs", async () => {
      const [first, second, third] = newWorkers(3) as [ActorHandle<Worker>, ActorHandle<Worker>, ActorHandle<Worker>];
      const input = new InputNode<{ a: number; list: number[] }>();
      const left = first.add.bind(input.at("a"), put(100));
      const right = second.add.bind(input.at("list").at(1), left);
      const graph = await new MultiOutputNode([third.add.bind(left, right), right, left, right]).compile();
      const results = graph.execute({ a: 1, list: [0, 2] });
      expect(await Promise.all(results)).toEqual([204, 103, 101, 103]);
      expect(await Promise.all(graph.execute({ a: 2, list: [0, 3] }))).toEqual([207, 105, 102, 105]);
      await graph.teardown();
    });

    test("an actor that appears several times keeps its state and its order", async () => {
      const [first, second] = newWorkers(2) as [ActorHandle<Worker>, ActorHandle<Worker>];
      const input = new InputNode<number>();
      const there = first.add.bind(input);
      const back = first.add.bind(second.add.bind(there), there);
      await using graph = await back.compile();
      expect(await Promise.all([1, 2, 3].map((x) => graph.execute(x)))).toEqual([5, 7, 9]);
      await graph.teardown();
      expect(await first.total.remote()).toBe(6);
    });

    test("values of all kinds arrive as values of their own", async () => {
      const [first, second] = newWorkers(2) as [ActorHandle<Worker>, ActorHandle<Worker>];
      const input = new InputNode<unknown>();
      await using graph = await second.echo.bind(first.echo.bind(input)).compile();
      const ref = put("behind a ref");
      const values = [
        undefined,
        null,
        "text".repeat(5000),
        { deep: [1n, new Map([[1, new Date(5)]])] },
        new Float64Array(3000).fill(0.5),
        -0,
      ];
      for (const value of values) expect(await graph.execute(value)).toEqual(value);
      expect(await ((await graph.execute([ref])) as [typeof ref])[0]).toBe("behind a ref");
      expect(inspect(await graph.execute(first))).toContain("ActorHandle(Worker");
      await graph.teardown();
      const list = new InputNode<number[]>();
      await using changing = await new MultiOutputNode([first.change.bind(list), second.echo.bind(list)]).compile();
      const shared = [0];
      expect(await Promise.all(changing.execute(shared))).toEqual([[0, 1], [0]]);
      expect(await Promise.all(changing.execute(shared))).toEqual([[0, 1], [0]]);
      expect(shared).toEqual([0]);
    });

    test("instances of classes travel, with their definitions", async () => {
      const [first, second] = newWorkers(2) as [ActorHandle<Worker>, ActorHandle<Worker>];
      await using graph = await second.doubled.bind(first.point.bind(new InputNode<number>())).compile();
      expect(await Promise.all([1, 2, 3].map((x) => graph.execute(x)))).toEqual([2, 4, 6]);
      await graph.teardown();
      await using echo = await first.echo.bind(new InputNode<unknown>()).compile();
      expect(((await echo.execute(new Point(4))) as Point).doubled()).toBe(8);
    });

    test("values larger than the buffer go through, many of them", async () => {
      const [first, second] = newWorkers(2) as [ActorHandle<Worker>, ActorHandle<Worker>];
      const sizes = [10, 5000, 100_000, 300_000];
      await using graph = await second.sizeOf.bind(first.grow.bind(new InputNode<number>())).compile({ bufferSizeBytes: 1024 });
      const refs = Array.from({ length: 40 }, (_item, index) => graph.execute(sizes[index % 4] as number));
      expect(await Promise.all(refs)).toEqual(Array.from({ length: 40 }, (_item, index) => sizes[index % 4]));
      await graph.teardown();
      await using inputs = await first.sizeOf.bind(new InputNode<Uint8Array>()).compile({ bufferSizeBytes: 100_000 });
      const sent = [90_000, 90_000, 90_000, 90_000, 1_000_000].map((size) => inputs.execute(new Uint8Array(size)));
      expect(await Promise.all(sent)).toEqual([90_000, 90_000, 90_000, 90_000, 1_000_000]);
      await inputs.teardown();
      expect(graphFiles()).toEqual([]);
    });

    test("an error reaches the execution that it belongs to, and no other", async () => {
      const [first, second] = newWorkers(2) as [ActorHandle<Worker>, ActorHandle<Worker>];
      await using graph = await second.add.bind(first.failOn.bind(new InputNode<number>(), 2)).compile();
      const refs = [1, 2, 3].map((x) => graph.execute(x));
      expect(await refs[0]).toBe(2);
      expect(await refs[2]).toBe(4);
      const failure = await failureOf(refs[1] as PromiseLike<unknown>);
      expect(failure).toBeInstanceOf(TaskError);
      expect(failure.message).toContain("Worker.failOn failed: RangeError: bad 2");
      expect(failure.cause).toBeInstanceOf(RangeError);
      await graph.teardown();
      expect(await second.total.remote()).toBe(2);
    });

    test("async methods end before the next execution begins, and know where they run", async () => {
      const [actor] = newWorkers(1) as [ActorHandle<Worker>];
      const input = new InputNode<number>();
      await using graph = await new MultiOutputNode([actor.later.bind(input), actor.echo.bind(input)]).compile();
      const results = await Promise.all([1, 2, 3].map((x) => Promise.all(graph.execute(x))));
      expect(results).toEqual([
        [1, 1],
        [2, 2],
        [3, 3],
      ]);
    });

    test("timers of a program go on while it awaits results that are there", async () => {
      const [worker] = newWorkers(1) as [ActorHandle<Worker>];
      await using graph = await worker.echo.bind(new InputNode<number>()).compile();
      const results = Array.from({ length: 1000 }, (_item, index) => graph.execute(index));
      await results.pop();
      let ticks = 0;
      const timer = setInterval(() => {
        ticks += 1;
      }, 1);
      for (const result of results) {
        await result;
        const endMs = performance.now() + 0.05;
        while (performance.now() < endMs) {}
      }
      clearInterval(timer);
      expect(ticks).toBeGreaterThan(0);
    });

    test("a result is handed out once", async () => {
      const [actor] = newWorkers(1) as [ActorHandle<Worker>];
      await using graph = await actor.add.bind(new InputNode<number>()).compile();
      const ref = graph.execute(1);
      expect(await ref).toBe(2);
      expect((await failureOf(ref)).message).toContain("twice");
      void graph.execute(1);
    });

    test("more executions than allowed are refused, or wait", async () => {
      const [actor] = newWorkers(1) as [ActorHandle<Worker>];
      const node = actor.pauseUntil.bind(new InputNode<string>());
      const patient = await node.compile({ maxInflightExecutions: 2, submitTimeoutMs: 50_000 });
      const first = newGate();
      const refs = [patient.execute(first.file), patient.execute("")];
      expect(() => patient.execute("")).toThrow(GraphCapacityExceededError);
      const waiting = patient.executeAsync("");
      first.open();
      const { refs: third } = await waiting;
      expect(await Promise.all([...refs, third])).toEqual([first.file, "", ""]);
      await patient.teardown();
      await using hasty = await node.compile({ maxInflightExecutions: 2, submitTimeoutMs: 100 });
      const second = newGate();
      const slow = [hasty.execute(second.file), hasty.execute("")];
      expect(await failureOf(hasty.executeAsync(""))).toMatchObject({ code: "GRAPH_CAPACITY_EXCEEDED" });
      second.open();
      expect(await Promise.all(slow)).toEqual([second.file, ""]);
    });

    test("misuse is refused", async () => {
      const [first] = newWorkers(1) as [ActorHandle<Worker>];
      const input = new InputNode<number>();
      const task = remote((x: number) => x);
      await expect(task.bind(input).compile()).rejects.toThrow(/is a task: only methods of actors/);
      await expect(WorkerClass.bind().add.bind(input).compile()).rejects.toThrow(/bind methods of a handle/);
      await expect(first.echo.bind([first.add.bind(input)] as never).compile()).rejects.toThrow(/node inside an array/);
      await expect(new MultiOutputNode([first.add.bind(input), first.pid.bind()]).compile()).rejects.toThrow(/nothing would start it/);
      await expect(first.add.bind(input).compile({ bufferSizeBytes: 0 })).rejects.toThrow(RangeError);
      await expect(first.add.bind(input).compile({ _max_inflight_executions: 1 } as never)).rejects.toThrow(/it is maxInflightExecutions/);
      await using graph = await first.add.bind(input).compile();
      expect(() => (graph as unknown as { execute(): void }).execute()).toThrow(/one input is needed: received 0/);
      expect(() => graph.execute(Promise.resolve(1) as never)).toThrow(/promise/i);
      await expect(first.add.bind(input).compile()).rejects.toThrow(/part of another compiled graph/);
      expect(await graph.execute(1)).toBe(2);
    });

    test("teardown gives the actors back and fails what is under way", async () => {
      const [actor] = newWorkers(1) as [ActorHandle<Worker>];
      const graph = await actor.pauseUntil.bind(new InputNode<string>()).compile();
      const { file, open } = newGate();
      const refs = [graph.execute(""), graph.execute(file), graph.execute(file)];
      expect(await refs[0]).toBe("");
      const torn = graph.teardown();
      open();
      await torn;
      expect(await failureOf(refs[2] as PromiseLike<unknown>)).toBeInstanceOf(GraphClosedError);
      expect(() => graph.execute("")).toThrow(GraphClosedError);
      await graph.teardown();
      expect(await actor.add.remote(1)).toBe(2);
      await using again = await actor.add.bind(new InputNode<number>()).compile();
      expect(await again.execute(1)).toBe(2);
      await again.teardown();
      expect(graphFiles()).toEqual([]);
    });

    test("the death of an actor ends the graph; the others take ordinary calls again", async () => {
      const [first, second] = newWorkers(2) as [ActorHandle<Worker>, ActorHandle<Worker>];
      const graph = await second.add.bind(first.busy.bind(new InputNode<number>())).compile();
      expect(await graph.execute(1)).toBe(2);
      // Longer than its end may take; in one process nothing ends while it computes.
      const pending = [graph.execute(mode === "process" ? 60_000 : 300), graph.execute(1)];
      const failures = pending.map(failureOf);
      await kill(first);
      for (const failure of await Promise.all(failures)) {
        expect(failure).toBeInstanceOf(GraphClosedError);
        expect(failure.cause).toBeInstanceOf(ActorDiedError);
      }
      await until(() => refused(graph), "the graph to end");
      await graph.teardown();
      expect(await second.add.remote(1)).toBe(2);
      expect(graphFiles()).toEqual([]);
      await expect(first.add.bind(new InputNode<number>()).compile()).rejects.toThrow(ActorDiedError);
    });
  });
}

function refused(graph: { execute(input: number): PromiseLike<unknown> }): boolean {
  try {
    graph.execute(1).then(undefined, () => {});
    return false;
  } catch (error) {
    return error instanceof GraphClosedError;
  }
}

describe.skipIf(!HAS_CHANNELS)("over channels", () => {
  useSession({ numCpus: 2 });

  test("an actor whose process ends during a method", async () => {
    const [first, second] = newWorkers(2) as [ActorHandle<Worker>, ActorHandle<Worker>];
    const graph = await second.add.bind(first.exit.bind(...([new InputNode<number>()] as never))).compile();
    const failure = await failureOf((graph as unknown as { execute(x: number): PromiseLike<unknown> }).execute(1));
    expect(failure).toBeInstanceOf(GraphClosedError);
    expect(failure.cause).toMatchObject({ code: "ACTOR_DIED", exitCode: 3 });
  });

  test("SIGKILL of an actor while executions are under way", async () => {
    const [first, second] = newWorkers(2) as [ActorHandle<Worker>, ActorHandle<Worker>];
    const pid = await first.pid.remote();
    const graph = await second.add.bind(first.busy.bind(new InputNode<number>())).compile();
    const failure = failureOf(graph.execute(60_000));
    process.kill(pid, "SIGKILL");
    expect((await failure).cause).toMatchObject({ code: "ACTOR_DIED", signal: "SIGKILL" });
    expect(await second.add.remote(1)).toBe(2);
  });

  test("a waiting result keeps others from nothing: ordinary calls of other actors go on", async () => {
    const [first, other] = newWorkers(2) as [ActorHandle<Worker>, ActorHandle<Worker>];
    await using graph = await first.busy.bind(new InputNode<number>()).compile();
    const ref = graph.execute(50);
    expect(await other.add.remote(1)).toBe(2);
    expect(await ref).toBe(50);
  });

  test("calls to an actor wait until its graph is torn down", async () => {
    const [actor] = newWorkers(1) as [ActorHandle<Worker>];
    const graph = await actor.add.bind(new InputNode<number>()).compile();
    let ended = false;
    const call = actor.total.remote().then((total) => {
      ended = true;
      return total;
    });
    for (let index = 0; index < 20; index += 1) await graph.execute(index);
    expect(ended).toBe(false);
    await graph.teardown();
    expect(await call).toBe(20);
  });

  test("the death of the process that compiled a graph gives its actors back", async () => {
    class Compiler {
      graph: unknown;
      async compile(first: ActorHandle<Worker>, second: ActorHandle<Worker>): Promise<number> {
        const graph = await second.add.bind(first.add.bind(new InputNode<number>())).compile();
        this.graph = graph;
        return graph.execute(1);
      }
      pid(): number {
        return process.pid;
      }
    }
    const [first, second] = newWorkers(2) as [ActorHandle<Worker>, ActorHandle<Worker>];
    const compiler = remote(Compiler).remote();
    const pid = await compiler.pid.remote();
    expect(await compiler.compile.remote(first, second)).toBe(3);
    process.kill(pid, "SIGKILL");
    expect(await first.add.remote(1)).toBe(2);
    expect(await second.add.remote(1)).toBe(2);
    expect(graphFiles()).toEqual([]);
  });

  test("what runs in a graph knows its name and its actor", async () => {
    const [actor] = newWorkers(1) as [ActorHandle<Worker>];
    await using graph = await actor.names.bind(...([new InputNode<number>()] as never)).compile();
    const [name, id] = await (graph as unknown as { execute(x: number): PromiseLike<string[]> }).execute(1);
    expect(name).toBe("Worker.names");
    expect(id).toMatch(/^[0-9a-f]+$/);
  });
});
