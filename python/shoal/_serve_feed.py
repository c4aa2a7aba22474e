"""What the client of a request sends: a body that came whole, or its pieces and messages, which the TypeScript half of the replica holds (`src/serve/replica/python/python-feeds.ts`)."""

import asyncio


class Feed:
    def __init__(self, gateway, number, whole):
        self._gateway = gateway
        #: By which the TypeScript half knows it; 0 where all that comes is here.
        self.number = number
        self._whole = whole
        self._lock = asyncio.Lock()
        #: A read outlives whoever asked for it and was cancelled: its piece is for the next one.
        self._reading = None

    async def next(self):
        """The next piece or message; None at the end. :raises Exception: where the client is gone"""
        if self.number == 0:
            whole, self._whole = self._whole, None
            return whole
        async with self._lock:
            if self._reading is None:
                self._reading = asyncio.ensure_future(self._read())
            piece = await asyncio.shield(self._reading)
            self._reading = None
            return piece

    async def _read(self):
        return await self._gateway.readFeed.remote(self.number)
