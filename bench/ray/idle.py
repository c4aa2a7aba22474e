"""The twin of ../programs/idle.ts: a runtime that does nothing, until the end of its input."""

import os
import sys

import ray

ray.init(_temp_dir=os.environ["SHOAL_BENCH_RAY_TEMP"])
print("ready", flush=True)
sys.stdin.read()
ray.shutdown()
