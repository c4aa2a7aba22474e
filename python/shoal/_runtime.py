"""The worker that this process is, for the public functions; None in a process that is none."""

current = None


def require():
    """:raises RuntimeError: where no worker runs"""
    if current is None:
        raise RuntimeError("this process is no worker of Shoal: call this from a task or an actor")
    return current


def require_task():
    """:raises RuntimeError: outside of tasks and actors, and in threads of their own"""
    worker = require()
    if worker.current is None or not worker.has_turn():
        raise RuntimeError("Cannot use the cluster here: call this from the thread of a task or an actor, not from one that it started")
    return worker
