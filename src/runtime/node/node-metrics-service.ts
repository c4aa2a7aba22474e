/**
 * The metrics of a node: reports of processes, the use of the machine, and the object store.
 *
 * Answers questions for one page of metrics. The machine is looked at each few seconds, since rates need two looks. Nothing here decides
 * anything, and a node without a probe (a local run, a simulation) has no metrics of the machine.
 */
import type { ProcessId } from "../base/ids.ts";
import { USAGE_EVERY_MS } from "../observe/limits.ts";
import { NodeSeries } from "../observe/node-series.ts";
import { NodeMetrics } from "../observe/node-metrics.ts";
import type { HeadPeer } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import type { Handlers } from "../wire/tables/message-table.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { MessagesOfProcess } from "../wire/tables/messages-to-daemon.ts";
import type { MetricSnapshot } from "../wire/observing/metric-messages.ts";
import type { StoreReport } from "../wire/objects/store-messages.ts";

/** The machine (`os/machine/node-usage.ts`). */
export interface UsageProbe {
  look(): void;
  /** By the names of metrics. */
  readonly usage: Readonly<Record<string, number>>;
}

interface CallTotals {
  readonly running: number;
  readonly finished: number;
  readonly failed: number;
}

interface MetricParts {
  readonly nodeId: string;
  readonly usage: UsageProbe | undefined;
  readonly store: () => StoreReport;
  /** Whether a process of this node lives; others have no metrics here. */
  readonly isHere: (process: ProcessId) => boolean;
  /** Calls that run, and all that have ended. */
  readonly calls: () => CallTotals;
  /** Records of calls that were not kept. */
  readonly dropped: () => number;
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  node_cpu_utilization: "Use of all processors, in percent",
  node_cpu_count: "Processors of the machine",
  node_mem_used: "Memory in use, in bytes",
  node_mem_total: "Memory of the machine or its control group, in bytes",
  node_disk_usage: "Bytes in use on the disk of the node's files",
  node_disk_free: "Bytes free on that disk",
  node_network_receive_speed: "Bytes a second that come over the network",
  node_network_send_speed: "Bytes a second that go over the network",
};

export class NodeMetricsService {
  readonly #parts: MetricParts;
  readonly #metrics: NodeMetrics;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #series = new NodeSeries();
  #last: CallTotals & { readonly atMs: number };

  constructor(parts: MetricParts) {
    this.#parts = parts;
    this.#metrics = new NodeMetrics(parts.nodeId);
    this.#last = { ...parts.calls(), atMs: performance.now() };
    const { usage } = parts;
    if (usage !== undefined) this.#timer = setInterval(() => this.#look(usage), USAGE_EVERY_MS).unref();
  }

  get handlers(): Handlers<
    Pick<MessagesOfProcess, typeof MESSAGE.METRICS | typeof MESSAGE.NODE_METRICS | typeof MESSAGE.NODE_SERIES>,
    [peer: HeadPeer, message: Message]
  > {
    return {
      [MESSAGE.METRICS]: (metrics, { id }) => {
        if (this.#parts.isHere(id)) this.#metrics.report(id, metrics);
      },
      [MESSAGE.NODE_SERIES]: ({ names, sinceMs }, { connection }, { callId }) => {
        connection.reply(callId, this.#series.select(names, sinceMs));
      },
      [MESSAGE.NODE_METRICS]: (_asked, { connection }, { callId }) => {
        const own = { tags: { node_id: this.#parts.nodeId }, metrics: this.#ofNode() };
        connection.reply(callId, { processes: [...this.#metrics.snapshot(), own] });
      },
    };
  }

  processGone(process: ProcessId): void {
    this.#metrics.ended(process);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Notes the numbers that charts show. All can be summed over nodes. */
  #look(probe: UsageProbe): void {
    probe.look();
    const { node_cpu_utilization: percent, ...usage } = probe.usage;
    const calls = this.#parts.calls();
    const last = this.#last;
    const atMs = performance.now();
    const seconds = (atMs - last.atMs) / 1000;
    this.#last = { ...calls, atMs };
    const { usedBytes, spilledBytes } = this.#parts.store();
    this.#series.add(Date.now(), {
      ...usage,
      ...(percent === undefined ? {} : { node_cpu_used: (percent / 100) * (usage["node_cpu_count"] ?? 1) }),
      object_store_used: usedBytes,
      object_store_spilled: spilledBytes,
      tasks_running: calls.running,
      tasks_finished_per_second: Math.max(0, calls.finished - last.finished) / seconds,
      tasks_failed_per_second: Math.max(0, calls.failed - last.failed) / seconds,
    });
  }

  #ofNode(): MetricSnapshot[] {
    const { usage, store, dropped } = this.#parts;
    const { usedBytes, diskBytes, spilledBytes } = store();
    const places: [string[], number][] = [
      [["IN_MEMORY"], usedBytes],
      [["ON_DISK"], diskBytes],
      [["SPILLED"], spilledBytes],
    ];
    const machine = Object.entries(usage?.usage ?? {}).map(([name, value]) => metric({ name, rows: [[[], value]] }));
    return [
      ...machine,
      metric({ name: "object_store_memory", description: "Bytes of stored objects by their place", tagKeys: ["Location"], rows: places }),
      metric({
        name: "records_dropped_total",
        description: "Ended calls that are counted and whose rows were not kept",
        kind: "counter",
        rows: [[[], dropped()]],
      }),
    ];
  }
}

interface Facts extends Partial<Pick<MetricSnapshot, "description" | "kind" | "tagKeys">> {
  readonly name: string;
  readonly rows: readonly (readonly [tags: readonly string[], value: number])[];
}

function metric({ name, description = DESCRIPTIONS[name] ?? "", kind = "gauge", tagKeys = [], rows }: Facts): MetricSnapshot {
  const series = rows.map(([tags, value]) => ({ tags, value, counts: [] }));
  return { name, description, isSystem: true, kind, tagKeys, boundaries: [], series };
}
