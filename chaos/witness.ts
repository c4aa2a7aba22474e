/**
 * The actors of a chaos run, and what they write down: a file for each incarnation, with its process, its beginning, and the begin and end of each call.
 *
 * Times are of `process.hrtime`, which is one clock for all processes of a machine. A line is in the kernel before the call goes on, so it survives whatever kills the
 * process. What is read here after the run does not depend on anything that Shoal says about itself.
 */
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** How often an incarnation says that it is still there, without being called. */
const TICK_MS = 100;

/** The file of an incarnation, a line each. */
type Line =
  | { readonly kind: "start"; readonly actor: string; readonly pid: number; readonly daemon: number; readonly atMs: number }
  | { readonly kind: "begin" | "end"; readonly call: number; readonly atMs: number }
  | { readonly kind: "tick"; readonly atMs: number };

export class Witness {
  #file: string;

  constructor(folder: string, actor: string) {
    const atMs = Number(process.hrtime.bigint() / 1000n) / 1000;
    this.#file = join(folder, `${actor}-${process.pid}-${atMs}.log`);
    this.#write({ kind: "start", actor, pid: process.pid, daemon: process.ppid, atMs });
    setInterval(() => this.#write({ kind: "tick", atMs: Number(process.hrtime.bigint() / 1000n) / 1000 }), TICK_MS).unref();
  }

  call(call: number): number {
    this.#write({ kind: "begin", call, atMs: Number(process.hrtime.bigint() / 1000n) / 1000 });
    this.#write({ kind: "end", call, atMs: Number(process.hrtime.bigint() / 1000n) / 1000 });
    return call;
  }

  #write(line: Line): void {
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}

export interface Incarnation {
  readonly actor: string;
  readonly pid: number;
  /** The process id of the daemon under which it was started. */
  readonly daemon: number;
  readonly startMs: number;
  /** Its calls: when each began, and when it ended, if it did. */
  readonly calls: readonly { readonly call: number; readonly beginMs: number; readonly endMs: number | undefined }[];
  /** The last sign of life. */
  readonly lastMs: number;
}

/** All incarnations of each actor, in the order of their beginnings. */
export function readWitnesses(folder: string): Map<string, Incarnation[]> {
  const found = new Map<string, Incarnation[]>();
  for (const name of readdirSync(folder)) {
    if (!name.endsWith(".log")) continue;
    const lines = readFileSync(join(folder, name), "utf8")
      .split("\n")
      .slice(0, -1)
      .map((text) => JSON.parse(text) as Line);
    const [start] = lines;
    if (start?.kind !== "start") continue;
    const calls = new Map<number, { call: number; beginMs: number; endMs: number | undefined }>();
    for (const line of lines) {
      if (line.kind === "begin") calls.set(line.call, { call: line.call, beginMs: line.atMs, endMs: undefined });
      else if (line.kind === "end") {
        const begun = calls.get(line.call);
        if (begun !== undefined) begun.endMs = line.atMs;
      }
    }
    const { actor, pid, daemon, atMs: startMs } = start;
    const incarnation = { actor, pid, daemon, startMs, calls: Array.from(calls.values()), lastMs: lines.at(-1)?.atMs ?? startMs };
    found.set(actor, [...(found.get(actor) ?? []), incarnation]);
  }
  for (const incarnations of found.values()) incarnations.sort((a, b) => a.startMs - b.startMs);
  return found;
}

/** A call that an incarnation began after a newer one had answered. */
export function secondLives(witnesses: ReadonlyMap<string, readonly Incarnation[]>): string[] {
  const problems: string[] = [];
  for (const [actor, incarnations] of witnesses) {
    for (const [index, older] of incarnations.entries()) {
      for (const newer of incarnations.slice(index + 1)) {
        const answeredMs = newer.calls.find(({ endMs }) => endMs !== undefined)?.endMs ?? Infinity;
        const late = older.calls.filter(({ beginMs }) => beginMs > answeredMs);
        if (late.length === 0) continue;
        const byMs = ((late.at(-1)?.beginMs ?? 0) - answeredMs).toFixed(0);
        problems.push(
          `two lives of ${actor}: process ${older.pid} began ${late.length} calls after process ${newer.pid} had answered, up to ${byMs} ms later`,
        );
      }
    }
  }
  return problems;
}

/** For how long two incarnations of an actor showed signs of life, at most: what timers of the older one did, called by nobody. */
export function worstOverlapMs(witnesses: ReadonlyMap<string, readonly Incarnation[]>): number {
  let worst = 0;
  for (const incarnations of witnesses.values()) {
    for (const [index, { lastMs }] of incarnations.entries()) {
      const next = incarnations[index + 1];
      if (next !== undefined) worst = Math.max(worst, lastMs - next.startMs);
    }
  }
  return worst;
}
