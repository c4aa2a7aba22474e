"""Lets the daemon see the stacks of this process: SIGUSR1 makes faulthandler write those of all threads into a file.

The handler is C, so it works while Python's code computes or native code holds the interpreter. The daemon empties the file before it asks.
"""

import faulthandler
import os
import signal


def allow_stacks(folder, process_id):
    """Does nothing where the system has no such signal, or refuses the file."""
    if not hasattr(faulthandler, "register"):
        return
    try:
        # Stays open for life; appending, the handler writes at the start of an emptied file.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(os.path.join(folder, "stk-%s" % process_id), flags, 0o600)
    except OSError:
        return
    faulthandler.register(signal.SIGUSR1, file=descriptor, all_threads=True)
