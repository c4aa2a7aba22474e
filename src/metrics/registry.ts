/**
 * Counters, gauges and histograms of one process: those of users' code, and those that libraries keep of themselves.
 *
 * Metrics of libraries have Ray's names. Series are bounded, because a tag with a new value for each request would fill the memory. Above
 * the limit further series are counted together under the tag value "other".
 */
import { describeValue, type MetricKind, type MetricSnapshot } from "../core/internal.ts";
import { SERIES_MAX } from "./limits.ts";
import { beginReports } from "./report.ts";

export type { MetricKind, MetricSnapshot, ProcessMetrics } from "../core/internal.ts";
export type Tags = Readonly<Record<string, string>>;

interface MetricFacts {
  readonly name: string;
  readonly description: string;
  readonly tagKeys: readonly string[];
  /** Made by users' code, whose series share a limit. */
  readonly isUsers?: boolean;
}

/** A series of a metric: its tags, and its number or its buckets. Hot paths hold a series instead of looking it up. */
export class Series {
  readonly tags: readonly string[];
  value = 0;
  /** Buckets of a histogram: the number of values between two boundaries each. */
  readonly counts: number[];
  readonly #boundaries: readonly number[];

  constructor(tags: readonly string[], boundaries: readonly number[] | undefined) {
    this.tags = tags;
    this.#boundaries = boundaries ?? [];
    this.counts = boundaries === undefined ? [] : new Array<number>(boundaries.length + 1).fill(0);
  }

  add(amount: number): void {
    this.value += amount;
  }

  set(value: number): void {
    this.value = value;
  }

  observe(value: number): void {
    this.value += value;
    let index = 0;
    while (index < this.#boundaries.length && value > (this.#boundaries[index] as number)) index += 1;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
  }
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const KEY = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
/** Milliseconds, as Ray's latencies have them. */
export const LATENCY_BOUNDARIES: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 300, 400, 500, 1000, 2000, 5000, 10_000, 60_000, 120_000, 300_000, 600_000,
];

export class Metric {
  readonly facts: MetricFacts;
  readonly kind: MetricKind;
  readonly boundaries: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor(kind: MetricKind, facts: MetricFacts, boundaries: readonly number[] = []) {
    this.kind = kind;
    this.facts = facts;
    this.boundaries = boundaries;
  }

  /** The series of these tag values, in the order of the keys. */
  series(tags: readonly string[]): Series {
    const key = tags.join("\u0000");
    let series = this.#series.get(key);
    if (series !== undefined) return series;
    const isFull = this.#series.size >= SERIES_MAX || (this.facts.isUsers === true && users.series >= SERIES_MAX);
    if (isFull && tags.some((tag) => tag !== OTHER)) {
      warnOfLimit(this.facts.name);
      return this.series(tags.map(() => OTHER));
    }
    if (this.facts.isUsers === true) users.series += 1;
    series = new Series([...tags], this.kind === "histogram" ? this.boundaries : undefined);
    this.#series.set(key, series);
    return series;
  }

  /** Forgets all series, because series of deleted things would stay for ever. */
  clear(): void {
    this.#series.clear();
  }

  snapshot(): MetricSnapshot {
    const series = [...this.#series.values()].map(({ tags, value, counts }) => ({ tags, value, counts }));
    const { name, description, tagKeys, isUsers } = this.facts;
    return {
      name,
      description,
      tagKeys,
      kind: this.kind,
      boundaries: this.boundaries,
      series,
      ...(isUsers === true ? {} : { isSystem: true }),
    };
  }
}

const OTHER = "other";
/** The prefix of Shoal's own metrics on a cluster's page. */
const SYSTEM_PREFIX = "shoal_";
/** Series of users' metrics in this process. */
const users = { series: 0, isWarned: false };

function warnOfLimit(name: string): void {
  if (users.isWarned) return;
  users.isWarned = true;
  console.warn(
    `Metric ${name} has too many different tags: beyond ${SERIES_MAX} series in this process, values are counted under the tag value "${OTHER}". Use tags with few values`,
  );
}

const metrics = new Map<string, Metric>();

/**
 * Returns the metric of a name in this process, made at the first call.
 *
 * @throws TypeError for an invalid name, and for a name that a metric of another kind or with other tags has
 */
export function metricOf(kind: MetricKind, facts: MetricFacts, boundaries: readonly number[] = []): Metric {
  const { name, tagKeys } = facts;
  if (typeof name !== "string" || !NAME.test(name))
    throw new TypeError(`Cannot make a metric: its name consists of letters, digits, "_" and ":": received ${describeValue(name)}`);
  for (const key of tagKeys) {
    if (!KEY.test(key))
      throw new TypeError(`Cannot make metric ${name}: a tag's name consists of letters, digits and "_": received ${describeValue(key)}`);
    if (key.startsWith("__") || key === "le" || tagKeys.indexOf(key) !== tagKeys.lastIndexOf(key))
      throw new TypeError(
        `Cannot make metric ${name}: a tag's name is given once, is not "le" and does not begin with "__": received ${describeValue(key)}`,
      );
  }
  if (facts.isUsers === true && name.startsWith(SYSTEM_PREFIX))
    throw new TypeError(
      `Cannot make metric ${name}: names that begin with ${SYSTEM_PREFIX} are those of Shoal's own metrics. Choose another`,
    );
  const known = metrics.get(name);
  if (known !== undefined) {
    if (known.kind !== kind || known.facts.tagKeys.join() !== tagKeys.join())
      throw new TypeError(
        `Cannot make metric ${name}: there is one with other tags or of another kind in this process: received ${kind} (${tagKeys.join(", ")})`,
      );
    return known;
  }
  const made = new Metric(kind, facts, boundaries);
  metrics.set(name, made);
  beginReports(metricSnapshots);
  return made;
}

const refreshers = new Set<() => void>();

/** Runs before the metrics of this process are read: for gauges whose values somebody else has. */
export function beforeSnapshots(refresh: () => void): void {
  refreshers.add(refresh);
}

/** All metrics of this process. */
export function metricSnapshots(): MetricSnapshot[] {
  for (const refresh of refreshers) refresh();
  return [...metrics.values()].map((metric) => metric.snapshot());
}
