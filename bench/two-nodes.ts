/**
 * Two nodes on this machine for the figures about a cluster: the driver runs on the first, its actors on the second.
 *
 * Both runtimes get the same: one CPU a node, and a resource `second` by which things are placed there. `ray/two_nodes.py` is the twin. On one machine the network is the
 * loopback interface, and both nodes share the cores, on either side.
 */
import { type ActorOptions, init, shutdown } from "shoal";
import { TestCluster } from "shoal/testing";

/** Things with these options run on the second node. */
export const ON_SECOND: ActorOptions = { numCpus: 0, resources: { second: 0.001 } };

/** Runs `measure` in a driver of a cluster of two nodes, which is gone afterwards. */
export async function withTwoNodes<T>(measure: () => Promise<T>): Promise<T> {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 } });
  await cluster.addNode({ numCpus: 1, resources: { second: 1 } });
  await init({ address: cluster.address });
  try {
    return await measure();
  } finally {
    await shutdown();
  }
}
