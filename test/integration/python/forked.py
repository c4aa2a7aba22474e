"""What workers find that were forked from a process with NumPy in it."""

import os
import random
import sys
import time


def facts():
    import numpy

    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "random": [random.random(), float(numpy.random.random())],
        "executable": sys.executable,
    }


def spin():
    while True:
        pass


def shared_kilobytes():
    """Pages that this process has in common with others, of those that it has in memory."""
    with open("/proc/self/smaps_rollup") as file:
        lines = dict(line.split(":") for line in file.read().splitlines()[1:] if ":" in line)
    return [int(lines["Shared_Dirty"].split()[0]), int(lines["Rss"].split()[0])]


class Holder:
    def __init__(self):
        import numpy

        self.started = time.time()
        self.total = float(numpy.ones(1000).sum())

    def facts(self):
        return {**facts(), "total": self.total}

    def say(self):
        print("from a forked worker")
        sys.stderr.write("and its errors\n")

    def crash(self):
        import ctypes

        ctypes.string_at(0)
