/** Actors that are no fakes: as many as one process bears, and as many processes as this machine does. */
import { get, init, kill, remote, shutdown } from "shoal";
import { TestCluster } from "shoal/testing";
import { weigh } from "./process-weight.ts";
import type { Row } from "./report.ts";

class Small {
  value(): number {
    return 1;
  }
}

const SmallActor = remote(Small);

export async function realActors(inProcess: number, onTwoNodes: number): Promise<Row[]> {
  await init({ mode: "inProcess" });
  const rows: Row[] = [];
  try {
    rows.push({ where: "in one process", ...(await makeAndCall(inProcess)) });
  } finally {
    await shutdown();
  }
  await using cluster = await TestCluster.start({ head: { numCpus: 1 } });
  await cluster.addNode({ numCpus: 1 });
  await init({ address: cluster.address });
  try {
    rows.push({ where: "on two nodes, a process each", ...(await makeAndCall(onTwoNodes)) });
  } finally {
    await shutdown();
  }
  return rows;
}

async function makeAndCall(count: number): Promise<Row> {
  const beganMs = performance.now();
  const made = Array.from({ length: count }, () => SmallActor.options({ numCpus: 0 }).remote());
  await get(made.map((actor) => actor.value.remote()));
  const aliveMs = performance.now() - beganMs;
  const callsMs = performance.now();
  await get(made.map((actor) => actor.value.remote()));
  const calledMs = performance.now() - callsMs;
  const megabytes = weigh(process.pid).megabytes;
  await Promise.all(made.map((actor) => kill(actor)));
  return {
    actors: count,
    "made and called/s": (count * 1000) / aliveMs,
    "called again/s": (count * 1000) / calledMs,
    "this process, MB": megabytes,
  };
}
