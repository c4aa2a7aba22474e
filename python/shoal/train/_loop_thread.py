"""The thread of a rank on which code of the user's runs, one piece after the other: frameworks keep a current device and a state by thread.

``_session.py`` gives it work; uploads that go on beside the loop have another such thread (``_uploads.py``). It lives as long as the rank; a daemon thread, so that a loop that never returns does not keep the process.
"""

import asyncio
import queue
import sys
import threading


class LoopThread:
    def __init__(self, name="shoal-train-loop"):
        self._work = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def run(self, function):
        """Returns the function's result once it has run; the function's exception is raised here."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._work.put((function, loop, future))
        return await future

    def begin(self, function):
        """Starts the function without waiting for its end. The function must not raise."""
        self._work.put((function, None, None))

    def is_current(self):
        return threading.current_thread() is self._thread

    def place(self):
        """The line that the thread runs, in a text."""
        frame = sys._current_frames().get(self._thread.ident)
        return "" if frame is None else "%s:%d (%s)" % (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)

    def _run(self):
        while True:
            function, loop, future = self._work.get()
            if loop is None:
                function()
                continue
            try:
                settle, outcome = future.set_result, function()
            except StopIteration as error:
                # A future cannot carry one.
                settle, outcome = future.set_exception, RuntimeError("StopIteration: %s" % error)
            except BaseException as error:
                settle, outcome = future.set_exception, error
            loop.call_soon_threadsafe(_settle, future, settle, outcome)


def _settle(future, settle, outcome):
    if not future.done():
        settle(outcome)
