"""Actors whose calls run at once."""

import asyncio
import threading
import time

import shoal


class Meeting:
    """Coroutines: each waits until all are there."""

    def __init__(self, size):
        self.size = size
        self.present = 0
        self.all_here = asyncio.Event()
        self.log = []

    async def come(self):
        self.present += 1
        if self.present == self.size:
            self.all_here.set()
        await self.all_here.wait()
        return self.present

    async def wait_for(self, box):
        return await box[0]

    async def twice_through(self, other, value):
        return await other.echo.remote(await other.echo.remote(value)) * 2

    async def fail(self):
        await asyncio.sleep(0.001)
        raise ValueError("after a while")

    async def step(self, number):
        self.log.append("+%d" % number)
        await asyncio.sleep(0.01)
        self.log.append("-%d" % number)

    async def hang(self):
        try:
            await asyncio.sleep(3600)
        finally:
            self.log.append("cancelled")

    async def ticks(self, count):
        try:
            for number in range(count):
                await asyncio.sleep(0)
                self.log.append(number)
                yield number
        finally:
            self.log.append("end")

    async def leave(self):
        shoal.exit_actor()

    def entries(self):
        return list(self.log)

    def thread(self):
        return threading.current_thread() is threading.main_thread()


class Crew:
    """No coroutines: threads."""

    def __init__(self, size):
        self.barrier = threading.Barrier(size, timeout=20)
        self.name = ""

    def meet(self):
        self.barrier.wait()
        return threading.current_thread() is threading.main_thread()

    def sleep(self, seconds):
        time.sleep(seconds)
        return seconds

    def values(self, box):
        ref = shoal.put([1] * 10)
        return [shoal.get(box[0]), len(shoal.get(ref))]

    def from_actor(self, other, value):
        self.barrier.wait()
        return shoal.get(other.echo.remote(value))

    def numbers(self, count):
        for number in range(count):
            time.sleep(0.001)
            yield number

    def fail(self):
        raise KeyError("in a thread")

    def leave(self):
        shoal.exit_actor()


async def task_awaits(box):
    return [await box[0], shoal.get(box[0])]


async def task_hangs(file):
    open(file, "a").write("began\n")
    try:
        await asyncio.sleep(3600)
    finally:
        open(file, "a").write("cancelled\n")


async def slow_value(box):
    """Waits within a coroutine, so that others of its kind run on its process."""
    value = shoal.get(box[0])
    await asyncio.sleep(0.001)
    return [threading.get_ident(), value]
