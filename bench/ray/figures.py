"""Ray's side of every figure that is measured inside a driver, by the figure's name. Each is the twin of the file of that
name in ../figures, and has the shape of the line in Ray's own microbenchmark where there is one."""

import resource
import time

import numpy as np
import ray
from compiled_graphs import GRAPH_FIGURES
from large_get import get_large_copied, get_large_time
from small_calls import (
    BATCH_SIZE,
    SERVERS_COUNT,
    ActorClient,
    AsyncSmallValueActor,
    SmallValueActor,
    small_value,
    small_values,
)
from serve_figures import SERVE_FIGURES
from ray.util.placement_group import placement_group, remove_placement_group
from spill import spill_and_read
from throughput import operations_per_second
from tune_trials import TUNE_FIGURES


def tasks_sync(plan):
    return operations_per_second(lambda: ray.get(small_value.remote()), plan)


def tasks_async(plan):
    def batch():
        ray.get([small_value.remote() for _ in range(BATCH_SIZE)])

    return operations_per_second(batch, plan, BATCH_SIZE)


def stream_items(plan):
    def read():
        for ref in small_values.remote(BATCH_SIZE):
            ray.get(ref)

    return operations_per_second(read, plan, BATCH_SIZE)


def tasks_multi_client(plan):
    clients_count = 4
    tasks_per_client = 1000 if plan["quick"] else 10_000
    clients = [SmallValueActor.remote() for _ in range(clients_count)]

    def submit(count):
        ray.get([client.submit_tasks.remote(count) for client in clients])

    return operations_per_second(
        lambda: submit(tasks_per_client), plan, clients_count * tasks_per_client, warm_up=lambda: submit(250)
    )


def actor_sync(plan, actor_class=SmallValueActor):
    actor = actor_class.remote()
    return operations_per_second(lambda: ray.get(actor.small_value.remote()), plan)


def actor_async(plan, actor_class=SmallValueActor):
    actor = actor_class.remote()

    def batch():
        ray.get([actor.small_value.remote() for _ in range(BATCH_SIZE)])

    return operations_per_second(batch, plan, BATCH_SIZE)


CALLERS_COUNT = 4
CALLS_PER_CALLER = 5000


@ray.remote
def call_actors(servers):
    ray.get([servers[index % len(servers)].small_value.remote() for index in range(CALLS_PER_CALLER)])


def actor_n_to_n(plan):
    servers = [SmallValueActor.remote() for _ in range(SERVERS_COUNT)]

    def call():
        ray.get([call_actors.remote(servers) for _ in range(CALLERS_COUNT)])

    return operations_per_second(call, plan, CALLERS_COUNT * CALLS_PER_CALLER)


def actor_n_to_n_ref(plan):
    calls_per_client = 1000
    clients = [ActorClient.remote(SmallValueActor.remote()) for _ in range(SERVERS_COUNT)]

    def call():
        ray.get([client.call_with_ref.remote(calls_per_client) for client in clients])

    return operations_per_second(call, plan, len(clients) * calls_per_client)


def async_actor_sync(plan):
    return actor_sync(plan, AsyncSmallValueActor)


def async_actor_async(plan):
    return actor_async(plan, AsyncSmallValueActor)


def square(value):
    return value * value


def pool_map(plan):
    from ray.util.multiprocessing import Pool

    values = list(range(10_000))
    with Pool(processes=2) as pool:
        return operations_per_second(lambda: pool.map(square, values), plan, len(values))


def queue_put_get(plan):
    from ray.util.queue import Queue

    queue = Queue()

    def call():
        queue.put(1)
        queue.get()

    return operations_per_second(call, plan)


def get_small(plan):
    ref = ray.put(0)
    return operations_per_second(lambda: ray.get(ref), plan)


def put_small(plan):
    return operations_per_second(lambda: ray.put(0), plan)


LARGE_ELEMENTS_COUNT = 100 * 1024 * 1024


# See ../large-put.ts: every put is a sample, and the value is the median put.
PUTS_MIN = 16


def put_large(array, plan):
    gigabytes = array.nbytes / 1e9
    samples = []
    start = time.perf_counter()
    elapsed = 0
    while len(samples) < PUTS_MIN or elapsed < plan["windowMs"] * plan["windows"] / 1000:
        put_start = time.perf_counter()
        ray.put(array)
        samples.append(gigabytes / (time.perf_counter() - put_start))
        elapsed = time.perf_counter() - start
    details = {
        "firstPutGigabytesPerSecond": samples[0],
        "meanGigabytesPerSecond": len(samples) * gigabytes / elapsed,
    }
    return {"samples": samples, "details": details}


