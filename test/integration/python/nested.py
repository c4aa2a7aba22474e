"""Tasks and actors that use the cluster themselves."""

import os
import threading

import shoal


def value_of(box, timeout=None):
    return shoal.get(box[0], timeout)


def values_of(box):
    return shoal.get(box)


def slow_value(box):
    """Waits until another task is there, which needs this worker's CPU."""
    return [os.getpid(), shoal.get(box[0])]


def put_and_pass(size):
    ref = shoal.put(bytes(size))
    again = shoal.get(ref)
    return [len(again), ref, [shoal.put({"a": 1})]]


def failure_of(box):
    try:
        shoal.get(box[0])
    except shoal.TaskError as error:
        return [str(error), type(error.__cause__).__name__, str(error.__cause__)]


def ready_of(box, count, timeout):
    ready, pending = shoal.wait(box, num_returns=count, timeout=timeout)
    return [len(ready), len(pending)]


def timed_out(box):
    try:
        shoal.get(box[0], timeout=0.05)
    except shoal.GetTimeoutError as error:
        return str(error)


def call_actor(handle, *args):
    return shoal.get([handle.add.remote(arg) for arg in args])


def call_named(name, value):
    handle = shoal.get_actor(name)
    return shoal.get(handle.add.remote(value))


def call_wrong(handle):
    try:
        handle.nothing.remote()
    except AttributeError as error:
        return str(error)


def actor_failure(handle):
    try:
        shoal.get(handle.fail.remote("from TypeScript"))
    except shoal.TaskError as error:
        return [str(error), error.__cause__.name]


def dead_actor(handle):
    try:
        shoal.get(handle.add.remote(1))
    except shoal.ActorDiedError as error:
        return error.reason


def large_through(handle, size):
    """A large argument, and a large result, and a reference as an argument."""
    ref = shoal.put(b"x" * size)
    echoed = shoal.get(handle.echo.remote(b"y" * size))
    return [len(echoed), len(shoal.get(handle.echo.remote(ref)))]


def ref_of_call(handle, value):
    return [handle.slow.remote(value)]


def from_thread():
    found = []

    def run():
        try:
            shoal.put(1)
        except RuntimeError as error:
            found.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def waits_for_ever(box, file):
    open(file, "a").write("began\n")
    try:
        shoal.get(box[0])
    finally:
        open(file, "a").write("ended\n")


class Relay:
    def __init__(self, target):
        self.target = target

    def add(self, value):
        return shoal.get(self.target.add.remote(value)) + 1000
