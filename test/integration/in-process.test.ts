/**
 * In-process mode: the semantics of processes, without one.
 */
import {
  ActorDiedError,
  ActorUnavailableError,
  DeadlockError,
  get,
  getActor,
  getRuntimeContext,
  init,
  kill,
  nodes,
  put,
  remote,
  shutdown,
  TaskError,
  terminate,
  wait,
} from "shoal";
import net from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Sandbox } from "./sandbox.ts";
import { failureOf } from "./session.ts";

const sandbox = new Sandbox();
const temporaryBefore = process.env["TMPDIR"];

beforeAll(async () => {
  process.env["TMPDIR"] = sandbox.temporary;
  await init({ mode: "inProcess", numCpus: 2 });
});
afterAll(async () => {
  await shutdown();
  if (temporaryBefore === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = temporaryBefore;
  await sandbox.mustBeEmpty();
  sandbox.remove();
});

test("tasks run in this process, and no other is started", async () => {
  const pids = remote(() => process.pid);
  expect(new Set(await get([1, 2, 3, 4].map(() => pids.remote())))).toEqual(new Set([process.pid]));
  expect(sandbox.processes()).toEqual([]);
  expect((await nodes())[0]).toMatchObject({ alive: true, resources: { CPU: 2 } });
});

test("what a function captures and no worker process could have is said once, with its place", async () => {
  const socket = new net.Socket();
  const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    const state = remote(() => socket.destroyed);
    expect(await get([state.remote(), state.remote()])).toEqual([false, false]);
    const call = remote((callback: () => boolean) => callback());
    expect(await call.remote(() => socket.readable)).toBe(true);
    class Reader {
      read(): boolean {
        return socket.destroyed;
      }
    }
    expect(await remote(Reader).remote().read.remote()).toBe(false);
    const lines = written.mock.calls.map(([text]) => String(text));
    expect(lines).toHaveLength(3);
    for (const line of lines)
      expect(line).toMatch(/^shoal: .*in-process\.test\.ts:\d+\) → captured `socket` \(Socket\) cannot be sent: .*checkCaptures/);
    expect(lines[2]).toContain("class Reader");
  } finally {
    written.mockRestore();
    socket.destroy();
  }
});

test("captured variables are shared, arguments and results are snapshots", async () => {
  const shared: number[] = [];
  const push = remote((value: number[]) => {
    shared.push(value.length);
    value.push(99);
    return value;
  });
  const argument = [1, 2];
  const result = await push.remote(argument);
  expect(shared).toEqual([2]);
  expect(argument).toEqual([1, 2]);
  expect(result).toEqual([1, 2, 99]);
  const ref = put({ list: [1] });
  const first = await get(ref);
  first.list.push(2);
  expect(await get(ref)).toEqual({ list: [1] });
});

test("references are arguments, results and values of others", async () => {
  const add = remote((left: number, right: number) => left + right);
  expect(await add.remote(add.remote(1, 2), put(4))).toBe(7);
  const unwrap = remote(async ({ ref }: { ref: PromiseLike<number> }) => (await ref) + 1);
  expect(await unwrap.remote({ ref: add.remote(20, 21) })).toBe(42);
  const [one, two] = remote(() => [1, "two"] as const, { numReturns: 2 }).remote();
  expect(await get([one, two])).toEqual([1, "two"]);
});

test("nested tasks on all CPUs do not deadlock", async () => {
  const fibonacci = remote(async function fibonacci(n: number): Promise<number> {
    if (n < 2) return n;
    const [left, right] = await get([fibonacciRemote.remote(n - 1), fibonacciRemote.remote(n - 2)]);
    return left + right;
  });
  const fibonacciRemote = fibonacci as { remote(n: number): ReturnType<typeof fibonacci.remote> };
  expect(await fibonacci.remote(10)).toBe(55);
});

test("wait splits, get stops at a time limit", async () => {
  const soon = remote(() => 1);
  const never = remote(async () => await new Promise<number>(() => {}), { numCpus: 0 });
  const refs = [never.remote(), soon.remote()];
  const [ready, pending] = await wait(refs, { numReturns: 1 });
  expect([ready, pending]).toEqual([[refs[1]], [refs[0]]]);
  expect(await failureOf(get(never.remote(), { timeoutMs: 10 }))).toMatchObject({ code: "GET_TIMEOUT" });
});

test("a large array travels through the store", async () => {
  const values = new Float64Array(1_000_000).fill(0.5);
  const sum = remote((array: Float64Array) => array.reduce((total, value) => total + value, 0));
  expect(await sum.remote(put(values))).toBe(500_000);
});

