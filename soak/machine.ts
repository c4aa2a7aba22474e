/** Looks at processes, their memory, and the session's folders from outside. Linux, by /proc. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

export type Place = string;

interface SessionOptions {
  readonly memoryDirectory: string;
  readonly spillDirectory: string;
}

/** The session's folders, which must be gone at the end. */
export function sessionPlaces(): Place[] {
  const runtime = (globalThis as unknown as Record<symbol, { options: SessionOptions } | undefined>)[Symbol.for("shoal.runtime.1")];
  if (runtime === undefined) throw new Error("Shoal does not run in this process");
  const { memoryDirectory, spillDirectory } = runtime.options;
  return [memoryDirectory, spillDirectory, join(tmpdir(), basename(memoryDirectory))];
}

/** Process ids of the daemon or the workers among the descendants of this process. */
export function processes(kind: "daemon" | "worker"): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? /^PPid:\s*(\d+)/m.exec(readProc(`/proc/${name}/status`))?.[1] : undefined;
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent === process.pid || (parent !== undefined && parent > 1 && isOurs(parent));
  };
  // Workers name themselves once they run.
  const isKind = kind === "daemon" ? /entry\/daemon\.[jt]s|^shoal daemon/ : /entry\/worker\.[jt]s|^shoal worker/;
  return Array.from(parents.keys()).filter((pid) => isOurs(pid) && isKind.test(readProc(`/proc/${pid}/cmdline`)));
}

/** Private memory of driver and daemon, in bytes: shared pages are the store's. */
export function memoryOf(): Record<string, number> {
  const daemon = processes("daemon")[0];
  return { driver: privateBytes(process.pid), ...(daemon === undefined ? {} : { daemon: privateBytes(daemon) }) };
}

function privateBytes(pid: number): number {
  const rollup = readProc(`/proc/${pid}/smaps_rollup`);
  return Number(/^Private_Dirty:\s*(\d+) kB/m.exec(rollup)?.[1] ?? 0) * 1024;
}

export function leftovers(places: readonly Place[]): string[] {
  const left = places.filter((place) => existsSync(place)).map((place) => `folder ${place}`);
  for (const kind of ["daemon", "worker"] as const) left.push(...processes(kind).map((pid) => `${kind} process ${pid}`));
  return left;
}

function readProc(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // The process ended between the listing and the reading.
    return "";
  }
}
