"""Coroutines of tasks and actors, on an asyncio loop that turns together with the worker's own.

The worker's loop stays the master: where coroutines wait, it lets asyncio wait for both, and goes on when either has something to do. So a method that awaits keeps nothing
from being read or answered, and what it sends leaves at once. Made with the first coroutine, as asyncio takes longer to load than all else here.
"""

import asyncio

from ._interrupts import TaskInterrupted


class Coroutines:
    def __init__(self, worker):
        self._worker = worker
        self._pump = worker.pump
        self._running = set()
        self.loop = loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        # The place where the system says that something has come is itself something that can be waited for.
        loop.add_reader(self._pump.fileno(), loop.stop)

    @property
    def turns(self):
        """Whether the worker is to wait here: something runs, and not around the caller."""
        return bool(self._running) and not self.loop.is_running()

    def turn(self, seconds):
        """As the pump's: waits until something happens, here or there, at most for so long, and handles it."""
        self._pump.flush()
        to_timer = self._pump.seconds_to_timer()
        if to_timer is not None and (seconds is None or to_timer < seconds):
            seconds = to_timer
        timer = None if seconds is None else self.loop.call_later(seconds, self.loop.stop)
        try:
            self.loop.run_forever()
        finally:
            if timer is not None:
                timer.cancel()
        self._pump.turn(0)

    def leave(self):
        """What a coroutine has sent leaves before asyncio waits again."""
        self.loop.stop()

    def start(self, coroutine, job, on_end):
        """Runs it beside others; ``on_end(task)`` is called in the loop."""
        token = self._worker.context_job.set(job)
        task = self.loop.create_task(coroutine)
        self._worker.context_job.reset(token)
        self._running.add(task)

        def ended(task):
            self._running.discard(task)
            self.loop.stop()
            on_end(task)

        task.add_done_callback(ended)
        return task

    def run(self, awaitable, job):
        """That of a task, to its end. @raises TaskInterrupted when the task is cancelled"""
        if self.loop.is_running():
            return self._run_aside(awaitable, job)
        interrupts = self._worker.interrupts
        task = self.loop.create_task(_whole(awaitable))
        # What came before it leaves before it waits.
        self.loop.stop()
        task.add_done_callback(lambda _task: self.loop.stop())
        is_interrupted = False
        while not task.done():
            try:
                self.loop.run_forever()
                # Nothing interrupts what belongs to the worker.
                marked = interrupts.pause()
                self._pump.turn(0)
                self._pump.flush()
                interrupts.resume(marked)
            except TaskInterrupted:
                is_interrupted = True
                task.cancel()
            if job.is_cancelled and not is_interrupted:
                is_interrupted = True
                task.cancel()
        if is_interrupted:
            if not task.cancelled():
                task.exception()
            raise TaskInterrupted("the task was cancelled")
        return task.result()

    def _run_aside(self, awaitable, job):
        """A task waits in the midst of its own coroutine, and this one runs meanwhile: with a loop of its own, without the turn."""
        worker = self._worker
        marked = worker.interrupts.pause()
        loop = asyncio.new_event_loop()
        task = loop.create_task(_whole(awaitable))
        job.cancel_coroutine = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            return worker.side_stack.outside(lambda: loop.run_until_complete(task))
        except asyncio.CancelledError:
            if job.is_cancelled:
                raise TaskInterrupted("the task was cancelled") from None
            raise
        finally:
            job.cancel_coroutine = None
            loop.close()
            worker.interrupts.resume(marked)


async def _whole(awaitable):
    return await awaitable


async def settled(entry, register):
    """Waits for the value of an object. ``register(entry, callback)``: on the worker's side."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def settle():
        if not future.done():
            future.set_result(None)

    def call():
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:
            # The loop has ended: nobody waits there any more.
            pass

    register(entry, call)
    await future
