/**
 * Events and counters as libraries record and read them, in drivers and workers.
 *
 * Recording is cheap and bounded (`runtime/events/telemetry.ts`); reading asks the head, which has the latest of all processes.
 */
import { EVENTS_OF_HEAD_MAX } from "../../runtime/events/limits.ts";
import { type CollectedEvent, type CounterValue, type EventFields, telemetryMessages } from "../../runtime/events/telemetry-messages.ts";
import { requireRunning } from "../current-runtime.ts";
import { extensionClient } from "../cluster/extensions.ts";

const head = extensionClient("telemetry", telemetryMessages);

/**
 * Records that something happened, for `listEvents`: told to the head within a quarter of a second.
 *
 * @param kind `library.event`
 * @throws TypeError for fields that are not text, finite numbers or booleans
 */
export function recordEvent(kind: string, fields?: EventFields): void {
  requireRunning().telemetry.record(kind, fields);
}

/**
 * Adds to a counter, for `listCounters`: a sum over all processes.
 *
 * @throws RangeError for an amount below 0
 */
export function addToCounter(name: string, amount = 1, tags?: Readonly<Record<string, string>>): void {
  requireRunning().telemetry.count(name, amount, tags);
}

/** The latest events, the oldest first; `dropped`: how many were recorded and are not kept. The head keeps 10,000, in its memory. */
export async function listEvents(options: { readonly kind?: string; readonly limit?: number } = {}): Promise<{
  events: CollectedEvent[];
  dropped: number;
}> {
  requireRunning().telemetry.flush();
  return head.ask("events", { kind: options.kind, limit: options.limit ?? EVENTS_OF_HEAD_MAX });
}

/** All counters whose names begin so. */
export async function listCounters(options: { readonly prefix?: string } = {}): Promise<CounterValue[]> {
  requireRunning().telemetry.flush();
  return head.ask("counters", { prefix: options.prefix ?? "" });
}
