/**
 * The numbers of a node over time, for charts: an hour with a point each five seconds, and a day with a point each minute.
 *
 * Memory is bounded and taken once: a row of numbers for each name and level. A point that was not measured is a gap, and a minute has
 * the mean of twelve measurements. Told by `node-metrics-service.ts`; nothing here asks a clock.
 */
import { SERIES_LEVELS, SERIES_NAMES_MAX } from "./limits.ts";

interface SeriesPoints {
  /** Milliseconds since 1970, ascending. */
  readonly t: number[];
  /** For each name as many values as times; null: not measured. */
  readonly series: { readonly name: string; readonly v: (number | null)[] }[];
}

export class NodeSeries {
  readonly #levels = SERIES_LEVELS.map(({ everyMs, points }) => new Level(everyMs, points));

  /** Notes values at a time, which does not go back. */
  add(timeMs: number, values: Readonly<Record<string, number>>): void {
    for (const level of this.#levels) level.add(timeMs, values);
  }

  /** Returns points from `sinceMs` on, of the finest level that reaches so far back. Unknown names are left out. */
  select(names: readonly string[], sinceMs: number): SeriesPoints {
    // Levels that begin together have the same span: the finest has more points.
    const best = this.#levels.find((one) => one.firstMs <= sinceMs) ?? this.#longest();
    return best?.select(names, sinceMs) ?? { t: [], series: [] };
  }

  /** The level with the earliest point, the finest of such. */
  #longest(): Level | undefined {
    let found: Level | undefined;
    for (const level of this.#levels) if (found === undefined || level.firstMs <= found.firstMs - level.everyMs) found = level;
    return found;
  }
}

/** A ring of points. */
class Level {
  readonly everyMs: number;
  readonly #times: Float64Array;
  readonly #rows = new Map<string, Float64Array>();
  /** Points that were ever begun; the last one is being gathered. */
  #count = 0;
  /** Measured values of the last point, by name. */
  #measured = new Map<string, number>();

  constructor(everyMs: number, points: number) {
    this.everyMs = everyMs;
    this.#times = new Float64Array(points);
  }

  /** Time of the oldest point; Infinity where there is none. */
  get firstMs(): number {
    const oldest = Math.max(0, this.#count - this.#times.length);
    return this.#count === 0 ? Number.POSITIVE_INFINITY : (this.#times[oldest % this.#times.length] as number);
  }

  add(timeMs: number, values: Readonly<Record<string, number>>): void {
    const start = Math.floor(timeMs / this.everyMs) * this.everyMs;
    const size = this.#times.length;
    if (this.#count === 0 || start > (this.#times[(this.#count - 1) % size] as number)) {
      const at = this.#count % size;
      this.#times[at] = start;
      for (const row of this.#rows.values()) row[at] = Number.NaN;
      this.#count += 1;
      this.#measured.clear();
    }
    const at = (this.#count - 1) % size;
    for (const [name, value] of Object.entries(values)) {
      const row = this.#rowOf(name);
      if (row === undefined || !Number.isFinite(value)) continue;
      const before = this.#measured.get(name) ?? 0;
      row[at] = before === 0 ? value : ((row[at] as number) * before + value) / (before + 1);
      this.#measured.set(name, before + 1);
    }
  }

  select(names: readonly string[], sinceMs: number): SeriesPoints {
    const size = this.#times.length;
    const places: number[] = [];
    for (let index = Math.max(0, this.#count - size); index < this.#count; index += 1)
      if ((this.#times[index % size] as number) >= sinceMs) places.push(index % size);
    const series = names.flatMap((name) => {
      const row = this.#rows.get(name);
      return row === undefined ? [] : [{ name, v: places.map((at) => numberOrNull(row[at] as number)) }];
    });
    return { t: places.map((at) => this.#times[at] as number), series };
  }

  #rowOf(name: string): Float64Array | undefined {
    const known = this.#rows.get(name);
    if (known !== undefined || this.#rows.size >= SERIES_NAMES_MAX) return known;
    const made = new Float64Array(this.#times.length).fill(Number.NaN);
    this.#rows.set(name, made);
    return made;
  }
}

function numberOrNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
