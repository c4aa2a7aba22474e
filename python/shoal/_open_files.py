"""Files that the user's code has open for writing at the end of a worker."""

import gc
import io

_WRITERS = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)


def flush_all():
    """Writes what open files hold in their buffers.

    An interpreter that ends does so only for files that nothing refers to any more. The frames of the worker's own loop may hold the actor.
    """
    for value in gc.get_objects():
        if type(value) in _WRITERS:
            try:
                value.flush()
            except (OSError, ValueError):
                # Closed, detached, or on a full disk: the end of the worker reports to nobody.
                pass
