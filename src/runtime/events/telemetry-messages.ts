/**
 * What processes tell the head of events and counters, and ask it about them: the messages of the extension `telemetry`.
 */
import type { ExtensionMessage } from "../extension/extension.ts";
import * as shape from "../wire/header-shape.ts";

const { count, either, fields, flag, list, number, optional, record, text } = shape;

/** What an event says of itself; `recordEvent` has the limits. */
export type EventFields = Readonly<Record<string, string | number | boolean>>;

/** Something that happened in a process. */
export interface TelemetryEvent {
  /** Milliseconds since 1970, by the clock of that process. */
  readonly timeMs: number;
  /** What happened, as `library.event`: `tune.trialStopped`. */
  readonly kind: string;
  readonly fields: EventFields;
}

/** An event with the id of the process that told it. */
export interface CollectedEvent extends TelemetryEvent {
  readonly process: string;
}

/** A sum over all processes, those that have ended among them. */
export interface CounterValue {
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface TelemetryReport {
  readonly events: readonly TelemetryEvent[];
  /** Events that had to make room before they could be told. */
  readonly dropped: number;
  /** What the counters that changed have counted since the process began. */
  readonly counters: readonly CounterValue[];
}

const eventParts = { timeMs: number, kind: text, fields: record(either(text, number, flag)) };
const counter = fields<CounterValue>({ name: text, tags: record(text), value: number });

export const telemetryMessages: {
  readonly report: ExtensionMessage<TelemetryReport, undefined>;
  readonly events: ExtensionMessage<{ kind: string | undefined; limit: number }, { events: CollectedEvent[]; dropped: number }>;
  readonly counters: ExtensionMessage<{ prefix: string }, CounterValue[]>;
} = {
  report: {
    asks: fields<TelemetryReport>({ events: list(fields<TelemetryEvent>(eventParts)), dropped: count, counters: list(counter) }),
    answers: shape.nothing,
  },
  events: {
    asks: fields<{ kind: string | undefined; limit: number }>({ kind: optional(text), limit: count }),
    answers: fields<{ events: CollectedEvent[]; dropped: number }>({
      events: list(fields<CollectedEvent>({ ...eventParts, process: text })),
      dropped: count,
    }),
  },
  counters: { asks: fields<{ prefix: string }>({ prefix: text }), answers: list(counter) },
};
