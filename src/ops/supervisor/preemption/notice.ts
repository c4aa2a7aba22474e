/**
 * Preemption notices, the interface of their sources, and the reading of times and objects in answers. Pure.
 */
import { describeValue } from "../../../runtime/base/texts/describe.ts";
import { ShoalError } from "../../../runtime/base/errors.ts";
import { NOTICE_AHEAD_MAX_MS } from "./limits.ts";

export interface PreemptionNotice {
  /** Time until the machine goes, in milliseconds; undefined where nobody says. */
  readonly leftMs: number | undefined;
  /** The event, for the log. */
  readonly what: string;
}

export interface NoticeSource {
  /** Names the source in messages. */
  readonly what: string;
  /** Time between two looks. */
  readonly everyMs: number;
  /** @returns undefined while the machine stays @throws ShoalError for no answer, and for one that says neither */
  look(signal: AbortSignal): Promise<PreemptionNotice | undefined>;
}

const SHOWN_LENGTH = 200;
/** ISO 8601 with a zone, and the form of HTTP dates. */
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

export function unreadable(what: string, received: string): ShoalError {
  const reason = `its answer is no notice: received ${describeValue(received.slice(0, SHOWN_LENGTH))}`;
  return new ShoalError(`Cannot tell from ${what} whether this machine goes away: ${reason}.`, { reason });
}

/** @throws ShoalError for text that is no JSON object */
export function readObject(text: string, what: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw unreadable(what, text);
  return value as Readonly<Record<string, unknown>>;
}

/** Returns the milliseconds until a time, 0 for a past one. @throws ShoalError for text that is no time, and for one far away */
export function leftUntil(time: string, { what, nowMs }: { what: string; nowMs: number }): number {
  const atMs = ISO.test(time) || HTTP_DATE.test(time) ? Date.parse(time) : Number.NaN;
  if (!Number.isFinite(atMs) || atMs - nowMs > NOTICE_AHEAD_MAX_MS) throw unreadable(what, time);
  return Math.max(0, atMs - nowMs);
}
