/** Many tasks queued at once in a cluster of two real nodes, and on one: the rate, and what the driver and the daemons take for it. */
import { get, init, remote, shutdown } from "shoal";
import { TestCluster } from "shoal/testing";
import { weigh } from "./process-weight.ts";
import type { Row } from "./report.ts";

const smallValue = remote(() => 1);

/** A row for each number of tasks. */
export async function queuedTasks(nodes: number, counts: readonly number[]): Promise<Row[]> {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 } });
  for (let more = 1; more < nodes; more += 1) await cluster.addNode({ numCpus: 1 });
  await init({ address: cluster.address });
  try {
    await get(Array.from({ length: 100 }, () => smallValue.remote()));
    const rows: Row[] = [];
    for (const count of counts) {
      const beganMs = performance.now();
      await get(Array.from({ length: count }, () => smallValue.remote()));
      const tookS = (performance.now() - beganMs) / 1000;
      const daemons = cluster.nodes.map(({ pid }) => weigh(pid).megabytes);
      rows.push({
        nodes,
        tasks: count,
        "tasks/s": count / tookS,
        "driver, MB": weigh(process.pid).megabytes,
        "driver's peak, MB": weigh(process.pid).peakMegabytes,
        "daemons, MB": Math.max(...daemons),
        "head, MB": weigh(cluster.headPid ?? 0).megabytes,
      });
    }
    return rows;
  } finally {
    await shutdown();
  }
}
