"""The twin of ../compiled-graphs.ts: the same graphs, compiled by Ray."""

import ray
from ray.dag import InputNode, MultiOutputNode
from throughput import operations_per_second


@ray.remote(num_cpus=0)
class StageActor:
    def stage(self, value):
        return b"ok"

    def pass_on(self, value):
        return value


def measure_graph(plan, stages, in_flight, lanes=1, size_bytes=None):
    def lane(node):
        for _ in range(stages):
            actor = StageActor.remote()
            node = actor.stage.bind(node) if size_bytes is None else actor.pass_on.bind(node)
        return node

    with InputNode() as node:
        ends = [lane(node) for _ in range(lanes)]
    root = ends[0] if lanes == 1 else MultiOutputNode(ends)
    value = b"ok" if size_bytes is None else bytes(size_bytes)
    # Ray's default of ten executions in flight would refuse the batch.
    graph = root.experimental_compile(_max_inflight_executions=in_flight, _max_buffered_results=in_flight)

    def one():
        ray.get(graph.execute(value))

    def batch():
        ray.get([graph.execute(value) for _ in range(in_flight)])

    try:
        return operations_per_second(one if in_flight == 1 else batch, plan, in_flight)
    finally:
        graph.teardown()


GRAPH_FIGURES = {
    "graph-sync": lambda plan: measure_graph(plan, 1, 1),
    "graph-pipelined": lambda plan: measure_graph(plan, 1, 1000),
    "graph-chain": lambda plan: measure_graph(plan, 3, 1),
    "graph-chain-pipelined": lambda plan: measure_graph(plan, 3, 1000),
    "graph-fan-out": lambda plan: measure_graph(plan, 1, 1, lanes=3),
    "graph-chain-100kb": lambda plan: measure_graph(plan, 3, 1, size_bytes=100_000),
    "graph-chain-1mb": lambda plan: measure_graph(plan, 3, 1, size_bytes=1_000_000),
}
