/**
 * Gathers the first page of the dashboard: the nodes with their use, calls and actors by state, waiting demands, failures, and long calls.
 *
 * All parts are asked for at once, each within one time limit. A node that does not tell its use is named among the warnings.
 * Each list has a few rows; the pages behind the overview have all.
 */
import type { StateRow } from "../../runtime/observe/select-rows.ts";
import type { ClusterStatusHeader, WaitingHeader } from "../../runtime/wire/cluster/cluster-messages.ts";
import type { ProcessMetrics } from "../../runtime/wire/observing/metric-messages.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import type { Ask } from "./live-reader.ts";
import { OVERVIEW_ROWS, STATE_TIMEOUT_DEFAULT_MS } from "./limits.ts";
import type { ListQuery, StateReader, StateResource, SummaryAnswer } from "./state-reader.ts";

/** A living node and the use of the machine; null where the node did not tell. */
interface NodeOverview {
  readonly node_id: string;
  readonly node_name: string;
  readonly state: string;
  /** Used and total amount of each resource. */
  readonly resources: Readonly<Record<string, readonly [used: number, total: number]>>;
  readonly cpu_percent: number | null;
  readonly memory_used: number | null;
  readonly memory_total: number | null;
  readonly disk_used: number | null;
  readonly disk_free: number | null;
  readonly store_used: number | null;
  readonly store_total: number | null;
}

interface Overview {
  readonly nodes: readonly NodeOverview[];
  readonly nodes_gone: number;
  readonly tasks: Readonly<Record<string, number>>;
  readonly actors: Readonly<Record<string, number>>;
  /** Resources that calls and actors wait for, with the number of those that do. */
  readonly waiting: readonly WaitingHeader[];
  /** The newest calls that failed. */
  readonly failures: readonly StateRow[];
  /** The calls that have run for longest. */
  readonly longest: readonly StateRow[];
  readonly dead_actors: readonly StateRow[];
  readonly warnings: readonly string[];
  /** When the oldest part was made, in milliseconds since 1970. */
  readonly as_of_ms: number;
}

interface OverviewParts {
  readonly ask: Ask;
  readonly state: StateReader;
  readonly metrics: { ofNode(node: string): Promise<ProcessMetrics[]> };
}

export class OverviewReader {
  readonly #parts: OverviewParts;

  constructor(parts: OverviewParts) {
    this.#parts = parts;
  }

  async read(): Promise<Overview> {
    const { ask, state } = this.#parts;
    const warnings = new Set<string>();
    let asOfMs = Date.now();
    const timeoutMs = STATE_TIMEOUT_DEFAULT_MS;
    const list = async (resource: StateResource, query: ListQuery): Promise<StateRow[]> => {
      const answer = await state.list(resource, { limit: OVERVIEW_ROWS, detail: true, ...query });
      for (const text of answer.warnings) warnings.add(text);
      if (answer.partial_failure_warning !== null) warnings.add(answer.partial_failure_warning);
      asOfMs = Math.min(asOfMs, answer.as_of_ms);
      return answer.rows;
    };
    const summary = async (resource: "tasks" | "actors"): Promise<Record<string, number>> => {
      const answer = await state.summarize(resource);
      for (const text of answer.warnings) warnings.add(text);
      return byState(answer);
    };
    const [status, nodes, tasks, actors, failures, longest, deadActors] = await Promise.all([
      ask(MESSAGE.CLUSTER_STATUS, undefined, { timeoutMs }),
      ask(MESSAGE.NODES, undefined, { timeoutMs }),
      summary("tasks"),
      summary("actors"),
      list("tasks", { filters: [["state", "=", "FAILED"]] }),
      list("tasks", { filters: [["state", "=", "RUNNING"]], sortBy: "duration_ms", isDescending: true }),
      list("actors", { filters: [["state", "=", "DEAD"]] }),
    ]);
    const stores = new Map(nodes.map(({ nodeId, objectStoreMemoryBytes }) => [nodeId as string, objectStoreMemoryBytes]));
    return {
      nodes: await Promise.all(status.nodes.map((node) => this.#nodeOf(node, stores.get(node.nodeId), warnings))),
      nodes_gone: status.gone.length,
      tasks,
      actors,
      waiting: status.waiting,
      failures,
      longest,
      dead_actors: deadActors,
      warnings: Array.from(warnings),
      as_of_ms: asOfMs,
    };
  }

  async #nodeOf(
    { nodeId, hostname, state, total, free }: ClusterStatusHeader["nodes"][number],
    storeBytes: number | undefined,
    warnings: Set<string>,
  ): Promise<NodeOverview> {
    let values = new Map<string, number>();
    try {
      values = machineValues(await this.#parts.metrics.ofNode(nodeId));
    } catch (error) {
      warnings.add(`Node ${nodeId} did not tell its use: ${(error as Error).message}.`);
    }
    const value = (name: string): number | null => values.get(name) ?? null;
    return {
      node_id: nodeId,
      node_name: hostname,
      state: state.toUpperCase(),
      resources: Object.fromEntries(Object.entries(total).map(([name, amount]) => [name, [amount - (free[name] ?? 0), amount] as const])),
      cpu_percent: value("node_cpu_utilization"),
      memory_used: value("node_mem_used"),
      memory_total: value("node_mem_total"),
      disk_used: value("node_disk_usage"),
      disk_free: value("node_disk_free"),
      store_used: value("object_store_memory IN_MEMORY"),
      store_total: storeBytes ?? null,
    };
  }
}

function byState({ rows }: SummaryAnswer): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { state_counts: counts } of rows)
    for (const [state, count] of Object.entries(counts)) sums[state] = (sums[state] ?? 0) + count;
  return sums;
}

/** Values of Shoal's own metrics without the tags of processes, by name and tags. */
function machineValues(processes: readonly ProcessMetrics[]): Map<string, number> {
  const values = new Map<string, number>();
  for (const { metrics } of processes)
    for (const { name, isSystem, series } of metrics)
      if (isSystem === true) for (const { tags, value } of series) values.set([name, ...tags].join(" "), value);
  return values;
}
