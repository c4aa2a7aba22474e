"""The worker that this process is, for the public functions; None in a process that is none."""

current = None


def require():
    """:raises RuntimeError: where no worker runs"""
    if current is None:
        raise RuntimeError("this process is no worker of Shoal: call this from a task or an actor")
    return current
