/**
 * Counters, gauges and histograms of users' code, with the interface of Ray's `ray.util.metrics`.
 *
 * A library may add tags to all values, as `serve.metrics` adds the replica's. Two instances of one name in a process are
 * the same metric. Wrong names, tags and amounts throw where they are given, and never reach a scraper.
 */
import { custom, describeValue, readOptions, text } from "../core/internal.ts";
import { TAG_CHARACTERS_MAX } from "./limits.ts";
import { LATENCY_BOUNDARIES, type Metric, type MetricKind, metricOf, type Series, type Tags } from "./registry.ts";

/** The options of a metric. */
export interface MetricOptions {
  /** Default: none. */
  description?: string | undefined;
  /** Names of the tags. Each value needs all tags, by `setDefaultTags` or at the call. Default: none. */
  tagKeys?: readonly string[] | undefined;
}

/** The options of a histogram. */
export interface HistogramOptions extends MetricOptions {
  /** Upper bounds of the buckets, which grow. Default: 19 bounds from 1 to 600,000, for milliseconds. */
  boundaries?: readonly number[] | undefined;
}

/** A metric's name and tags. */
export interface MetricInfo {
  readonly name: string;
  readonly description: string;
  readonly tagKeys: readonly string[];
  readonly defaultTags: Tags;
}

/** Tags that a library adds to each value. */
interface OwnTags {
  readonly keys: readonly string[];
  readonly values: () => readonly string[];
  /** Names their setter in errors. */
  readonly setFor: string;
}

const METRIC = {
  of: "a metric",
  otherNames: { tag_keys: "it is tagKeys" },
  options: {
    description: text(undefined),
    tagKeys: custom<readonly string[]>("an array of names is needed", [], (value) =>
      Array.isArray(value) && value.every((key) => typeof key === "string") ? "ok" : "wrong type",
    ),
    boundaries: custom<readonly number[]>("an array of finite numbers that grow is needed", LATENCY_BOUNDARIES, (value) =>
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((item, index) => Number.isFinite(item) && (index === 0 || item > (value[index - 1] as number)))
        ? "ok"
        : "wrong type",
    ),
  },
};

const NONE: OwnTags = { keys: [], values: () => [], setFor: "" };

abstract class UserMetric {
  protected readonly metric: Metric;
  readonly #keys: readonly string[];
  readonly #own: OwnTags;
  #defaults: Tags = {};
  /** The series of the last tags: values in a row mostly have the same. */
  #last: Series | undefined;
  #lastTags: Tags | undefined;
  #lastCount = 0;

  constructor(kind: MetricKind, name: string, options: object | undefined) {
    const own = (new.target as { ownTags?: OwnTags }).ownTags ?? NONE;
    const { description, tagKeys, boundaries } = readOptions(options, METRIC);
    const taken = tagKeys.find((key) => own.keys.includes(key));
    if (taken !== undefined)
      throw new TypeError(
        `Cannot make metric ${name}: the tags ${own.keys.join(", ")} are set for ${own.setFor}: received ${describeValue(taken)} in tagKeys. Leave it out`,
      );
    this.#own = own;
    this.#keys = tagKeys;
    this.metric = metricOf(
      kind,
      { name, description: description ?? "", tagKeys: [...own.keys, ...tagKeys], isUsers: true },
      kind === "histogram" ? boundaries : [],
    );
  }

  get info(): MetricInfo {
    const { name, description } = this.metric.facts;
    return { name, description, tagKeys: this.#keys, defaultTags: this.#defaults };
  }

  /** Tags for all values that do not say otherwise. @throws TypeError for a tag that the metric has not */
  setDefaultTags(tags: Tags): this {
    for (const key of Object.keys(tags)) this.#requireKey(key, "set tags of");
    this.#defaults = { ...tags };
    this.#last = undefined;
    return this;
  }

  /** @throws TypeError for a tag that is missing or unknown, RangeError for a long one */
  protected seriesOf(given: Tags | undefined): Series {
    if (this.#last !== undefined && this.#areLast(given)) return this.#last;
    const series = this.metric.series(this.#tagsOf(given));
    // A library's own tags may change between two values.
    if (this.#own !== NONE) return series;
    this.#last = series;
    this.#lastTags = given === undefined ? undefined : { ...given };
    this.#lastCount = given === undefined ? 0 : Object.keys(given).length;
    return series;
  }

  #areLast(given: Tags | undefined): boolean {
    const last = this.#lastTags;
    if (given === undefined || last === undefined) return given === last;
    let count = 0;
    for (const key in given) {
      const value = given[key];
      if (value === undefined || value !== last[key]) return false;
      count += 1;
    }
    return count === this.#lastCount;
  }

  #tagsOf(given: Tags | undefined): string[] {
    if (given === undefined && this.#keys.length === 0) return [...this.#own.values()];
    const tags = { ...this.#defaults, ...given };
    for (const key of Object.keys(tags)) this.#requireKey(key, "record");
    const own = this.#keys.map((key) => {
      const value = tags[key];
      if (typeof value !== "string")
        throw new TypeError(
          `Cannot record metric ${this.metric.facts.name}: a text is needed for tag ${key}: received ${describeValue(value)}`,
        );
      if (value.length > TAG_CHARACTERS_MAX)
        throw new RangeError(
          `Cannot record metric ${this.metric.facts.name}: tag ${key} has more than ${TAG_CHARACTERS_MAX} characters: received ${describeValue(value)}`,
        );
      return value;
    });
    return [...this.#own.values(), ...own];
  }

  /** @throws RangeError for infinity and NaN, which no sum survives */
  protected finite(value: number): number {
    if (Number.isFinite(value)) return value;
    throw new RangeError(`Cannot record metric ${this.metric.facts.name}: a finite number is needed: received ${describeValue(value)}`);
  }

  #requireKey(key: string, action: string): void {
    if (this.#keys.includes(key)) return;
    throw new TypeError(
      `Cannot ${action} metric ${this.metric.facts.name}: it has no tag ${describeValue(key)}: there are ${this.#keys.join(", ") || "none"}`,
    );
  }
}

/** A number that only grows. */
export class Counter extends UserMetric {
  constructor(name: string, options?: MetricOptions) {
    super("counter", name, options);
  }

  /** Increments the counter. @throws RangeError unless the amount is above 0 and finite */
  inc(amount = 1, tags?: Tags): void {
    if (!(amount > 0))
      throw new RangeError(
        `Cannot increase counter ${this.metric.facts.name}: an amount above 0 is needed: received ${describeValue(amount)}`,
      );
    this.seriesOf(tags).add(this.finite(amount));
  }
}

/** A number that is set. */
export class Gauge extends UserMetric {
  constructor(name: string, options?: MetricOptions) {
    super("gauge", name, options);
  }

  /** @throws RangeError for infinity and NaN */
  set(value: number, tags?: Tags): void {
    this.seriesOf(tags).set(this.finite(value));
  }
}

/** How often values were how large. */
export class Histogram extends UserMetric {
  constructor(name: string, options?: HistogramOptions) {
    super("histogram", name, options);
  }

  /** @throws RangeError for infinity and NaN */
  observe(value: number, tags?: Tags): void {
    this.seriesOf(tags).observe(this.finite(value));
  }
}
