"""The twin of ../compiled-graphs.ts: the same graphs, compiled by Ray."""

import ray
from ray.dag import InputNode
from throughput import operations_per_second


@ray.remote(num_cpus=0)
class StageActor:
    def stage(self, value):
        return b"ok"


def measure_graph(stages, batch_size, plan):
    actors = [StageActor.remote() for _ in range(stages)]
    with InputNode() as node:
        for actor in actors:
            node = actor.stage.bind(node)
    # Ray's default of ten executions in flight would refuse the batch.
    graph = node.experimental_compile(_max_inflight_executions=batch_size, _max_buffered_results=batch_size)

    def one():
        ray.get(graph.execute(b"ok"))

    def batch():
        ray.get([graph.execute(b"ok") for _ in range(batch_size)])

    try:
        return operations_per_second(one if batch_size == 1 else batch, plan, batch_size)
    finally:
        graph.teardown()


def graph_sync(plan):
    return measure_graph(1, 1, plan)


def graph_pipelined(plan):
    return measure_graph(1, 1000, plan)


def graph_chain(plan):
    return measure_graph(3, 1, plan)
