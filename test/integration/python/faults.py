"""What may go wrong in code of the user's, and what it sees of its place."""

import collections
import itertools
import multiprocessing
import os
import sys
import threading
import warnings

#: As the first import of this file found it.
GPUS_AT_IMPORT = os.environ.get("CUDA_VISIBLE_DEVICES")


def native(file):
    """Never looks whether a signal has come."""
    with open(file, "a") as log:
        log.write("%d\n" % os.getpid())
    collections.deque(itertools.repeat(0), maxlen=0)


def process_id():
    return os.getpid()


def forks_after_threads():
    """By hand and by ``multiprocessing``, beside threads of its own."""
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
        if pid == 0:
            os._exit(5)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        context = multiprocessing.get_context("fork")
        child = context.Process(target=sys.exit, args=(6,))
        child.start()
        child.join()
    stop.set()
    for thread in threads:
        thread.join()
    return [code, child.exitcode]


def gpus():
    return [GPUS_AT_IMPORT, os.environ.get("CUDA_VISIBLE_DEVICES")]


class Gpus:
    def gpus(self):
        return gpus()


def total_of(*arrays):
    return sum(array[0] + len(array) for array in arrays)
