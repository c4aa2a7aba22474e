/**
 * Chooses the worker to end for its memory, and writes the message: a pure function of all workers' use.
 *
 * A worker beyond its own limit is always ended. If the machine is nearly full, one more worker is ended, before the kernel kills an arbitrary process: first an idle one,
 * then a task that may run again, then another task, then an actor. Among equal tasks it is the newest one of the owner with the most running tasks, as in Ray: that loses
 * the least work, and an owner that fills the machine pays for it. The memory guard calls it at each look.
 */
import type { ProcessId } from "../../base/ids.ts";
import { VICTIM_MIN_BYTES } from "./limits.ts";

export interface WorkerMemory {
  id: ProcessId;
  pid: number;
  /** Name of the worker's work, for messages. */
  name: string;
  kind: "idle" | "task" | "actor";
  owner: ProcessId | undefined;
  /** The larger the later it began. */
  order: number;
  usedBytes: number;
  /** Whether, as far as is known, all tasks there may run twice. */
  isRetriable: boolean;
  /** The worker's limit, if `memoryBytes` was requested. */
  limitBytes: number | undefined;
}

export interface MemoryState {
  machine: { usedBytes: number; totalBytes: number; what: string } | undefined;
  /** Part of the machine's memory beyond which a worker is ended. */
  threshold: number;
  workers: readonly WorkerMemory[];
}

export interface Victim {
  worker: WorkerMemory;
  because: "limit" | "machine";
}

/** @param endsForMachine false while one that was ended for the machine is still going */
export function chooseVictims(state: MemoryState, endsForMachine: boolean): Victim[] {
  const victims: Victim[] = [];
  for (const worker of state.workers) {
    if (worker.limitBytes !== undefined && worker.usedBytes > worker.limitBytes) victims.push({ worker, because: "limit" });
  }
  const { machine, threshold } = state;
  if (victims.length > 0 || !endsForMachine || machine === undefined || machine.usedBytes <= machine.totalBytes * threshold) return victims;
  const worker = victimForMachine(state.workers.filter(({ usedBytes }) => usedBytes >= VICTIM_MIN_BYTES));
  return worker === undefined ? [] : [{ worker, because: "machine" }];
}

function victimForMachine(workers: readonly WorkerMemory[]): WorkerMemory | undefined {
  const idle = workers.filter(({ kind }) => kind === "idle");
  if (idle.length > 0) return idle.reduce((a, b) => (b.usedBytes > a.usedBytes ? b : a));
  const tasks = workers.filter(({ kind }) => kind === "task");
  const retriable = tasks.filter(({ isRetriable }) => isRetriable);
  const candidates = retriable.length > 0 ? retriable : tasks.length > 0 ? tasks : workers;
  const running = new Map<ProcessId | undefined, number>();
  for (const { owner } of candidates) running.set(owner, (running.get(owner) ?? 0) + 1);
  const countOf = (worker: WorkerMemory): number => running.get(worker.owner) ?? 0;
  let chosen: WorkerMemory | undefined;
  for (const worker of candidates) {
    const isBetter =
      chosen === undefined || countOf(worker) > countOf(chosen) || (countOf(worker) === countOf(chosen) && worker.order > chosen.order);
    if (isBetter) chosen = worker;
  }
  return chosen;
}

/** Why it was ended, in a sentence that names the numbers. */
export function victimReason({ worker, because }: Victim, { machine, threshold }: MemoryState): string {
  if (because === "limit")
    return `it used ${megabytes(worker.usedBytes)} of memory, and may use ${megabytes(worker.limitBytes ?? 0)} by its memoryBytes`;
  const { usedBytes, totalBytes, what } = machine ?? { usedBytes: 0, totalBytes: 0, what: "the machine" };
  const percent = Math.round((1000 * usedBytes) / Math.max(1, totalBytes)) / 10;
  return `${what} used ${percent} % of its memory (${megabytes(usedBytes)} of ${megabytes(totalBytes)}; the limit is ${threshold * 100} %), of which it had ${megabytes(worker.usedBytes)}`;
}

/** The largest processes, one a line. */
export function listProcesses(processes: readonly { pid: number; name: string; usedBytes: number }[]): string {
  return processes.map(({ pid, name, usedBytes }) => `    ${megabytes(usedBytes).padStart(10)}  pid ${pid}  ${name}`).join("\n");
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
