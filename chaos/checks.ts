/**
 * Checks a chaos run's actors: returns the problems found in their logs and in the facts that the driver was told.
 *
 * Pure: logs and facts in, sentences out, so that `checks.test.ts` sees each check fail on a wrong log. The driver's facts are promises:
 * answered calls, killed actors, actors whose calls may run once.
 */
import type { Fault } from "./faults.ts";
import { DRIVER } from "./processor-waits.ts";
import type { Incarnation, Witnesses } from "./witness.ts";

/** A resumed process runs due timers first, before it looks at the time. */
const RESUMED_MS = 200;
/** A worker that is told to end by a daemon that has much to do. */
const KILLED_WITHIN_MS = 1000;
/** After this a node that nobody hears is dead, and has ended its workers. */
const UNHEARD_MAX_MS = 15_000;

export interface Promised {
  /** Calls whose value the driver has got, by actor. */
  readonly answered: ReadonlyMap<string, ReadonlySet<number>>;
  /** When `kill()` of an actor was acknowledged. */
  readonly killedMs: ReadonlyMap<string, number>;
  /** Actors whose calls may not be tried again. */
  readonly once: ReadonlySet<string>;
}

/** An incarnation that showed a sign of life after a newer one had begun. */
export function twoLives(witnesses: Witnesses, faults: readonly Fault[]): string[] {
  const problems: string[] = [];
  for (const [actor, incarnations] of witnesses) {
    for (const [index, older] of incarnations.entries()) {
      const newer = incarnations[index + 1];
      if (newer === undefined) continue;
      const calls = older.calls.filter(({ beginMs }) => beginMs > newer.startMs);
      const ticks = older.ticksMs.filter((atMs) => atMs > newer.startMs && !hasJustResumed(atMs, faults));
      if (calls.length + ticks.length === 0) continue;
      const lateMs = (Math.max(...calls.map(({ beginMs }) => beginMs), ...ticks) - newer.startMs).toFixed(0);
      problems.push(
        `two lives of ${actor}: process ${older.pid} began ${calls.length} calls and showed ${ticks.length} other signs of life after process ${newer.pid} had begun, up to ${lateMs} ms later`,
      );
    }
  }
  return problems;
}

function hasJustResumed(atMs: number, faults: readonly Fault[]): boolean {
  return faults.some(({ kind, endMs }) => /stop|freeze|two/.test(kind) && atMs >= endMs - RESUMED_MS && atMs <= endMs + RESUMED_MS);
}

/** A call that the driver had got the answer of, and that no incarnation has ended; or that began twice where it may once. */
export function wrongCalls(witnesses: Witnesses, { answered, once }: Promised): string[] {
  const problems: string[] = [];
  for (const [actor, calls] of answered) {
    const ended = new Set(
      (witnesses.get(actor) ?? []).flatMap((each) => each.calls.filter(({ endMs }) => endMs !== undefined).map(({ call }) => call)),
    );
    const lost = Array.from(calls).filter((call) => !ended.has(call));
    if (lost.length > 0) problems.push(`${lost.length} calls of ${actor} were answered and not run: ${lost.slice(0, 5).join(", ")}`);
  }
  for (const actor of once) {
    const begun = new Set<number>();
    for (const { pid, calls } of witnesses.get(actor) ?? []) {
      for (const { call } of calls) {
        if (begun.has(call)) problems.push(`call ${call} of ${actor}, which may run once, ran again in process ${pid}`);
        begun.add(call);
      }
    }
  }
  return problems;
}

/** A sign of life of an actor after the driver was told that it is dead for good. One that was cut off may live until its node is heard, or is dead. */
export function livesAfterKill(witnesses: Witnesses, { killedMs }: Promised, faults: readonly Fault[]): string[] {
  const problems: string[] = [];
  for (const [actor, atMs] of killedMs) {
    for (const { pid, daemon, lastMs, startMs } of witnesses.get(actor) ?? []) {
      const wasCutOff = faults.some(
        ({ daemons, beginMs, endMs }) => daemons.includes(daemon) && beginMs < atMs + KILLED_WITHIN_MS && endMs > atMs - UNHEARD_MAX_MS,
      );
      const withinMs = wasCutOff ? UNHEARD_MAX_MS : KILLED_WITHIN_MS;
      const lateMs = (Math.max(startMs, lastMs) - atMs).toFixed(0);
      if (startMs > atMs) problems.push(`${actor} began again in process ${pid}, ${lateMs} ms after its kill was acknowledged`);
      else if (lastMs > atMs + withinMs)
        problems.push(`${actor} lived on in process ${pid}, for ${lateMs} ms after its kill was acknowledged`);
    }
  }
  return problems;
}

export interface Recovery {
  readonly actor: string;
  /** Less the delay caused by the machine. */
  readonly ms: number;
  /** Time that the machine took from the processes concerned. */
  readonly waitedMs: number;
  readonly count: number;
}

/** Returns how long processes waited for a processor in a time. */
export type WaitedMs = (pids: readonly number[], fromMs: number, toMs: number) => number;

/**
 * Returns the longest time from a node's death to the first answer of an actor that moved, or to its beginning where nobody calls the
 * actor. Infinite where an actor has not come back.
 */
export function worstRecovery(
  witnesses: Witnesses,
  faults: readonly Fault[],
  { promised: { killedMs }, waitedMs }: { promised: Promised; waitedMs: WaitedMs },
): Recovery {
  let worst = { actor: "none", ms: 0, waitedMs: 0 };
  let count = 0;
  for (const fault of faults) {
    const { kind, beginMs, daemons } = fault;
    if (kind !== "kill node") continue;
    for (const [actor, incarnations] of witnesses) {
      const index = incarnations.findIndex((each, at) => daemons.includes(each.daemon) && isNewest(incarnations, at, beginMs));
      if (index < 0 || (killedMs.get(actor) ?? Infinity) < beginMs + 6000) continue;
      const later = incarnations.slice(index + 1);
      // Named ones are called again only at the end.
      const backMs = isCalled(actor) ? firstAnswerMs(later) : (later[0]?.startMs ?? Infinity);
      count += 1;
      const ofMachineMs = waitedFor(
        fault,
        later.findLast(({ startMs }) => startMs <= backMs),
        { backMs, waitedMs },
      );
      const ms = backMs - beginMs - ofMachineMs;
      if (ms > worst.ms) worst = { actor, ms, waitedMs: ofMachineMs };
    }
  }
  return { ...worst, count };
}

/** First the head finds the node dead and has the actor started, then the driver finds out where it is and calls it. */
function waitedFor(
  { beginMs, heads, home }: Fault,
  incarnation: Incarnation | undefined,
  { backMs, waitedMs }: { backMs: number; waitedMs: WaitedMs },
): number {
  if (incarnation === undefined) return 0;
  const { pid, daemon, startMs } = incarnation;
  return waitedMs([...heads, daemon, pid], beginMs, startMs) + waitedMs([DRIVER, home, daemon, pid], startMs, backMs);
}

/** Whether the driver calls it one call after another. */
function isCalled(actor: string): boolean {
  return actor.startsWith("actor-") || actor.startsWith("once-");
}

function isNewest(incarnations: readonly Incarnation[], index: number, atMs: number): boolean {
  const next = incarnations[index + 1];
  return (incarnations[index]?.startMs ?? Infinity) <= atMs && (next === undefined || next.startMs > atMs);
}

function firstAnswerMs(incarnations: readonly Incarnation[]): number {
  return Math.min(Infinity, ...incarnations.flatMap(({ calls }) => calls.flatMap(({ endMs }) => endMs ?? [])));
}
