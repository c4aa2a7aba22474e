/**
 * Events and counters of one process, on their way to the head.
 *
 * Recording sends no message: changes are reported together a moment later, and before the process asks or ends. Both are bounded. A process that records faster
 * than it can report drops its oldest events, and counters beyond the limit are not counted; the report says how many.
 */
import { describeValue } from "../base/texts/describe.ts";
import { EventRing } from "./event-ring.ts";
import { COUNTERS_OF_PROCESS_MAX, EVENTS_OF_PROCESS_MAX, FIELD_CHARACTERS_MAX, FIELDS_MAX, TELL_AFTER_MS } from "./limits.ts";
import type { CounterValue, EventFields, TelemetryEvent, TelemetryReport } from "./telemetry-messages.ts";

export class Telemetry {
  readonly #tell: (report: TelemetryReport) => void;
  readonly #events = new EventRing<TelemetryEvent>(EVENTS_OF_PROCESS_MAX);
  readonly #counters = new Map<string, { name: string; tags: Record<string, string>; value: number }>();
  readonly #changed = new Set<string>();
  #droppedCounters = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(tell: (report: TelemetryReport) => void) {
    this.#tell = tell;
  }

  /** @throws TypeError for fields that are no plain values */
  record(kind: string, fields: EventFields = {}): void {
    requireName("record an event", "its kind", kind);
    this.#events.push({ timeMs: Date.now(), kind, fields: plainFields(kind, fields) });
    this.#tellLater();
  }

  /** Adds to a counter. @throws RangeError unless the amount is a number from 0 */
  count(name: string, amount = 1, tags: Readonly<Record<string, string>> = {}): void {
    requireName("count", "the counter's name", name);
    if (!Number.isFinite(amount) || amount < 0)
      throw new RangeError(`Cannot count ${name}: a counter grows by a number of 0 or more: received ${describeValue(amount)}`);
    const key = keyOf({ name, tags });
    const known = this.#counters.get(key);
    if (known !== undefined) known.value += amount;
    else if (this.#counters.size < COUNTERS_OF_PROCESS_MAX) this.#counters.set(key, { name, tags: { ...tags }, value: amount });
    else {
      this.#droppedCounters += 1;
      return;
    }
    this.#changed.add(key);
    this.#tellLater();
  }

  /** Tells what has not been told. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#events.size === 0 && this.#changed.size === 0) return;
    const { items, dropped } = this.#events.drain();
    const counters = Array.from(this.#changed, (key) => this.#counters.get(key) as CounterValue);
    this.#changed.clear();
    this.#tell({ events: items, dropped: dropped + this.#droppedCounters, counters });
    this.#droppedCounters = 0;
  }

  #tellLater(): void {
    this.#timer ??= setTimeout(() => this.flush(), TELL_AFTER_MS).unref();
  }
}

/** Returns the key of a counter, whose tags tell it from others of the same name. */
export function keyOf({ name, tags }: Pick<CounterValue, "name" | "tags">): string {
  return JSON.stringify([name, ...Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

function requireName(action: string, what: string, name: unknown): void {
  if (typeof name === "string" && /^[\w.:/-]{1,100}$/.test(name)) return;
  throw new TypeError(`Cannot ${action}: ${what} is 1 to 100 letters, digits and . _ : / -: received ${describeValue(name)}`);
}

function plainFields(kind: string, fields: EventFields): EventFields {
  const entries = Object.entries(fields);
  if (entries.length > FIELDS_MAX)
    throw new RangeError(`Cannot record ${kind}: an event has at most ${FIELDS_MAX} fields: received ${entries.length}`);
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (typeof value === "string")
        return [name, value.length > FIELD_CHARACTERS_MAX ? `${value.slice(0, FIELD_CHARACTERS_MAX)}…` : value];
      if (typeof value === "boolean" || Number.isFinite(value)) return [name, value];
      throw new TypeError(`Cannot record ${kind}: field ${name} is text, a finite number or a boolean: received ${describeValue(value)}`);
    }),
  );
}
