/**
 * How much of a replica is used: requests under way, of those that it may have, over the last minute.
 *
 * Pure: times come with the calls. The sum of requests times milliseconds is kept at points a second apart, between which it counts as even; so a request costs one
 * multiplication, and an hour as much memory as a minute.
 */
import { UTILIZATION_STEP_MS, UTILIZATION_WINDOW_MS } from "../limits.ts";

interface Point {
  readonly atMs: number;
  /** Requests times milliseconds until then. */
  readonly sum: number;
}

export class Utilization {
  readonly #points: Point[];
  #ongoing = 0;
  #atMs: number;
  #sum = 0;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
    this.#points = [{ atMs: nowMs, sum: 0 }];
  }

  /** From now on so many requests are under way. */
  changed(ongoing: number, nowMs: number): void {
    this.#advance(nowMs);
    this.#ongoing = ongoing;
  }

  percent(maxOngoing: number, nowMs: number): number {
    this.#advance(nowMs);
    const startMs = nowMs - UTILIZATION_WINDOW_MS;
    const [first, second = { atMs: nowMs, sum: this.#sum }] = this.#points as [Point, Point?];
    const isLong = first.atMs < startMs;
    const atStart = isLong ? first.sum + ((second.sum - first.sum) * (startMs - first.atMs)) / (second.atMs - first.atMs) : first.sum;
    const spanMs = nowMs - Math.max(first.atMs, startMs);
    return spanMs <= 0 ? 0 : (100 * (this.#sum - atStart)) / (spanMs * maxOngoing);
  }

  #advance(nowMs: number): void {
    this.#sum += this.#ongoing * (nowMs - this.#atMs);
    this.#atMs = nowMs;
    const points = this.#points;
    if (nowMs - (points.at(-1) as Point).atMs < UTILIZATION_STEP_MS) return;
    points.push({ atMs: nowMs, sum: this.#sum });
    // The first is the last one that is not within the time looked at.
    while ((points[1] as Point).atMs <= nowMs - UTILIZATION_WINDOW_MS) points.shift();
  }
}
