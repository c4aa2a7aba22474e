"""Exchange between a loop's thread and the controller of the run: an event of the loop, and the decision that answers it.

One event at a time: ``ask`` holds the loop until its event is decided. ``next`` belongs to asyncio, which answers the controller; it never waits for the loop's thread.
"""

import queue
import threading
from collections import deque


class Exchange:
    def __init__(self, loop):
        self._loop = loop
        self._events = deque()
        self._wanted = None
        self._decisions = queue.SimpleQueue()
        #: Whoever calls from several threads is answered one by one.
        self._asking = threading.Lock()

    def ask(self, event):
        """On a thread of the user's: tells an event and returns its decision."""
        with self._asking:
            self.tell(event)
            return self._decisions.get()

    def tell(self, event):
        """From any thread: an event that nobody answers."""
        self._loop.call_soon_threadsafe(self._arrive, event)

    async def next(self, decision):
        """The next event, after the decision on the last one."""
        if decision is not None:
            self._decisions.put(decision)
        if self._events:
            return self._events.popleft()
        self._wanted = self._loop.create_future()
        return await self._wanted

    def _arrive(self, event):
        wanted, self._wanted = self._wanted, None
        if wanted is None or wanted.done():
            self._events.append(event)
        else:
            wanted.set_result(event)
