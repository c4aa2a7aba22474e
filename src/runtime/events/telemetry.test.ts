/** Events and counters arrive whole, once, and bounded. */
import { describe, expect, test, vi } from "vitest";
import type { ExtensionTable, HeadContext } from "../extension/extension.ts";
import { EventRing } from "./event-ring.ts";
import { COUNTERS_OF_PROCESS_MAX, EVENTS_OF_PROCESS_MAX, FIELD_CHARACTERS_MAX } from "./limits.ts";
import { Telemetry } from "./telemetry.ts";
import { telemetryExtension } from "./telemetry-extension.ts";
import type { CollectedEvent, CounterValue, TelemetryReport } from "./telemetry-messages.ts";

describe("a ring of events", () => {
  test("keeps the latest, the oldest first, and counts what made room", () => {
    const ring = new EventRing<number>(3);
    for (const item of [1, 2, 3, 4, 5]) ring.push(item);
    expect([Array.from(ring), ring.size, ring.dropped]).toEqual([[3, 4, 5], 3, 2]);
    expect(ring.drain()).toEqual({ items: [3, 4, 5], dropped: 2 });
    ring.push(6);
    expect([Array.from(ring), ring.dropped]).toEqual([[6], 0]);
  });
});

describe("a process", () => {
  test("tells what has changed together, a moment later, and nothing twice", () => {
    vi.useFakeTimers();
    try {
      const told: TelemetryReport[] = [];
      const telemetry = new Telemetry((report) => told.push(report));
      telemetry.record("a.b", { size: 1 });
      telemetry.count("made", 2, { kind: "x" });
      telemetry.count("made", 3, { kind: "x" });
      expect(told).toEqual([]);
      vi.advanceTimersByTime(1000);
      telemetry.flush();
      expect(told).toEqual([
        {
          events: [{ timeMs: expect.any(Number), kind: "a.b", fields: { size: 1 } }],
          dropped: 0,
          counters: [{ name: "made", tags: { kind: "x" }, value: 5 }],
        },
      ]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("keeps no more than it may, and says how much it did not", () => {
    const told: TelemetryReport[] = [];
    const telemetry = new Telemetry((report) => told.push(report));
    for (let number = 0; number < EVENTS_OF_PROCESS_MAX + 5; number += 1) telemetry.record("a");
    for (let number = 0; number < COUNTERS_OF_PROCESS_MAX + 7; number += 1) telemetry.count("c", 1, { number: String(number) });
    telemetry.flush();
    expect([told[0]?.events.length, told[0]?.counters.length, told[0]?.dropped]).toEqual([
      EVENTS_OF_PROCESS_MAX,
      COUNTERS_OF_PROCESS_MAX,
      12,
    ]);
  });

  test("refuses what cannot be told, and cuts long text", () => {
    const told: TelemetryReport[] = [];
    const telemetry = new Telemetry((report) => told.push(report));
    expect(() => telemetry.record("")).toThrow('Cannot record an event: its kind is 1 to 100 letters, digits and . _ : / -: received ""');
    expect(() => telemetry.record("a", { list: [] as never })).toThrow("Cannot record a: field list is text, a finite number or a boolean");
    expect(() => telemetry.record("a", { size: Number.NaN })).toThrow("field size is text, a finite number or a boolean");
    expect(() => telemetry.count("a", -1)).toThrow("Cannot count a: a counter grows by a number of 0 or more: received -1");
    telemetry.record("a", { text: "x".repeat(5000) });
    telemetry.flush();
    expect(told[0]?.events[0]?.fields["text"]).toHaveLength(FIELD_CHARACTERS_MAX + 1);
  });
});

describe("the head", () => {
  const context = { nowMs: () => 0, every: () => {}, warn: () => {} } as unknown as HeadContext;
  const ask = (table: ExtensionTable | undefined, message: string, header: unknown, process = "p"): unknown => {
    const row = table?.get(message);
    if (row?.asks(header) !== true) throw new Error(`${message} is malformed`);
    return row.answer(header, { process: process as never, question: "" });
  };
  const report = (value: number): TelemetryReport => ({ events: [], dropped: 0, counters: [{ name: "made", tags: {}, value }] });
  const valueOf = (table: ExtensionTable | undefined): number | undefined =>
    (ask(table, "counters", { prefix: "ma" }) as CounterValue[])[0]?.value;

  test("sums what processes have counted since they began; a report that comes twice changes nothing", () => {
    const parts = telemetryExtension.head?.(context);
    const table = parts?.messages;
    ask(table, "report", report(2), "a");
    ask(table, "report", report(2), "a");
    ask(table, "report", report(5), "b");
    ask(table, "report", report(3), "a");
    expect(valueOf(table)).toBe(8);
    parts?.processGone?.("a" as never);
    expect(valueOf(table)).toBe(8);
  });

  test("keeps the latest events with who told them", () => {
    const table = telemetryExtension.head?.(context).messages;
    const events = ["a", "b", "a"].map((kind, timeMs) => ({ timeMs, kind, fields: {} }));
    ask(table, "report", { events, dropped: 4, counters: [] });
    const found = (header: unknown): { events: CollectedEvent[]; dropped: number } => ask(table, "events", header) as never;
    expect(found({ kind: "a", limit: 10 }).events.map(({ timeMs, process }) => [timeMs, process])).toEqual([
      [0, "p"],
      [2, "p"],
    ]);
    expect(found({ limit: 1 }).events.map(({ timeMs }) => timeMs)).toEqual([2]);
    expect(found({ limit: 0 })).toEqual({ events: [], dropped: 4 });
  });
});
