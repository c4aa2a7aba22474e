/**
 * Measures by how much the event loop of a process of Serve is late, under Ray's names: code that computes holds up everything else there.
 *
 * Started once in each process, by its controller, proxy or replica. Keeps no process alive.
 */
import { EVENT_LOOP_EVERY_MS } from "../limits.ts";
import { metricOf } from "./registry.ts";

const TAG_KEYS = ["component", "loop_type"];
const BOUNDARIES = [1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

let isWatched = false;

/** @param component `controller`, `proxy` or `replica` */
export function watchEventLoop(component: string): void {
  if (isWatched) return;
  isWatched = true;
  const tags = [component, "main"];
  const late = metricOf(
    "histogram",
    { name: "serve_event_loop_scheduling_latency_ms", description: "By how much the event loop was late", tagKeys: TAG_KEYS },
    BOUNDARIES,
  ).series(tags);
  const rounds = metricOf("counter", {
    name: "serve_event_loop_monitoring_iterations",
    description: "How often the lateness of the event loop was measured",
    tagKeys: TAG_KEYS,
  }).series(tags);
  const look = (): void => {
    const dueMs = performance.now() + EVENT_LOOP_EVERY_MS;
    setTimeout(() => {
      late.observe(Math.max(0, performance.now() - dueMs));
      rounds.add(1);
      look();
    }, EVENT_LOOP_EVERY_MS).unref();
  };
  look();
}
