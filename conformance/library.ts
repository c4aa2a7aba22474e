/**
 * The functions and classes that scenarios call by name, on Shoal. `ray_twin.py` has the same in Python, line by line.
 *
 * Named functions and classes of the scenarios: ordinary user code on the public interface. A feature of one language only (a signal, a
 * symbol) has no place here; files in the scenario's folder count runs across processes.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { type ActorHandle, cancel, get, getActor, getRuntimeContext, type ObjectRef, put, remote, wait } from "shoal";

/** @public Travels as an export of this module. */
export class AppError extends Error {
  override name = "AppError";
}

/** @public As above. */
export class OtherError extends Error {
  override name = "OtherError";
}

function raise(kind: string, message: string): never {
  throw kind === "OtherError" ? new OtherError(message) : new AppError(message);
}

function lines(file: string): number {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function spin(ms: number): void {
  const end = Date.now() + ms;
  while (Date.now() < end);
}

function add(a: number, b: number): number {
  return a + b;
}

type AnyFunction = (...args: never[]) => unknown;
type AnyClass = new (...args: never[]) => object;

export const functions: Readonly<Record<string, AnyFunction>> = {
  identity: (value: unknown): unknown => value,
  add,
  tuple: (count: number): number[] => Array.from({ length: count }, (_, index) => index),
  fail: (kind: string, message: string): never => raise(kind, message),
  sleepMs: async (ms: number, value: unknown): Promise<unknown> => {
    await sleep(ms);
    return value;
  },
  spinMs: (ms: number, value: unknown): unknown => {
    spin(ms);
    return value;
  },
  printMs: (ms: number, value: unknown): unknown => {
    const end = Date.now() + ms;
    while (Date.now() < end) console.log("a line that a task prints");
    return value;
  },
  append: (file: string, line: string): number => {
    appendFileSync(file, `${line}\n`);
    return lines(file);
  },
  countLines: (file: string): number => lines(file),
  appendThenSleep: async (file: string, ms: number): Promise<string> => {
    appendFileSync(file, "begun\n");
    await sleep(ms);
    appendFileSync(file, "ended\n");
    return "ended";
  },
  /** Dies with SIGKILL until it has begun `times` + 1 times. */
  dieTimes: (file: string, times: number): number => {
    appendFileSync(file, "begun\n");
    if (lines(file) <= times) process.kill(process.pid, "SIGKILL");
    return lines(file);
  },
  /** Calls another task and dies, until it has done so `times` + 1 times. How often that other one ran, and how many names its refs had. */
  callAndDieTimes: async (file: string, times: number): Promise<[number, number]> => {
    const child = remote((path: string) => appendFileSync(path, "begun\n")).remote(`${file}-child`);
    appendFileSync(file, `${child.id}\n`);
    await child;
    if (lines(file) <= times) process.kill(process.pid, "SIGKILL");
    return [lines(`${file}-child`), new Set(readFileSync(file, "utf8").trim().split("\n")).size];
  },
  processOnce: (): number => process.pid,
  processTwice: (): number => process.pid,
  isProcessAlive: (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  },
  exitWith: (code: number): void => process.exit(code),
  failTimes: (file: string, times: number, kind: string): number => {
    appendFileSync(file, "begun\n");
    if (lines(file) <= times) raise(kind, `attempt ${lines(file)}`);
    return lines(file);
  },
  /** A ref inside a list is a ref still. */
  isRefInside: ([inner]: [unknown]): boolean => typeof (inner as { then?: unknown } | null)?.then === "function",
  readInside: async ([inner]: [ObjectRef<unknown>]): Promise<unknown> => await inner,
  putInside: (value: unknown): [ObjectRef<unknown>] => [put(value)],
  nestedAdd: async (a: number, b: number): Promise<number> => await remote(add).remote(a, b),
  fib: async function fib(n: number): Promise<number> {
    if (n < 2) return n;
    const task = remote(fib);
    const [a, b] = await get([task.remote(n - 1), task.remote(n - 2)]);
    return a + b;
  },
  nestedFail: async (message: string): Promise<unknown> =>
    await remote((text: string): never => {
      throw new AppError(text);
    }).remote(message),
  /** Starts a child that ends its process. */
  survivesChild: async (how: "exit" | "SIGKILL" | "abort"): Promise<string> => {
    const child = remote((way: string): void => {
      if (way === "exit") process.exit(3);
      if (way === "abort") process.abort();
      process.kill(process.pid, "SIGKILL");
    }).options({ maxRetries: 0 });
    return await child.remote(how).then(
      () => "the child ended",
      (error: Error) => error.name,
    );
  },
  /** Starts a child that computes. @returns whether a timer went on meanwhile */
  ticksMeanwhile: async (ms: number): Promise<boolean> => {
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 20);
    await remote(spin).remote(ms);
    clearInterval(timer);
    return ticks > 5;
  },
  /** Waits 300 ms in two ways for a child that computes for 20 s. @returns the outcomes of both waits, and whether they took less than 5 s */
  limitsChild: async (): Promise<unknown[]> => {
    const from = Date.now();
    const child = remote(spin, { maxRetries: 0 }).remote(20_000);
    const error = await get(child, { timeoutMs: 300 }).catch((reason: Error) => reason.name);
    const [ready, pending] = await wait([child], { timeoutMs: 300 });
    const isInTime = Date.now() - from < 5000;
    cancel(child, { force: true });
    return [error, ready.length, pending.length, isInTime];
  },
  /** Starts a child that changes its working directory and a global. @returns whether this process kept its own */
  keepsPlace: async (folder: string): Promise<boolean[]> => {
    const before = process.cwd();
    (globalThis as Record<string, unknown>)["conformancePlace"] = "parent";
    await remote((path: string): void => {
      process.chdir(path);
      (globalThis as Record<string, unknown>)["conformancePlace"] = "child";
    }).remote(folder);
    return [process.cwd() === before, (globalThis as Record<string, unknown>)["conformancePlace"] === "parent"];
  },
  /** Starts a child that changes an environment variable. */
  keepsVariable: async (name: string): Promise<string | undefined> => {
    process.env[name] = "parent";
    await remote((variable: string): void => {
      process.env[variable] = "child";
    }).remote(name);
    return process.env[name];
  },
  callActor: async ([counter]: [ActorHandle<Counter>], by: number): Promise<number> => await counter.increment.remote(by),
  callNamed: async (name: string, by: number): Promise<number> => {
    const counter = await getActor<Counter>(name);
    return await counter.increment.remote(by);
  },
  envVar: (name: string): string | undefined => process.env[name],
  assigned: (name: string): number => getRuntimeContext().assignedResources[name] ?? 0,
  taskName: (): string | undefined => getRuntimeContext().taskName,
  inActor: (): boolean => getRuntimeContext().actorId !== undefined,
  length: (value: ArrayLike<unknown>): number => value.length,
  startChild: (file: string): string => {
    remote(async (path: string) => {
      appendFileSync(path, "begun\n");
      await sleep(1500);
      appendFileSync(path, "ended\n");
    }).remote(file);
    return "left";
  },
  waitForChild: async (file: string): Promise<unknown> =>
    await remote(async (path: string) => {
      appendFileSync(path, "begun\n");
      for (let turn = 0; turn < 100; turn += 1) await sleep(50);
      appendFileSync(path, "ended\n");
    }).remote(file),
};

