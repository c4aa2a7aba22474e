/**
 * The pools of npm that Shoal is measured beside, each behind one face: the same functions of `tasks.ts`, called on two workers.
 * `program.ts` opens one of them. The three others are no dependencies of the repository: `environment.ts` installs them for the bench alone.
 */
import { createRequire } from "node:module";
import { join } from "node:path";

export const LIBRARIES = ["shoal", "piscina", "tinypool", "workerpool"] as const;
export type Library = (typeof LIBRARIES)[number];

/** Each library has as many workers. */
const WORKERS_COUNT = 2;
const TASKS_FILE = join(import.meta.dirname, "tasks.ts");

/** Calls of the functions of `tasks.ts` in workers. */
export interface Pool {
  one(): PromiseLike<unknown>;
  bytes(sizeBytes: number): PromiseLike<unknown>;
  lengthOf(bytes: Uint8Array): PromiseLike<unknown>;
  close(): Promise<unknown>;
}

/** The part of Piscina, and of Tinypool, which has the same interface, that is used here. */
interface NamedCalls {
  run(argument: unknown, options: { readonly name: string }): Promise<unknown>;
  destroy(): Promise<void>;
}

interface PiscinaOptions {
  readonly filename: string;
  readonly minThreads: number;
  readonly maxThreads: number;
}

type PoolClass = new (options: PiscinaOptions) => NamedCalls;

interface WorkerpoolModule {
  pool(
    script: string,
    options: { readonly minWorkers: number; readonly maxWorkers: number; readonly workerType: "thread" },
  ): { exec(name: string, args: readonly unknown[]): PromiseLike<unknown>; terminate(): PromiseLike<unknown> };
}

/** @param folder - in which `environment.ts` installed the pools */
export async function openPool(library: Library, folder: string): Promise<Pool> {
  if (library === "shoal") return openShoal();
  const path = createRequire(join(folder, "package.json")).resolve(library);
  const module: unknown = await import(path);
  if (library === "workerpool") return openWorkerpool(module as WorkerpoolModule);
  return openNamed((module as { default: PoolClass }).default);
}

async function openShoal(): Promise<Pool> {
  const { init, remote, shutdown } = await import("shoal");
  const { bytes, lengthOf, one } = await import("./tasks.ts");
  await init({ numCpus: WORKERS_COUNT });
  const tasks = { one: remote(one), bytes: remote(bytes), lengthOf: remote(lengthOf) };
  return {
    one: () => tasks.one.remote(),
    bytes: (sizeBytes) => tasks.bytes.remote(sizeBytes),
    lengthOf: (given) => tasks.lengthOf.remote(given),
    close: () => shutdown(),
  };
}

function openNamed(Class: PoolClass): Pool {
  const pool = new Class({ filename: TASKS_FILE, minThreads: WORKERS_COUNT, maxThreads: WORKERS_COUNT });
  return {
    one: () => pool.run(undefined, { name: "one" }),
    bytes: (sizeBytes) => pool.run(sizeBytes, { name: "bytes" }),
    lengthOf: (given) => pool.run(given, { name: "lengthOf" }),
    close: () => pool.destroy(),
  };
}

function openWorkerpool(module: WorkerpoolModule): Pool {
  const script = join(import.meta.dirname, "workerpool-worker.ts");
  const pool = module.pool(script, { minWorkers: WORKERS_COUNT, maxWorkers: WORKERS_COUNT, workerType: "thread" });
  return {
    one: () => pool.exec("one", []),
    bytes: (sizeBytes) => pool.exec("bytes", [sizeBytes]),
    lengthOf: (given) => pool.exec("lengthOf", [given]),
    close: async () => pool.terminate(),
  };
}
