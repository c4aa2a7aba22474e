/**
 * `serve.metrics`: counters, gauges and histograms of users' code.
 *
 * In a replica each has the tags `application`, `deployment` and `replica` besides its own. Two instances of one name in a process are the same metric, as each replica's
 * constructor makes its own.
 */
import { custom, describeValue, readOptions, text } from "../../core/internal.ts";
import { replicaTags } from "../replica/replica-context.ts";
import { LATENCY_BOUNDARIES, type Metric, type MetricKind, metricOf, type Tags } from "./registry.ts";

/** The options of a metric. */
interface MetricOptions {
  /** Default: none. */
  description?: string | undefined;
  /** Names of its tags. Each value needs all tags, by `setDefaultTags` or at the call. Default: none. */
  tagKeys?: readonly string[] | undefined;
}

const OWN_KEYS = ["application", "deployment", "replica"];
const METRIC = {
  of: "a metric",
  otherNames: { tag_keys: "it is tagKeys" },
  options: {
    description: text(undefined),
    tagKeys: custom<readonly string[]>("an array of names is needed", [], (value) =>
      Array.isArray(value) && value.every((key) => typeof key === "string") ? "ok" : "wrong type",
    ),
    boundaries: custom<readonly number[]>("an array of numbers that grow is needed", LATENCY_BOUNDARIES, (value) =>
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((item, index) => typeof item === "number" && (index === 0 || item > (value[index - 1] as number)))
        ? "ok"
        : "wrong type",
    ),
  },
};

abstract class UserMetric {
  protected readonly metric: Metric;
  readonly #keys: readonly string[];
  #defaults: Tags = {};

  constructor(kind: MetricKind, name: string, options: object | undefined) {
    const { description, tagKeys, boundaries } = readOptions(options, METRIC);
    const own = tagKeys.find((key) => OWN_KEYS.includes(key));
    if (own !== undefined)
      throw new TypeError(
        `Cannot make metric ${name}: the tags ${OWN_KEYS.join(", ")} are set for each replica: received ${describeValue(own)} in tagKeys. Leave it out`,
      );
    this.#keys = tagKeys;
    this.metric = metricOf(
      kind,
      { name, description: description ?? "", tagKeys: [...OWN_KEYS, ...tagKeys] },
      kind === "histogram" ? boundaries : [],
    );
  }

  /** Tags for all values that do not say otherwise. */
  setDefaultTags(tags: Tags): this {
    this.#defaults = { ...tags };
    return this;
  }

  /** @throws TypeError for a tag that is missing or unknown */
  protected tagsOf(given: Tags | undefined): string[] {
    const tags = { ...this.#defaults, ...given };
    for (const key of Object.keys(tags))
      if (!this.#keys.includes(key))
        throw new TypeError(
          `Cannot record metric ${this.metric.facts.name}: it has no tag ${describeValue(key)}: there are ${this.#keys.join(", ")}`,
        );
    const own = this.#keys.map((key) => {
      const value = tags[key];
      if (typeof value !== "string")
        throw new TypeError(
          `Cannot record metric ${this.metric.facts.name}: a text is needed for tag ${key}: received ${describeValue(value)}`,
        );
      return value;
    });
    return [...replicaTags(), ...own];
  }
}

/** A number that only grows. */
export class Counter extends UserMetric {
  constructor(name: string, options?: MetricOptions) {
    super("counter", name, options);
  }

  /** Increments the counter. @throws RangeError unless the amount is above 0 */
  inc(amount = 1, tags?: Tags): void {
    if (!(amount > 0))
      throw new RangeError(
        `Cannot increase counter ${this.metric.facts.name}: an amount above 0 is needed: received ${describeValue(amount)}`,
      );
    this.metric.series(this.tagsOf(tags)).add(amount);
  }
}

/** A number that is what it was set to. */
export class Gauge extends UserMetric {
  constructor(name: string, options?: MetricOptions) {
    super("gauge", name, options);
  }

  set(value: number, tags?: Tags): void {
    this.metric.series(this.tagsOf(tags)).set(value);
  }
}

/** How often values were how large. */
export class Histogram extends UserMetric {
  constructor(name: string, options?: MetricOptions & { boundaries?: readonly number[] | undefined }) {
    super("histogram", name, options);
  }

  observe(value: number, tags?: Tags): void {
    this.metric.series(this.tagsOf(tags)).observe(value);
  }
}

/** `serve.metrics`: a named object, so that travelling code finds it by its name. */
export const metrics: { readonly Counter: typeof Counter; readonly Gauge: typeof Gauge; readonly Histogram: typeof Histogram } =
  Object.freeze({
    Counter,
    Gauge,
    Histogram,
  });
