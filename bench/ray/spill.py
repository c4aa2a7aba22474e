"""The twin of ../figures/spill-and-read.ts: five times what the object store holds is put and kept, then read again."""

import os
import time

import numpy as np
import ray

STORE_BYTES = 200_000_000
OBJECT_BYTES = 10_000_000
PAGE_NUMBERS = 512


def spill_and_read(plan):
    ray.shutdown()
    ray.init(_temp_dir=os.environ["SHOAL_BENCH_RAY_TEMP"], object_store_memory=STORE_BYTES)
    count = (2 if plan["quick"] else 5) * STORE_BYTES // OBJECT_BYTES
    source = np.zeros(OBJECT_BYTES // 8, dtype=np.float64)
    start = time.perf_counter()
    refs = []
    for index in range(count):
        source.fill(index)
        refs.append(ray.put(source))
    put = time.perf_counter()
    for index, ref in enumerate(refs):
        total = float(ray.get(ref)[::PAGE_NUMBERS].sum())
        assert total == index * len(source[::PAGE_NUMBERS]), (index, total)
    end = time.perf_counter()
    gigabytes = count * OBJECT_BYTES / 1e9
    details = {
        "putGigabytesPerSecond": gigabytes / (put - start),
        "getGigabytesPerSecond": gigabytes / (end - put),
    }
    return {"samples": [2 * gigabytes / (end - start)], "details": details}
