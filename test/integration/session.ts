/**
 * Shared by the integration tests: a fresh session for a group of tests that leaves nothing behind, looks into the machine (processes,
 * shared memory), garbage collection on demand, and waiting without sleeping.
 *
 * Everything here goes through `import ... from "shoal"`, as users have it; `driverRuntime` opens the counters of that same copy.
 */
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type InitOptions, init, shutdown } from "shoal";
import { afterAll, beforeAll, expect } from "vitest";
import type { Runtime } from "../../src/core/runtime.ts";
import { MESSAGE } from "../../src/runtime/wire/messages.ts";

/** Twice the slowest wait on a busy machine: a silent node is dead after ten seconds. */
const DEADLINE_MS = 40_000;

/** Starts Shoal before the tests of the enclosing `describe` or file, ends it after them, and checks that nothing is left. */
export function useSession(options: InitOptions): void {
  beforeAll(async () => {
    await init({ logToDriver: false, ...options });
  });
  afterAll(async () => {
    const places = sessionPlaces();
    const pids = shoalProcesses();
    await shutdown();
    expect(places.filter(existsSync), "folders left after shutdown").toEqual([]);
    await until(() => pids.every((pid) => !isAlive(pid)), "all processes of the session to be gone");
  });
}

/** The session's folders: sockets, shared memory, spilled objects. */
function sessionPlaces(): string[] {
  const { memoryDirectory, spillDirectory } = driverRuntime().options;
  return [memoryDirectory, spillDirectory, join(tmpdir(), basename(memoryDirectory))];
}

/** The runtime behind the calls of this process. */
export function driverRuntime(): Runtime {
  const runtime = (globalThis as unknown as Record<symbol, Runtime | undefined>)[Symbol.for("shoal.runtime.1")];
  if (runtime === undefined) throw new Error("Shoal does not run in this process");
  return runtime;
}

/** Bytes of the objects that the node keeps, as its daemon counts them. */
export async function storeUsedBytes(): Promise<number> {
  const reply = await driverRuntime().daemon.request(MESSAGE.RESOURCES, undefined);
  return (reply.header as { store: { usedBytes: number } }).store.usedBytes;
}

/** Daemons and workers among the descendants of a process, by default of this one. */
export function shoalProcesses(options: { under?: number; kind?: "daemon" | "worker" } = {}): number[] {
  const { under = process.pid, kind } = options;
  // Workers name themselves once they run; before, and for the daemon, the command line tells.
  const isKind = new RegExp(
    `entry/${kind ?? "(daemon|worker)"}\\.[jt]s${kind === "worker" ? "" : "|^shoal daemon"}${kind === "daemon" ? "" : "|^shoal worker|python/entry/(worker|zygote)\\.py"}`,
  );
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = /^PPid:\s*(\d+)/m.exec(readProc(`/proc/${name}/status`))?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isUnder = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent === under || (parent !== undefined && parent > 1 && isUnder(parent));
  };
  return Array.from(parents.keys()).filter((pid) => isUnder(pid) && isKind.test(readProc(`/proc/${pid}/cmdline`)));
}

/** A process that has ended counts until its parent has collected it, and so knows; without its parent it has ended, although some machines' first process never collects it. */
export function isAlive(pid: number): boolean {
  const status = readProc(`/proc/${pid}/status`);
  const state = /^State:\s+(\w)/m.exec(status)?.[1];
  if (state === undefined || state === "X") return false;
  return state !== "Z" || !/^PPid:\s+1$/m.test(status);
}

function readProc(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // The process ended between the listing and the reading.
    return "";
  }
}

/** Resolves when the condition holds. @throws after 40 seconds by default, naming what did not happen */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  { withinMs = DEADLINE_MS }: { withinMs?: number } = {},
): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${withinMs / 1000} s in vain for ${what}`);
    await turn();
  }
}

/** A turn of the event loop and a little more, so that a polling test leaves time for its condition. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

/** Runs V8's collector; finalizers run in a later turn. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  await turn();
}

/** A folder for marker files by which tasks and tests see each other's progress; removed after the file's tests. */
export function useFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let files = 0;

/** A log in a file that tasks in any process append lines to. */
export class Log {
  readonly file: string;

  constructor(folder: string) {
    files += 1;
    this.file = join(folder, `log-${files}`);
    appendFileSync(this.file, "");
  }

  get lines(): string[] {
    return readFileSync(this.file, "utf8").split("\n").slice(0, -1);
  }
}

/** The rejection of a promise. @throws when it is fulfilled */
export async function failureOf(promise: PromiseLike<unknown>): Promise<Error & { cause?: unknown; code?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error("it was fulfilled");
}
