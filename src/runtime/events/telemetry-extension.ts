/**
 * The head's part of telemetry: the latest events of all processes, and the sums of their counters.
 *
 * Both live in the head's memory: a new head begins without events, and hears of a counter again when it changes. A process reports a counter's sum since the
 * process began, so a repeated report changes nothing.
 */
import { answering, type Extension } from "../extension/extension.ts";
import { EventRing } from "./event-ring.ts";
import { COUNTERS_OF_HEAD_MAX, EVENTS_OF_HEAD_MAX } from "./limits.ts";
import { keyOf } from "./telemetry.ts";
import { type CollectedEvent, type CounterValue, telemetryMessages } from "./telemetry-messages.ts";

interface Counter extends CounterValue {
  value: number;
  /** The last sums of living processes, for the difference to their next report. */
  readonly told: Map<string, number>;
}

export const telemetryExtension: Extension = {
  name: "telemetry",
  head: () => {
    const events = new EventRing<CollectedEvent>(EVENTS_OF_HEAD_MAX);
    const counters = new Map<string, Counter>();
    let dropped = 0;
    const counted = (process: string, { name, tags, value }: CounterValue): void => {
      const key = keyOf({ name, tags });
      let counter = counters.get(key);
      if (counter === undefined) {
        if (counters.size >= COUNTERS_OF_HEAD_MAX) {
          dropped += 1;
          return;
        }
        counter = { name, tags, value: 0, told: new Map() };
        counters.set(key, counter);
      }
      counter.value += Math.max(0, value - (counter.told.get(process) ?? 0));
      counter.told.set(process, value);
    };
    return {
      messages: answering(telemetryMessages, {
        report: (report, { process }) => {
          for (const event of report.events) events.push({ ...event, process });
          for (const counter of report.counters) counted(process, counter);
          dropped += report.dropped;
          return undefined;
        },
        events: ({ kind, limit }) => {
          const found = Array.from(events).filter((event) => kind === undefined || event.kind === kind);
          return { events: limit === 0 ? [] : found.slice(-limit), dropped: dropped + events.dropped };
        },
        counters: ({ prefix }) =>
          Array.from(counters.values())
            .filter(({ name }) => name.startsWith(prefix))
            .map(({ name, tags, value }) => ({ name, tags, value })),
      }),
      processGone: (process) => {
        for (const { told } of counters.values()) told.delete(process);
      },
    };
  },
};
