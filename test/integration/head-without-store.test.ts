/**
 * A head that is killed and keeps nothing: what nodes and programs know is told to the one that is started in its place.
 */
import { get, init, ready, remote, shutdown } from "shoal";
import { TestCluster } from "shoal/testing";
import { afterEach, beforeEach, expect, test } from "vitest";

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await TestCluster.start({ head: { numCpus: 1 } });
  await init({ address: cluster.address });
});
afterEach(async () => {
  await shutdown();
  await cluster.shutdown();
});

class Place {
  daemon(): number {
    return process.ppid;
  }
}

test("a node that joins after that runs tasks and actors of programs that were there before", { timeout: 45_000 }, async () => {
  const where = remote((added: number) => [process.ppid, added] as const);
  expect((await where.remote(0))[1]).toBe(0);
  await cluster.restartHead();
  const late = await cluster.addNode({ numCpus: 1, resources: { late: 1 } });
  expect(await get(where.options({ resources: { late: 0.5 } }).remote(1))).toEqual([late.pid, 1]);
  const place = remote(Place)
    .options({ resources: { late: 0.5 } })
    .remote();
  await ready(place);
  expect(await get(place.daemon.remote())).toBe(late.pid);
});
