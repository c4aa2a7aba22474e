"""Tasks that wait for children which change, lock or block the process in which they run."""

import os
import random
import threading
import time

import shoal

_LOCK = threading.Lock()
_changed = False


@shoal.remote
def _take_lock():
    with _LOCK:
        return "taken"


@shoal.remote
def _change(folder):
    global _changed
    _changed = True
    os.chdir(folder)
    os.environ["OWN_PROCESS"] = "child"
    random.seed(1)


@shoal.remote(max_retries=0)
def _die():
    os._exit(3)


@shoal.remote
def _compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def locked():
    with _LOCK:
        return shoal.get(_take_lock.remote(), timeout=20)


def kept(folder):
    before = os.getcwd()
    numbers = random.getstate()
    shoal.get(_change.remote(folder))
    return [os.getcwd() == before, os.environ.get("OWN_PROCESS"), random.getstate() == numbers, _changed]


def survives():
    try:
        shoal.get(_die.remote())
    except shoal.WorkerCrashedError:
        return os.getpid()


def timed_out():
    """How long ``get`` and ``wait`` with 0.3 s take on a child that computes for 5 s."""
    child = _compute.remote(5)
    begin = time.monotonic()
    try:
        shoal.get(child, timeout=0.3)
    except shoal.GetTimeoutError:
        pass
    got = time.monotonic()
    shoal.wait([child], timeout=0.3)
    waited = time.monotonic()
    shoal.cancel(child)
    return [got - begin, waited - got]


@shoal.remote(max_retries=0)
def _dies(file, times):
    with open(file, "a+") as ran:
        ran.write("child\n")
        ran.flush()
        ran.seek(0)
        deaths = ran.read().split().count("child")
    if deaths <= times:
        os._exit(3)
    return "done"


def dies_sometimes(file, times):
    with open(file, "a") as ran:
        ran.write("parent\n")
    return shoal.get(_dies.remote(file, times))
