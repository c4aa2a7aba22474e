"""The worker that this process is, for the public functions; None in a process that is none."""

current = None


def require():
    """:raises RuntimeError: where no worker runs"""
    if current is None:
        raise RuntimeError("this process is no worker of Shoal: call this from a task or an actor")
    return current


def require_task():
    """:raises RuntimeError: outside of tasks and actors, and in threads that a task or an actor without concurrency has started"""
    worker = require()
    if worker.running_job() is None or not worker.has_turn():
        raise RuntimeError("Cannot use the cluster here: call this from the thread of a task or an actor, not from one that it started")
    return worker


def threads_may_use_cluster():
    """Whether a thread that the calling code starts gets the turn while that code computes or waits for it."""
    worker = current
    return worker is not None and not worker.has_turn() and worker.guest() is not None


def in_turn(function):
    """For what uses the cluster: a method of an actor that runs on a thread of its own, and a thread that it has started, take the turn for it."""

    def within(*args, **kwargs):
        worker = current
        if worker is None or worker.has_turn():
            return function(*args, **kwargs)
        side = worker.side_of_thread() or worker.guest()
        if side is None:
            return function(*args, **kwargs)
        side.take_turn()
        try:
            return function(*args, **kwargs)
        finally:
            side.leave_turn()

    within.__name__ = function.__name__
    within.__qualname__ = function.__qualname__
    within.__doc__ = function.__doc__
    within.__wrapped__ = function
    return within
