"""Processes that a rank has forked (workers of a DataLoader, servers of multiprocessing): none of them outlives the rank."""

import ctypes
import os
import signal

_PR_SET_CHILD_SUBREAPER = 36


def end_with_this_process():
    """Makes this process the parent of what its children leave behind, so that ``end_now`` finds all of them."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        # Not Linux: those are found that have not left their parent.
        pass


def end_now():
    """Kills all descendants."""
    for pid in descendants(os.getpid()):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def descendants(pid):
    """The ids of all processes below one, on Linux; none elsewhere."""
    children = {}
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    for name in names:
        try:
            with open("/proc/%s/stat" % name, "rb") as file:
                # The name of the program stands in parentheses, and may hold anything.
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        children.setdefault(parent, []).append(int(name))
    found, open_ = [], [pid]
    while open_:
        below = children.get(open_.pop(), [])
        found.extend(below)
        open_.extend(below)
    return found
