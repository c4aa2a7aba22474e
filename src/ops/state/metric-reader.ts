/**
 * Gathers the metrics of a cluster: those of all nodes, or of one, and the counts of tasks, actors, groups and resources.
 *
 * Nodes are asked at once and each within the limit. A node that does not answer is missing in the answer, and the metric `nodes_missing`
 * counts it, so that a page of metrics never looks whole without being so.
 */
import type { ClusterStatusHeader } from "../../runtime/wire/cluster/cluster-messages.ts";
import type { MetricSnapshot, ProcessMetrics } from "../../runtime/wire/observing/metric-messages.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import type { Ask } from "./live-reader.ts";
import { METRIC_NAMES_MAX, NODES_ASKED_AT_ONCE, STATE_TIMEOUT_DEFAULT_MS } from "./limits.ts";
import type { StateReader } from "./state-reader.ts";

type Row = readonly [tags: readonly string[], value: number];

export class MetricReader {
  readonly #ask: Ask;
  readonly #state: StateReader;

  constructor(ask: Ask, state: StateReader) {
    this.#ask = ask;
    this.#state = state;
  }

  /** Returns the ids of living nodes. */
  async nodes(): Promise<string[]> {
    const nodes = await this.#ask(MESSAGE.NODES, undefined, { timeoutMs: STATE_TIMEOUT_DEFAULT_MS });
    return nodes.filter(({ alive }) => alive).map(({ nodeId }) => nodeId);
  }

  async ofNode(node: string): Promise<ProcessMetrics[]> {
    return (await this.#ask(MESSAGE.NODE_METRICS, { node }, { timeoutMs: STATE_TIMEOUT_DEFAULT_MS })).processes;
  }

  async ofAllNodes(): Promise<ProcessMetrics[]> {
    const nodes = await this.nodes();
    const found: ProcessMetrics[] = [];
    let missing = 0;
    for (let first = 0; first < nodes.length; first += NODES_ASKED_AT_ONCE) {
      const settled = await Promise.allSettled(nodes.slice(first, first + NODES_ASKED_AT_ONCE).map((node) => this.ofNode(node)));
      for (const result of settled) {
        if (result.status === "fulfilled") found.push(...result.value);
        else missing += 1;
      }
    }
    const told = gauge("nodes_missing", "Living nodes that did not tell their metrics", [], [[[], missing]]);
    return [...found, { tags: {}, metrics: [told] }];
  }

  /** Metrics of the cluster as a whole. */
  async ofCluster(): Promise<ProcessMetrics[]> {
    const [tasks, actors, groups, status] = await Promise.all([
      this.#counts("tasks"),
      this.#counts("actors"),
      this.#groups(),
      this.#ask(MESSAGE.CLUSTER_STATUS, undefined, { timeoutMs: STATE_TIMEOUT_DEFAULT_MS }),
    ]);
    const metrics = [
      gauge("tasks", "Calls by name and state; those that have ended are counted, too", ["Name", "State"], tasks),
      gauge("actors", "Actors by class and state", ["Name", "State"], actors),
      gauge("placement_groups", "Placement groups by state", ["State"], groups),
      gauge("resources", "Resources of all nodes, by name and whether they are in use", ["Name", "State"], resourcesOf(status)),
      gauge("cluster_nodes", "Nodes that live", [], [[[], status.nodes.length]]),
    ];
    return [{ tags: {}, metrics }];
  }

  /** The names with the most; the rest is `(other)`. */
  async #counts(resource: "tasks" | "actors"): Promise<Row[]> {
    const { rows } = await this.#state.summarize(resource);
    const countOf = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((sum, count) => sum + count, 0);
    const byCount = rows.toSorted((a, b) => countOf(b.state_counts) - countOf(a.state_counts));
    const sums = new Map<string, { tags: string[]; value: number }>();
    for (const [at, { name, state_counts: counts }] of byCount.entries())
      for (const [state, count] of Object.entries(counts)) {
        const tags = [at < METRIC_NAMES_MAX ? name : OTHER_NAMES, state];
        const sum = sums.get(JSON.stringify(tags)) ?? { tags, value: 0 };
        sums.set(JSON.stringify(tags), sum);
        sum.value += count;
      }
    return Array.from(sums.values(), ({ tags, value }) => [tags, value] as const);
  }

  async #groups(): Promise<Row[]> {
    const groups = await this.#ask(MESSAGE.GROUPS, undefined, { timeoutMs: STATE_TIMEOUT_DEFAULT_MS });
    return Array.from(
      Map.groupBy(groups, ({ state }) => state.toUpperCase()),
      ([state, { length }]) => [[state], length] as const,
    );
  }
}

const OTHER_NAMES = "(other)";

function resourcesOf({ nodes }: ClusterStatusHeader): Row[] {
  const sums = new Map<string, [used: number, free: number]>();
  for (const { total, free } of nodes)
    for (const [name, amount] of Object.entries(total)) {
      const [used, available] = sums.get(name) ?? [0, 0];
      sums.set(name, [used + amount - (free[name] ?? 0), available + (free[name] ?? 0)]);
    }
  return Array.from(sums).flatMap(([name, [used, free]]): Row[] => [
    [[name, "USED"], used],
    [[name, "AVAILABLE"], free],
  ]);
}

function gauge(name: string, description: string, tagKeys: readonly string[], rows: readonly Row[]): MetricSnapshot {
  const series = rows.map(([tags, value]) => ({ tags, value, counts: [] }));
  return { name, description, isSystem: true, kind: "gauge", tagKeys, boundaries: [], series };
}
