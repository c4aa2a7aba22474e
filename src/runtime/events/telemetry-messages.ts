/**
 * The messages of the extension `telemetry`: processes report events and counters to the head, and ask it about them.
 */
import { count, either, fields, flag, list, nothing, number, type Of, orUndefined, record, text } from "../wire/header-shape.ts";

/** The fields of an event; `recordEvent` has the limits. */
export type EventFields = Readonly<Record<string, string | number | boolean>>;

const eventParts = {
  /** Milliseconds since 1970, by the clock of the process. */
  timeMs: number,
  /** The kind of event, as `library.event`: `tune.trialStopped`. */
  kind: text,
  fields: record(either(text, number, flag)),
};
const event = fields(eventParts);
/** Something that happened in a process. */
export type TelemetryEvent = Of<typeof event>;

const collectedEvent = fields({ ...eventParts, process: text });
/** An event with the id of the process that told it. */
export type CollectedEvent = Of<typeof collectedEvent>;

const counter = fields({ name: text, tags: record(text), value: number });
/** A sum over all processes, those that have ended among them. */
export type CounterValue = Of<typeof counter>;

const report = fields({
  events: list(event),
  /** Events that had to make room before they could be told. */
  dropped: count,
  /** The changed counters, with their sums since the process began. */
  counters: list(counter),
});
export type TelemetryReport = Of<typeof report>;

export const telemetryMessages = {
  report: { asks: report, answers: nothing },
  events: { asks: fields({ kind: orUndefined(text), limit: count }), answers: fields({ events: list(collectedEvent), dropped: count }) },
  counters: { asks: fields({ prefix: text }), answers: list(counter) },
};
