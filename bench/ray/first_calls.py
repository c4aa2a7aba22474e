"""The twin of ../programs/first-calls.ts: import, start, one task, one actor, end."""

import os

import ray


@ray.remote
def task():
    return "ok"


@ray.remote
class Greeter:
    def greet(self):
        return "ok"


ray.init(_temp_dir=os.environ["SHOAL_BENCH_RAY_TEMP"])
answers = [ray.get(task.remote())]
greeter = Greeter.remote()
answers.append(ray.get(greeter.greet.remote()))
assert answers == ["ok", "ok"], answers
print("ready", flush=True)
ray.shutdown()
