"""The Python half of a replica: the user's object, and the calls that its TypeScript half passes on (`src/serve/replica/python/python-object.ts`).

Admission, routing and limits are decided there. Methods written with ``async def`` run on the loop, all others on threads, so that none holds up another request.
"""

import asyncio
import contextvars
import functools
import inspect
import itertools
from concurrent.futures import ThreadPoolExecutor

from . import _runtime, _serve_context, _serve_metrics
from ._serve_asgi import AsgiServer
from ._serve_feed import Feed
from ._serve_handles import with_handles
from ._serve_http import Request, answer_of, is_stream, piece_of
from ._serve_ingress import application_of

_END = object()


class Replica:
    def __init__(self, place, name, args, context, gateway, threads):
        _serve_context.set_replica(context, gateway)
        self._name = context["deployment"]
        target = _runtime.require().targets.find(place, name)
        self._object = target(*with_handles(args, gateway)) if inspect.isclass(target) else target
        self._gateway = gateway
        #: Of a deployment whose requests an ASGI application answers.
        self._asgi = None
        self._awaits_body = False
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="shoal-serve")
        self._streams = {}
        self._ids = itertools.count(1)

    async def start(self):
        """:returns: what the object offers"""
        app = application_of(self._object)
        if app is not None:
            self._asgi = AsgiServer(app, self._gateway)
            await self._asgi.start()
        self._awaits_body = app is None and callable(self._object) and _is_coroutine(self._object)
        return {
            "isAsgi": app is not None,
            "hasCall": callable(self._object),
            "awaitsBody": self._awaits_body,
            "hasReconfigure": callable(getattr(self._object, "reconfigure", None)),
            "methods": [name for name in dir(type(self._object)) if not name.startswith("_") and callable(getattr(type(self._object), name))],
        }

    async def alive(self):
        """Never answers: the end of this call is the end of this process."""
        await _serve_metrics.watch_loop()

    async def metrics(self):
        return _serve_metrics.snapshots()

    async def check_health(self):
        await self._run_hook("check_health")

    async def reconfigure(self, user_config):
        await self._run_hook("reconfigure", user_config)

    async def set_rank(self, rank, world_size):
        _serve_context.set_rank(rank, world_size)

    async def close(self):
        """Runs the shutdown of an ASGI application, and lets the object end as objects do, by ``__del__``."""
        self._streams.clear()
        if self._asgi is not None:
            await self._asgi.stop()
        self._object = None

    async def call(self, meta, name, *args):
        _serve_context.request.set(tuple(meta))
        return await self._run(self._method(name), args)

    async def stream(self, meta, name, *args):
        _serve_context.request.set(tuple(meta))
        items = await self._run(self._method(name), args)
        if not (hasattr(items, "__aiter__") or hasattr(items, "__iter__")):
            raise TypeError("Cannot stream %s.%s: a generator is needed: received %s" % (self._name, name, type(items).__name__))
        async for item in self._items(items if hasattr(items, "__aiter__") else iter(items)):
            yield item

    async def http(self, meta, given):
        """:returns: ``[status, headers, body, number of the stream that is the body, whether code has chosen the status of that]``"""
        _serve_context.request.set(tuple(meta))
        try:
            # Most requests take this way, and what kind of function `__call__` is has been found out once.
            if self._awaits_body:
                value = await self._object(Request(given, Feed(self._gateway, given["feed"], given["body"])))
            else:
                value = await self._run(self._method("__call__"), (Request(given),))
        except Exception as error:
            status = getattr(error, "status_code", None)
            if not isinstance(status, int) or not 400 <= status <= 599:
                raise
            # An error with its own status, such as FastAPI's and Starlette's.
            headers = [part for pair in (getattr(error, "headers", None) or {}).items() for part in pair]
            body = answer_of({"detail": getattr(error, "detail", None)})
            return [status, headers + body[1], body[2], 0, True]
        status, headers, body = answer_of(value)
        if isinstance(body, (bytes, bytearray, memoryview, str)):
            return [status, headers, body if isinstance(body, str) else bytes(body), 0, True]
        if not is_stream(body) and not hasattr(body, "__iter__"):
            raise TypeError("Cannot answer a request with a body of %s" % type(body).__name__)
        number = next(self._ids)
        self._streams[number] = body if hasattr(body, "__aiter__") else iter(body)
        return [status, headers, None, number, hasattr(value, "status_code")]

    async def asgi(self, meta, given):
        """A request in the ASGI application, as `AsgiServer.http` gives it."""
        _serve_context.request.set(tuple(meta))
        async for item in self._asgi.http(given):
            yield item

    async def socket(self, meta, given):
        """A WebSocket in the ASGI application, as `AsgiServer.socket` gives it."""
        _serve_context.request.set(tuple(meta))
        async for item in self._asgi.socket(given):
            yield item

    def closed(self, number, code, reason):
        """A client has closed its WebSocket."""
        self._asgi.closed(number, code, reason)

    async def read(self, meta, number):
        """The pieces of the body of an answer."""
        _serve_context.request.set(tuple(meta))
        items = self._streams.pop(number, None)
        if items is not None:
            async for item in self._items(items):
                yield piece_of(item)

    async def drop(self, number):
        """Lets go of a stream whose client has left."""
        self._streams.pop(number, None)

    async def _items(self, items):
        if hasattr(items, "__aiter__"):
            try:
                async for item in items:
                    yield item
            finally:
                if hasattr(items, "aclose"):
                    await items.aclose()
            return
        try:
            while (item := await self._on_thread(next, (items, _END))) is not _END:
                yield item
        finally:
            if hasattr(items, "close"):
                items.close()

    def _method(self, name):
        name = name or "__call__"
        if self._asgi is not None and name in ("__call__", "call", "fetch"):
            raise AttributeError("Cannot call deployment %s without the name of a method: an ASGI application answers its requests, by HTTP" % self._name)
        method = None if name.startswith("_") and name != "__call__" else self._object if name == "__call__" else getattr(self._object, name, None)
        # The default method, by the name that it has in TypeScript.
        if method is None and name in ("call", "fetch"):
            method = self._object
        if not callable(method):
            known = [known for known in dir(self._object) if not known.startswith("_") and callable(getattr(self._object, known, None))]
            raise AttributeError("Cannot call deployment %s: it has no method %s: it has %s" % (self._name, name, ", ".join(known) or "none"))
        return method

    async def _run_hook(self, name, *args):
        method = getattr(self._object, name, None)
        if callable(method):
            await self._run(method, args)

    async def _run(self, method, args):
        if _is_coroutine(method):
            return await method(*args)
        function = method if inspect.isroutine(method) else getattr(method, "__call__", method)
        if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
            return method(*args)
        value = await self._on_thread(method, args)
        return await value if inspect.isawaitable(value) else value

    async def _on_thread(self, function, args):
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._threads, functools.partial(context.run, function, *args))


def _is_coroutine(method):
    return inspect.iscoroutinefunction(method if inspect.isroutine(method) else getattr(method, "__call__", method))