export const generators: Readonly<Record<string, AnyFunction>> = {
  countTo: function* (count: number): Generator<number> {
    for (let item = 0; item < count; item += 1) yield item;
  },
  exitAfter: function* (count: number): Generator<number> {
    for (let item = 0; item < count; item += 1) yield item;
    process.exit(1);
  },
  failAt: function* (at: number): Generator<number> {
    for (let item = 0; item < at; item += 1) yield item;
    throw new AppError(`at ${at}`);
  },
};

class Counter {
  #count: number;
  constructor(start = 0) {
    this.#count = start;
  }
  increment(by = 1): number {
    this.#count += by;
    return this.#count;
  }
  async incrementSlowly(ms: number): Promise<number> {
    await sleep(ms);
    return this.increment();
  }
  value(): number {
    return this.#count;
  }
  fail(message: string): never {
    throw new AppError(message);
  }
  die(): void {
    process.kill(process.pid, "SIGKILL");
  }
  reconstructed(): boolean {
    return getRuntimeContext().wasCurrentActorReconstructed;
  }
  async hold(refs: [ObjectRef<unknown>]): Promise<string> {
    this.held = refs;
    return "held";
  }
  async readHeld(): Promise<unknown> {
    return await this.held?.[0];
  }
  protected held: [ObjectRef<unknown>] | undefined;
  *items(count: number): Generator<number> {
    for (let item = 0; item < count; item += 1) yield this.#count + item;
  }
  nameOfActor(): string | undefined {
    return getRuntimeContext().actorName;
  }
  assigned(name: string): number {
    return getRuntimeContext().assignedResources[name] ?? 0;
  }
}

class Recorder {
  readonly #seen: unknown[] = [];
  async record(value: unknown, ms = 0): Promise<number> {
    if (ms > 0) await sleep(ms);
    return this.#seen.push(value);
  }
  seen(): unknown[] {
    return this.#seen;
  }
}

class Doomed {
  constructor(message: string) {
    throw new AppError(message);
  }
  hello(): string {
    return "hello";
  }
}

/** The first life dies in `dieOnce`; the number of lives is counted in a file. */
class Phoenix {
  readonly #file: string;
  constructor(file: string) {
    this.#file = file;
    appendFileSync(file, "life\n");
  }
  dieOnce(): number {
    if (lines(this.#file) === 1) process.kill(process.pid, "SIGKILL");
    return lines(this.#file);
  }
  lives(): number {
    return lines(this.#file);
  }
}

class Gate {
  #isOpen = false;
  isOpen(): boolean {
    return this.#isOpen;
  }
  async pass(): Promise<string> {
    while (!this.#isOpen) await sleep(10);
    return "passed";
  }
  async open(): Promise<string> {
    this.#isOpen = true;
    return "opened";
  }
}

export const classes: Readonly<Record<string, AnyClass>> = { Counter, Recorder, Doomed, Phoenix, Gate };
