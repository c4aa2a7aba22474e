"""Coroutines of tasks and actors, on an asyncio loop that turns together with the worker's own.

The worker's loop stays the master: where coroutines wait, it lets asyncio wait for both, and goes on when either has something to do. So a method that awaits keeps nothing
from being read or answered, and what it sends leaves at once. Made with the first coroutine, as asyncio takes longer to load than all else here.
"""

import asyncio

from . import _runtime
from ._interrupts import TaskInterrupted
from ._stacks import Waiter


class Coroutines:
    def __init__(self, worker):
        self._worker = worker
        self._pump = worker.pump
        self._running = set()
        #: How many coroutines of the loop wait for references, and whether one of these is there.
        self.waits = 0
        self.has_news = False
        self._is_parked = False
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
        task = self._task_of(job, _whole(coroutine))
        self._running.add(task)

        def ended(task):
            self._running.discard(task)
            self.loop.stop()
            on_end(task)

        task.add_done_callback(ended)
        return task

    def _task_of(self, job, coroutine):
        """Of the loop, in which it is known whose code runs."""
        token = self._worker.context_job.set(job)
        task = self.loop.create_task(coroutine)
        self._worker.context_job.reset(token)
        return task

    def run(self, awaitable, job):
        """That of a task, to its end. @raises TaskInterrupted when the task is cancelled"""
        if self.loop.is_running():
            return self._run_aside(awaitable, job)
        if self._is_parked:
            return self._run_parked(awaitable, job)
        interrupts = self._worker.interrupts
        task = self._task_of(job, _whole(awaitable))
        # Answers from before the await are sent before the task waits.
        self.loop.stop()
        task.add_done_callback(lambda _task: self.loop.stop())
        is_interrupted = False
        while not task.done():
            try:
                if self.waits:
                    # Runs every callback that is ready, then checks whether waiting is all that is left.
                    self.loop.call_soon(self.loop.stop)
                timer = self._stop_at_timer()
                self.loop.run_forever()
                if timer is not None:
                    timer.cancel()
                # Nothing interrupts the worker's own code.
                marked = interrupts.pause()
                self._pump.turn(0)
                self._pump.flush()
                interrupts.resume(marked)
                if self.waits and not task.done() and not self.has_news and not getattr(self.loop, "_ready", None):
                    self._park(task)
                self.has_news = False
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
        return result_of(task)

    def _stop_at_timer(self):
        """Who may run only until a time has to look then."""
        seconds = None if self._pump.await_execution_lease is None else self._pump.seconds_to_timer()
        return None if seconds is None else self.loop.call_later(seconds, self.loop.stop)

    def _park(self, task):
        """All that there is to do is to wait for references: the CPU goes to others meanwhile, which may run here, as where ``get`` waits."""
        self._is_parked = True
        self._running.add(task)
        try:
            Waiter(self._worker, lambda: self.has_news or task.done(), None).run()
        finally:
            self._running.discard(task)
            self._is_parked = False

    def _run_parked(self, awaitable, job):
        """A task waits for references in its coroutine, and this one runs meanwhile, on the same loop. It counts as one that waits."""
        task = self._task_of(job, _whole(awaitable))
        self._running.add(task)
        task.add_done_callback(lambda _task: self.loop.stop())
        is_interrupted = False
        try:
            while not task.done():
                try:
                    Waiter(self._worker, task.done, None).run()
                except TaskInterrupted:
                    is_interrupted = True
                    task.cancel()
        finally:
            self._running.discard(task)
        if is_interrupted:
            if not task.cancelled():
                task.exception()
            raise TaskInterrupted("the task was cancelled")
        return result_of(task)

    def _run_aside(self, awaitable, job):
        """A task waits in the midst of its own coroutine, and this one runs meanwhile: with a loop of its own, without the turn."""
        worker = self._worker
        marked = worker.interrupts.pause()
        loop = asyncio.new_event_loop()
        task = loop.create_task(_whole(awaitable))
        job.cancel_coroutine = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            return worker.side_stack.outside(lambda: loop.run_until_complete(task))
        except _Ended as ended:
            raise ended.error from None
        except asyncio.CancelledError:
            if job.is_cancelled:
                raise TaskInterrupted("the task was cancelled") from None
            raise
        finally:
            job.cancel_coroutine = None
            loop.close()
            worker.interrupts.resume(marked)


class _Ended(Exception):
    """``SystemExit`` or ``KeyboardInterrupt`` of a coroutine. It is the failure of that call; bare, it would end asyncio's loop and everything on it."""

    def __init__(self, error):
        Exception.__init__(self)
        self.error = error


async def _whole(awaitable):
    try:
        return await awaitable
    except TaskInterrupted:
        raise
    except (SystemExit, KeyboardInterrupt) as error:
        raise _Ended(error) from None


def failure_of(task):
    """The exception with which a coroutine has ended, or None."""
    error = task.exception()
    return error.error if isinstance(error, _Ended) else error


def result_of(task):
    error = None if task.cancelled() else failure_of(task)
    if error is not None:
        raise error
    return task.result()


async def settled(entry, register):
    """Waits for the value of an object. ``register(entry, callback)``: on the worker's side."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    coroutines = _runtime.current.coroutines()
    is_counted = loop is coroutines.loop

    def settle():
        if not future.done():
            future.set_result(None)

    def call():
        if is_counted:
            coroutines.has_news = True
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:
            # The loop has ended: nobody waits there any more.
            pass

    register(entry, call)
    coroutines.waits += is_counted
    try:
        await future
    finally:
        coroutines.waits -= is_counted
