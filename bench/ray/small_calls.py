"""The twin of ../small-calls.ts: what the call figures call, in the shapes of Ray's microbenchmark."""

import multiprocessing

import ray

BATCH_SIZE = 1000
SERVERS_COUNT = max(1, multiprocessing.cpu_count() // 2)


@ray.remote
def small_value():
    return b"ok"


@ray.remote
def small_values(count):
    for _ in range(count):
        yield b"ok"


@ray.remote(num_cpus=0)
class SmallValueActor:
    def small_value(self):
        return b"ok"

    def small_value_of(self, argument):
        return b"ok"

    def submit_tasks(self, count):
        ray.get([small_value.remote() for _ in range(count)])


@ray.remote
class AsyncSmallValueActor:
    async def small_value(self):
        return b"ok"


@ray.remote(num_cpus=0)
class ActorClient:
    def __init__(self, server):
        self.server = server

    def call_with_ref(self, count):
        argument = ray.put(0)
        ray.get([self.server.small_value_of.remote(argument) for _ in range(count)])