test("actors keep state, order and their errors", async () => {
  class Counter {
    #count = 0;
    async increment(): Promise<number> {
      const before = this.#count;
      await new Promise((resolve) => setImmediate(resolve));
      this.#count = before + 1;
      return this.#count;
    }
    fail(): never {
      throw new RangeError("in the actor");
    }
    async self(me: { increment: { remote(): PromiseLike<number> } }): Promise<number> {
      return await me.increment.remote();
    }
  }
  const counter = remote(Counter, { name: "counter" }).remote();
  expect(await get([1, 2, 3].map(() => counter.increment.remote()))).toEqual([1, 2, 3]);
  const error = await failureOf(counter.fail.remote());
  expect(error).toBeInstanceOf(TaskError);
  expect(error.cause).toBeInstanceOf(RangeError);
  expect(await failureOf(counter.self.remote(counter))).toBeInstanceOf(DeadlockError);
  const bump = remote(async (target: { increment: { remote(): PromiseLike<number> } }) => await target.increment.remote());
  // The call that was refused to be waited for has run.
  expect(await bump.remote(counter)).toBe(5);
  expect(await (await getActor<Counter>("counter")).increment.remote()).toBe(6);
  await terminate(counter);
  expect(await failureOf(counter.increment.remote())).toBeInstanceOf(ActorDiedError);
});

test("a killed actor is dead, or restarts without its state", async () => {
  class Cell {
    #value = 0;
    set(value: number): number {
      const before = this.#value;
      this.#value = value;
      return before;
    }
    async hang(): Promise<void> {
      await new Promise(() => {});
    }
  }
  const mortal = remote(Cell).remote();
  const hanging = mortal.hang.remote();
  await kill(mortal);
  expect(await failureOf(hanging)).toBeInstanceOf(ActorDiedError);
  const phoenix = remote(Cell, { maxRestarts: 1 }).remote();
  expect(await phoenix.set.remote(1)).toBe(0);
  const under = phoenix.hang.remote();
  await kill(phoenix, { noRestart: false });
  expect(await failureOf(under)).toBeInstanceOf(ActorUnavailableError);
  expect(await phoenix.set.remote(2)).toBe(0);
  await kill(phoenix);
});

test("a call that reaches an actor while it ends hears of that end", async () => {
  class Counter {
    count(): number {
      return 1;
    }
  }
  const counter = remote(Counter).remote();
  expect(await get(counter.count.remote())).toBe(1);
  const ended = terminate(counter);
  // Behind the call that ends it, on the same connection.
  const late = failureOf(counter.count.remote());
  await ended;
  const error = await late;
  expect(error).toBeInstanceOf(ActorDiedError);
  expect(error).toHaveProperty("reason", "it was terminated");
});

test("a constructor that throws ends its actor with the cause", async () => {
  class Impossible {
    constructor() {
      throw new RangeError("no");
    }
    work(): void {}
  }
  const error = await failureOf(remote(Impossible).remote().work.remote());
  expect(error).toBeInstanceOf(ActorDiedError);
  expect(error.cause).toBeInstanceOf(RangeError);
});

test("process.exit in a task fails the task and not the process", async () => {
  const leave = remote(() => process.exit(3), { maxRetries: 0 });
  const error = await failureOf(leave.remote());
  expect(error.message).toContain("process.exit");
});

test("a task knows where it runs", async () => {
  const who = remote(function who() {
    const { taskName, taskId, nodeId, assignedResources } = getRuntimeContext();
    return { taskName, hasTask: taskId !== undefined, nodeId, assignedResources };
  });
  expect(await who.remote()).toEqual({ taskName: "who", hasTask: true, nodeId: getRuntimeContext().nodeId, assignedResources: { CPU: 1 } });
  expect(getRuntimeContext()).toMatchObject({ taskName: undefined, taskId: undefined, assignedResources: {} });
});

test("a program in this mode ends by itself and prints what its tasks print", async () => {
  const run = await sandbox.run(`
    import { init, remote } from "shoal";
    await init({ mode: "inProcess" });
    const hello = remote((name: string) => { console.log("hello", name); return name.length; });
    console.log(await hello.remote("you"));
    void remote(async () => await new Promise(() => {})).remote();
  `);
  expect(run).toMatchObject({ exitCode: 0, stdout: "hello you\n3\n" });
  expect(run.stderr).toMatch(/^(shoal: 1 call was still pending.*\n)?$/);
});
