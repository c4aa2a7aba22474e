/**
 * `serve.metrics`: the classes of `shoal/metrics`, whose values have the replica's tags besides.
 *
 * In a replica each has the tags `application`, `deployment` and `replica`, and outside of one these are empty. Two instances of one name in
 * a process are the same metric, as each replica's constructor makes its own.
 */
import * as metric from "../../metrics/user-metrics.ts";
import { replicaTags } from "../replica/context/replica-context.ts";

const ownTags = { keys: ["application", "deployment", "replica"], values: replicaTags, setFor: "each replica" };

/** A number that only grows. */
export class Counter extends metric.Counter {
  static readonly ownTags: typeof ownTags = ownTags;
}

/** A number that is set. */
export class Gauge extends metric.Gauge {
  static readonly ownTags: typeof ownTags = ownTags;
}

/** How often values were how large. */
export class Histogram extends metric.Histogram {
  static readonly ownTags: typeof ownTags = ownTags;
}

/** `serve.metrics`: a named object, so that travelling code finds it by its name. */
export const metrics: { readonly Counter: typeof Counter; readonly Gauge: typeof Gauge; readonly Histogram: typeof Histogram } =
  Object.freeze({
    Counter,
    Gauge,
    Histogram,
  });
