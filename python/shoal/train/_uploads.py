"""Functions of the loop's that put checkpoints into storage beside the loop (``checkpoint_upload_fn`` with ``ASYNC``): on one thread, one after the other.

The loop begins them (``report``), and the controller asks for what came of each (``_session.py``), so that it records the report when all ranks are through. The thread is made by the first.
"""

import asyncio

from ._loop_thread import LoopThread


class Uploads:
    def __init__(self, loop):
        self._loop = loop
        self._thread = None
        #: Futures of those that nobody has asked for yet, by their numbers.
        self._begun = {}
        self._count = 0

    def begin(self, function):
        """On the loop's thread: has the function run soon. @returns the number by which its outcome is asked for"""
        if self._thread is None:
            self._thread = LoopThread("shoal-train-upload")
        self._count += 1
        self._begun[self._count] = asyncio.run_coroutine_threadsafe(self._thread.run(function), self._loop)
        return self._count

    async def outcome(self, number):
        """Returns what the function returns, and raises what it raises."""
        return await asyncio.wrap_future(self._begun.pop(number))

    def refuse_within(self):
        """:raises RuntimeError: in a function that runs beside the loop, as the other ranks do not wait there"""
        if self._thread is not None and self._thread.is_current():
            raise RuntimeError(
                "Cannot report, meet other ranks or wait for uploads in checkpoint_upload_fn: with ASYNC it runs beside the loop, which may wait for it: do that in the loop, or report with SYNC"
            )
