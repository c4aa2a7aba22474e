/**
 * The actors of a chaos run, and what they write down: a file for each incarnation, with its process, its beginning, and the begin and end of each call.
 *
 * Times are of `process.hrtime`, which is one clock for all processes of a machine. A line is in the kernel before the call goes on, so it
 * survives a SIGKILL. The logs that are read here after the run do not depend on anything that Shoal says about itself.
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

  /** Is under way for a while. */
  async longCall(call: number, lastsMs: number): Promise<number> {
    this.#write({ kind: "begin", call, atMs: Number(process.hrtime.bigint() / 1000n) / 1000 });
    await new Promise((resolve) => setTimeout(resolve, lastsMs));
    this.#write({ kind: "end", call, atMs: Number(process.hrtime.bigint() / 1000n) / 1000 });
    return call;
  }

  #write(line: Line): void {
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}

export interface WitnessedCall {
  readonly call: number;
  readonly beginMs: number;
  /** Undefined where it did not come so far. */
  readonly endMs: number | undefined;
}

export interface Incarnation {
  readonly actor: string;
  readonly pid: number;
  /** The process id of the daemon under which it was started. */
  readonly daemon: number;
  readonly startMs: number;
  /** In the order in which they began; one that came twice is here twice. */
  readonly calls: readonly WitnessedCall[];
  readonly ticksMs: readonly number[];
  /** The last sign of life. */
  readonly lastMs: number;
}

/** All incarnations of each actor, in the order of their beginnings. */
export type Witnesses = ReadonlyMap<string, readonly Incarnation[]>;

export function readWitnesses(folder: string): Witnesses {
  const found = new Map<string, Incarnation[]>();
  for (const name of readdirSync(folder)) {
    if (!name.endsWith(".log")) continue;
    const incarnation = parseWitness(readFileSync(join(folder, name), "utf8"));
    if (incarnation !== undefined) found.set(incarnation.actor, [...(found.get(incarnation.actor) ?? []), incarnation]);
  }
  for (const incarnations of found.values()) incarnations.sort((a, b) => a.startMs - b.startMs);
  return found;
}

/** Undefined for one that was killed before its first line was whole. */
function parseWitness(text: string): Incarnation | undefined {
  const lines = text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
  const [start] = lines;
  if (start?.kind !== "start") return undefined;
  const calls: { call: number; beginMs: number; endMs: number | undefined }[] = [];
  const ticksMs: number[] = [];
  for (const line of lines) {
    if (line.kind === "begin") calls.push({ call: line.call, beginMs: line.atMs, endMs: undefined });
    else if (line.kind === "tick") ticksMs.push(line.atMs);
    else if (line.kind === "end") {
      const begun = calls.findLast(({ call, endMs }) => call === line.call && endMs === undefined);
      if (begun !== undefined) begun.endMs = line.atMs;
    }
  }
  const { actor, pid, daemon, atMs: startMs } = start;
  return { actor, pid, daemon, startMs, calls, ticksMs, lastMs: lines.at(-1)?.atMs ?? startMs };
}
