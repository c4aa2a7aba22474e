"""Functions of the loop's that put checkpoints into storage beside the loop (``checkpoint_upload_fn`` with ``ASYNC``): on one thread, one after the other.

The loop leaves them here (``report``), and the controller has each run once all ranks have come to its report and the report before is recorded (``_session.py``): so uploads of two
reports never overlap, and those of a report that does not count never begin. The thread is made by the first.
"""

from functools import partial

from ._loop_thread import LoopThread


class Uploads:
    def __init__(self):
        self._thread = None
        #: Functions that have not begun, by their numbers.
        self._waiting = {}
        self._count = 0

    def add(self, function):
        """On the loop's thread: keeps the function until its outcome is asked for. @returns the number by which that is done"""
        self._count += 1
        self._waiting[self._count] = function
        return self._count

    async def outcome(self, number):
        """Has the function run. Returns what it returns, and raises what it raises."""
        if self._thread is None:
            self._thread = LoopThread("shoal-train-upload")
        return await self._thread.run(partial(_without_exit, self._waiting.pop(number)))

    def refuse_within(self):
        """:raises RuntimeError: in a function that runs beside the loop, as the other ranks do not wait there"""
        if self._thread is not None and self._thread.is_current():
            raise RuntimeError(
                "Cannot report, meet other ranks or wait for uploads in checkpoint_upload_fn: with ASYNC it runs beside the loop, which may wait for it: do that in the loop, or report with SYNC"
            )


def _without_exit(function):
    """An exit or a cancellation that got into asyncio would end the rank, or its call, without a word about the upload."""
    try:
        return function()
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError("checkpoint_upload_fn has raised %r" % error) from error