def put_large_zeros(plan):
    return put_large(np.zeros(LARGE_ELEMENTS_COUNT, dtype=np.float64), plan)


def put_large_touched(plan):
    return put_large(np.arange(LARGE_ELEMENTS_COUNT, dtype=np.float64), plan)


@ray.remote
def make_refs():
    return [ray.put(1) for _ in range(10_000)]


def get_10k_refs(plan):
    holder = make_refs.remote()
    assert len(ray.get(holder)) == 10_000
    return operations_per_second(lambda: ray.get(holder), plan)


def wait_1k_refs(plan):
    def drain():
        pending = [small_value.remote() for _ in range(BATCH_SIZE)]
        # The objects need fetching only once: later calls would ask the daemon again for the whole list.
        fetch_local = True
        while pending:
            _, pending = ray.wait(pending, fetch_local=fetch_local)
            fetch_local = False

    return operations_per_second(drain, plan)


def placement_groups(plan):
    groups_count = 100

    def batch():
        groups = [placement_group([{"CPU": 0.001}]) for _ in range(groups_count)]
        for group in groups:
            group.wait(timeout_seconds=30)
        for group in groups:
            remove_placement_group(group)

    return operations_per_second(batch, plan, groups_count)


def queued_tasks(plan):
    counts = [10, 100, 1000, 5000] if plan["quick"] else [10, 100, 1000, 10_000, 50_000]
    ray.get(small_value.remote())
    details = {}
    for count in counts:
        start = time.perf_counter()
        ray.get([small_value.remote() for _ in range(count)])
        tasks_per_second = count / (time.perf_counter() - start)
        details[f"perSecondAt{count}"] = round(tasks_per_second)
    peak_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    details["driverPeakMegabytes"] = round(peak_kilobytes * 1024 / 1e6)
    return {"samples": [tasks_per_second], "details": details}


@ray.remote
def ends_of(array):
    return float(array[0] + array[-1])


def python_large_argument(_plan):
    array = ray.put(np.ones(12_500_000))
    ray.get(ends_of.remote(array))
    samples = []
    for _ in range(30):
        start = time.perf_counter()
        assert ray.get(ends_of.remote(array)) == 2
        samples.append((time.perf_counter() - start) * 1000)
    return {"samples": samples}


@ray.remote(num_cpus=0)
class NumpyActor:
    def __init__(self):
        import numpy

        self.total = float(numpy.ones(8).sum())

    def is_there(self):
        return True


def python_start(_plan):
    samples = []
    for start in range(13):
        began = time.perf_counter()
        actor = NumpyActor.remote()
        ray.get(actor.is_there.remote())
        if start > 0:
            samples.append((time.perf_counter() - began) * 1000)
        ray.kill(actor)
    return {"samples": samples}


# Calls of Python by Ray from Python: the same figures as without `python-`.
FIGURES = {
    "python-tasks-sync": tasks_sync,
    "python-tasks-async": tasks_async,
    "python-actor-sync": actor_sync,
    "python-actor-async": actor_async,
    "python-large-argument": python_large_argument,
    "python-start": python_start,
    "tasks-sync": tasks_sync,
    "tasks-async": tasks_async,
    "tasks-multi-client": tasks_multi_client,
    "stream-items": stream_items,
    "actor-sync": actor_sync,
    "actor-async": actor_async,
    "actor-n-to-n": actor_n_to_n,
    "actor-n-to-n-ref": actor_n_to_n_ref,
    "async-actor-sync": async_actor_sync,
    "async-actor-async": async_actor_async,
    **GRAPH_FIGURES,
    **TUNE_FIGURES,
    **SERVE_FIGURES,
    "pool-map": pool_map,
    "queue-put-get": queue_put_get,
    "get-small": get_small,
    "put-small": put_small,
    "put-large-zeros": put_large_zeros,
    "put-large-touched": put_large_touched,
    "get-large-copied": get_large_copied,
    "get-large-time": get_large_time,
    "spill-and-read": spill_and_read,
    "get-10k-refs": get_10k_refs,
    "wait-1k-refs": wait_1k_refs,
    "placement-groups": placement_groups,
    "queued-tasks": queued_tasks,
}
