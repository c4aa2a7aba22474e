/**
 * Measures the use of a node's machine: processor, memory, disk and network, for metrics.
 *
 * Reads `/proc`, cgroups and the file system; a missing file leaves its metrics out. Rates are of the time between two looks.
 * Called by the daemon each few seconds: a look costs some small reads.
 */
import { readFileSync, statfsSync } from "node:fs";
import { cpus } from "node:os";
import { createMemoryProbe, type MemoryProbe } from "./memory-usage.ts";

/** By the names of metrics. */
type NodeUsage = Readonly<Record<string, number>>;

interface Counts {
  readonly atMs: number;
  readonly busy: number;
  readonly total: number;
  readonly received: number | undefined;
  readonly sent: number | undefined;
}

interface NodeUsageOptions {
  /** A folder on the disk that is measured. */
  readonly folder: string;
  /** Folder with `/proc`, replaced in tests. */
  readonly root?: string;
  readonly memory?: MemoryProbe;
  readonly nowMs?: () => number;
}

export class NodeUsageProbe {
  readonly #options: Required<NodeUsageOptions>;
  #last: Counts;
  #rates: NodeUsage = {};

  constructor(options: NodeUsageOptions) {
    this.#options = { root: "", memory: createMemoryProbe(options.root), nowMs: () => performance.now(), ...options };
    this.#last = this.#counts();
  }

  /** Takes rates from the time since the last look. */
  look(): void {
    const before = this.#last;
    const now = this.#counts();
    const seconds = (now.atMs - before.atMs) / 1000;
    const total = now.total - before.total;
    if (seconds <= 0) return;
    this.#last = now;
    this.#rates = {
      ...(total > 0 ? { node_cpu_utilization: clamp((100 * (now.busy - before.busy)) / total) } : {}),
      ...rate("node_network_receive_speed", before.received, now.received, seconds),
      ...rate("node_network_send_speed", before.sent, now.sent, seconds),
    };
  }

  get usage(): NodeUsage {
    const memory = this.#options.memory.machine();
    return {
      ...this.#rates,
      node_cpu_count: cpus().length,
      ...(memory === undefined ? {} : { node_mem_used: memory.usedBytes, node_mem_total: memory.totalBytes }),
      ...this.#disk(),
    };
  }

  #disk(): NodeUsage {
    try {
      const { bsize, blocks, bfree, bavail } = statfsSync(this.#options.folder);
      return { node_disk_usage: (blocks - bfree) * bsize, node_disk_free: bavail * bsize };
    } catch {
      return {};
    }
  }

  #counts(): Counts {
    const { root, nowMs } = this.#options;
    const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0] = (
      /^cpu +(.*)$/m.exec(textOf(`${root}/proc/stat`))?.[1] ?? ""
    )
      .split(" ")
      .map(Number);
    const busy = user + nice + system + irq + soft + steal;
    return { atMs: nowMs(), busy, total: busy + idle + wait, ...networkBytes(textOf(`${root}/proc/net/dev`)) };
  }
}

/** Sums the traffic of all interfaces except the loopback. */
function networkBytes(text: string): Pick<Counts, "received" | "sent"> {
  const rows = Array.from(text.matchAll(/^ *([^\s:]+): *(\d+)(?: +\d+){7} +(\d+)/gm)).filter(([, name]) => name !== "lo");
  if (rows.length === 0) return { received: undefined, sent: undefined };
  const sum = (at: number): number => rows.reduce((all, row) => all + Number(row[at]), 0);
  return { received: sum(2), sent: sum(3) };
}

/** An interface that went away makes no negative speed. */
function rate(name: string, before: number | undefined, now: number | undefined, seconds: number): NodeUsage {
  return before === undefined || now === undefined ? {} : { [name]: Math.max(0, now - before) / seconds };
}

function clamp(percent: number): number {
  return Math.min(100, Math.max(0, percent));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
