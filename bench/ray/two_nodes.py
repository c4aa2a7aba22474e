"""The twin of ../two-nodes.ts and of the figures that use it: two nodes on this machine, by Ray's own test cluster."""

import os
import time

import numpy as np
import ray
from small_calls import BATCH_SIZE, SmallValueActor
from throughput import operations_per_second

ON_SECOND = {"num_cpus": 0, "resources": {"second": 0.001}}
OBJECT_SIZE_BYTES = 100_000_000


class TwoNodes:
    def __enter__(self):
        from ray.cluster_utils import Cluster

        self.cluster = Cluster()
        self.cluster.add_node(num_cpus=1, temp_dir=os.environ["SHOAL_BENCH_RAY_TEMP"])
        self.cluster.add_node(num_cpus=1, resources={"second": 1})
        ray.init(address=self.cluster.address)
        return self

    def __exit__(self, *_):
        ray.shutdown()
        self.cluster.shutdown()


def cluster_actor_sync(plan):
    actor = SmallValueActor.options(**ON_SECOND).remote()
    return operations_per_second(lambda: ray.get(actor.small_value.remote()), plan)


def cluster_actor_async(plan):
    actor = SmallValueActor.options(**ON_SECOND).remote()

    def batch():
        ray.get([actor.small_value.remote() for _ in range(BATCH_SIZE)])

    return operations_per_second(batch, plan, BATCH_SIZE)


def cluster_actor_create(plan):
    def live():
        actor = SmallValueActor.options(**ON_SECOND).remote()
        ray.get(actor.small_value.remote())
        ray.kill(actor)

    return operations_per_second(live, plan)


def cluster_actor_lookup(plan):
    actor = SmallValueActor.options(name="found", **ON_SECOND).remote()
    ray.get(actor.small_value.remote())
    return operations_per_second(lambda: ray.get_actor("found"), plan)


@ray.remote
class Reader:
    def read(self, refs):
        return int(ray.get(refs[0])[OBJECT_SIZE_BYTES - 1])


def cluster_transfer(plan):
    reader = Reader.options(**ON_SECOND).remote()
    samples = []
    reads_count = 3 if plan["quick"] else 10
    for index in range(reads_count + 1):
        ref = ray.put(np.full(OBJECT_SIZE_BYTES, index, dtype=np.uint8))
        start = time.perf_counter()
        assert ray.get(reader.read.remote([ref])) == index
        if index > 0:
            samples.append(OBJECT_SIZE_BYTES / (time.perf_counter() - start) / 1e9)
        del ref
    return {"samples": samples}


TWO_NODE_FIGURES = {
    "cluster-actor-sync": cluster_actor_sync,
    "cluster-actor-async": cluster_actor_async,
    "cluster-actor-create": cluster_actor_create,
    "cluster-actor-lookup": cluster_actor_lookup,
    "cluster-transfer": cluster_transfer,
}
