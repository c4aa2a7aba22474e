"""The twin of ../large-get.ts: reads 100 MB in a process that did not write them, and says what each reading cost."""

import re
import statistics
import time

import numpy as np
import ray

OBJECT_SIZE_BYTES = 100_000_000


def anonymous_bytes():
    with open("/proc/self/status") as file:
        return int(re.search(r"^RssAnon:\s+(\d+) kB$", file.read(), re.MULTILINE).group(1)) * 1024


@ray.remote
class Reader:
    def read(self, refs):
        anonymous_bytes_before = anonymous_bytes()
        start = time.perf_counter()
        array = ray.get(refs[0])
        got = time.perf_counter()
        total = float(array.sum())
        end = time.perf_counter()
        gained_bytes = anonymous_bytes() - anonymous_bytes_before
        return {
            "get_ms": (got - start) * 1000,
            "copied_megabytes": max(0, gained_bytes / 1e6),
            "first_pass_ms": (end - got) * 1000,
            "total": total,
        }


def read_large_objects(plan):
    reads_count = 3 if plan["quick"] else 8
    reader = Reader.remote()
    source = np.ones(OBJECT_SIZE_BYTES // 8, dtype=np.float64)
    reads = []
    for index in range(reads_count + 1):
        ref = ray.put(source)
        read = ray.get(reader.read.remote([ref]))
        assert read["total"] == len(source), read
        del ref
        if index > 0:
            reads.append(read)
    return reads


def get_large_copied(plan):
    return {"samples": [read["copied_megabytes"] for read in read_large_objects(plan)]}


def get_large_time(plan):
    reads = read_large_objects(plan)
    first_pass_ms = statistics.median(read["first_pass_ms"] for read in reads)
    return {"samples": [read["get_ms"] for read in reads], "details": {"firstPassMs": first_pass_ms}}
