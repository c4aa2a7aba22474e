"""``shoal.serve.batch``: calls of a coroutine that takes a list are gathered, and each caller gets its own result."""

import asyncio
import functools
import time

from ._serve_metrics import BatchMetrics


def batch(function=None, *, max_batch_size=10, batch_wait_timeout_s=0.01):
    """Makes a method that takes a list into one that is called with single items.

    A batch begins when ``max_batch_size`` items wait, or the first has waited for ``batch_wait_timeout_s``. An exception among the results fails its caller alone.

    :raises TypeError: for a function that is no coroutine
    """
    if max_batch_size < 1 or batch_wait_timeout_s < 0:
        raise ValueError("Cannot batch: max_batch_size is at least 1 and batch_wait_timeout_s at least 0: received %r and %r" % (max_batch_size, batch_wait_timeout_s))
    if function is None:
        return functools.partial(batch, max_batch_size=max_batch_size, batch_wait_timeout_s=batch_wait_timeout_s)
    if not asyncio.iscoroutinefunction(function):
        raise TypeError("Cannot batch %s: it is not written with async def" % getattr(function, "__name__", function))
    name = "_shoal_batch_%s" % function.__name__

    @functools.wraps(function)
    async def single(self, item):
        queue = self.__dict__.get(name)
        if queue is None:
            queue = self.__dict__[name] = _Queue(functools.partial(function, self), function.__name__, max_batch_size, batch_wait_timeout_s)
        return await queue.add(item)

    return single


class _Queue:
    def __init__(self, run, name, size, wait_s):
        self._run = run
        self._size = size
        self._wait_s = wait_s
        self._waiting = []
        self._timer = None
        self._metrics = BatchMetrics(name)
        #: Batches under way: the loop alone would not keep them.
        self._tasks = set()

    def add(self, item):
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting.append((item, future, loop.time()))
        self._metrics.waiting(len(self._waiting))
        if len(self._waiting) >= self._size:
            self._begin()
        elif self._timer is None:
            self._timer = loop.call_later(self._wait_s, self._begin)
        return future

    def _begin(self):
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Callers that have gone are left out.
        members = [member for member in self._waiting if not member[1].done()]
        self._waiting = []
        self._metrics.waiting(0)
        if members:
            now = asyncio.get_running_loop().time()
            self._metrics.begun([(now - since) * 1000 for _, _, since in members], self._size)
            task = asyncio.get_running_loop().create_task(self._serve(members))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, members):
        began = time.perf_counter()
        try:
            results = list(await self._run([item for item, _, _ in members]))
            if len(results) != len(members):
                raise ValueError("a batch of %d items gave %d results: there is to be one for each item" % (len(members), len(results)))
        except Exception as error:
            results = [error] * len(members)
        self._metrics.ended((time.perf_counter() - began) * 1000)
        for result, (_, future, _) in zip(results, members):
            if future.done():
                continue
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)
