"""ASGI applications (FastAPI, Starlette, Django and whatever else speaks ASGI 3) in a deployment of Python.

Stands where a server such as uvicorn stands: makes the scope of a request, gives what the client sends by ``receive``, and passes what ``send`` gets to the
TypeScript half of the replica, which owns the connection, the limits and the routes. An exchange is one call of the replica (`_serve_replica.py`), which ends with the application's
own, background tasks included: what the application calls by handles is cancelled with it.
"""

import asyncio
import inspect
import sys
import traceback
from urllib.parse import unquote_to_bytes, urlsplit

from . import _serve_context
from ._serve_feed import Feed

#: How long an application that was told that its client is gone may take to end by itself, before it is cancelled: time to close files, and not to serve nobody.
_GONE_GRACE_SECONDS = 1.0
#: A head whose body does not follow at once goes out by itself after that long: clients of server-sent events wait for it.
_HEAD_WAITS_SECONDS = 0.005
#: By which the proxy tells the route prefix of the application, behind the headers of the client.
_PREFIX_HEADER = "x-forwarded-prefix"
#: Of the body of a response that refuses a WebSocket; the TypeScript half takes no longer one.
_REFUSAL_BYTES_MAX = 1024 * 1024
_VERSIONS = {"version": "3.0", "spec_version": "2.3"}
_END = object()
#: The last item where the application has failed behind its whole answer: the replica counts it.
_FAILED = ["failed"]


def is_asgi(target):
    """Whether an object is an application by itself: it is called with scope, receive and send, and awaited."""
    if inspect.isclass(target) or not callable(target):
        return False
    function = target if inspect.isroutine(target) else type(target).__call__
    if not inspect.iscoroutinefunction(function):
        return False
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return False
    return len([known for known in parameters if known.default is known.empty and known.kind in (known.POSITIONAL_ONLY, known.POSITIONAL_OR_KEYWORD)]) == 3


class AsgiServer:
    """One application: its lifespan, and its exchanges."""

    def __init__(self, app, gateway):
        self._app = app
        self._gateway = gateway
        self._lifespan = _Lifespan(app)
        #: Exchanges whose application has not ended.
        self._running = set()
        self._sockets = {}

    async def start(self):
        """Runs the startup of the application. :raises Exception: what the application raises"""
        await self._lifespan.start()

    async def stop(self):
        """Lets what runs end, background tasks too, and runs the shutdown of the application."""
        while self._running:
            await asyncio.wait(set(self._running))
        await self._lifespan.stop()

    def http(self, given):
        """The items of an answer: ``[status, headers, bytes, whether more follows]``, bytes, ``None`` at the end of a body that followed, ``["failed"]`` for what failed behind it."""
        headers = _headers_of(given)
        scope = dict(self._scope("http", given, headers), method=given["method"])
        return self._items_of(_HttpExchange(scope, Feed(self._gateway, given["feed"], given["body"])))

    def socket(self, given):
        """Yields the messages of a WebSocket: ``["accept", protocol, headers]`` or ``["refuse", status, headers, body]``, texts, bytes, ``["close", code, reason]`` and ``["failed"]``."""
        headers = _headers_of(given)
        scope = self._scope("websocket", given, headers)
        scope["scheme"] = "wss" if scope["scheme"] == "https" else "ws"
        scope["extensions"] = {"websocket.http.response": {}}
        offered = b",".join(value for name, value in headers if name == b"sec-websocket-protocol").decode("latin-1")
        scope["subprotocols"] = [name.strip() for name in offered.split(",") if name.strip()]
        return self._items_of(_SocketExchange(scope, Feed(self._gateway, given["feed"], None), self._sockets))

    def closed(self, number, code, reason):
        """The client has closed its WebSocket."""
        exchange = self._sockets.get(number)
        if exchange is not None:
            exchange.closed(code, reason)

    async def _items_of(self, exchange):
        task = asyncio.ensure_future(exchange.run(self._app))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            while (item := await exchange.items.get()) is not _END:
                yield item
            exchange.raise_failure()
        finally:
            if not task.done():
                await exchange.leave(task)

    def _scope(self, kind, given, headers):
        url = urlsplit(given["url"])
        root = next((value.decode("latin-1") for name, value in reversed(headers) if name == _PREFIX_HEADER.encode()), "").rstrip("/")
        scheme = url.scheme or "http"
        scope = {
            "type": kind,
            "asgi": dict(_VERSIONS),
            "http_version": "1.1",
            "scheme": scheme,
            # Path as the client sees it: with the prefix of the application.
            "path": root + unquote_to_bytes(url.path).decode("utf-8", "replace"),
            "raw_path": (root + url.path).encode("latin-1", "replace"),
            "query_string": url.query.encode("latin-1", "replace"),
            "root_path": root,
            "headers": headers if any(name == b"host" for name, _ in headers) else [(b"host", url.netloc.encode("latin-1", "replace")), *headers],
            "client": (given["client"], 0) if given["client"] else None,
            "server": (url.hostname or "", url.port or (443 if scheme == "https" else 80)),
            "extensions": {},
        }
        if self._lifespan.is_supported:
            scope["state"] = dict(self._lifespan.state)
        return scope


class _Exchange:
    """An application at work on one request or WebSocket."""

    def __init__(self, scope, feed):
        self.scope = scope
        self.feed = feed
        #: One item waits for its reader; whoever sends the next one waits, too.
        self.items = asyncio.Queue(1)
        self.gone = asyncio.Event()
        self._has_left = False
        self._failure = None
        #: The answer was handed to its reader, whole.
        self._is_answered = False

    async def run(self, app):
        try:
            await app(self.scope, self.receive, self.send)
            self.returned()
        except asyncio.CancelledError as error:
            self._failure = RuntimeError("the ASGI application was cancelled") if not self._has_left else error
        except BaseException as error:
            self._failure = error
        self.gone.set()
        self.over()
        if self._failure is not None and not self._has_left and self._is_answered:
            # The client has its answer already. Frameworks answer first and raise then, so that servers can log the error.
            known = _serve_context.request.get()
            print("Request %s failed in the ASGI application:" % ("" if known is None else known[0]), file=sys.stderr)
            traceback.print_exception(type(self._failure), self._failure, self._failure.__traceback__)
            self._failure = None
            await self.items.put(_FAILED)
        await self.items.put(_END)

    def raise_failure(self):
        if self._failure is not None:
            raise self._failure

    async def leave(self, task):
        """Nobody reads on: the application hears it, and is cancelled where it does not end."""
        self._has_left = True
        self.gone.set()
        rest = asyncio.ensure_future(self._drop_rest())
        await asyncio.wait({rest}, timeout=_GONE_GRACE_SECONDS)
        if not task.done():
            task.cancel()
        await rest
        await asyncio.wait({task})

    async def _drop_rest(self):
        while await self.items.get() is not _END:
            pass

    async def put(self, item):
        if self._has_left:
            raise ConnectionResetError("the client is gone")
        await self.items.put(item)

    def returned(self):
        """The application has returned. :raises RuntimeError: where that was too early"""

    def over(self):
        """The application has ended, however it did."""


class _HttpExchange(_Exchange):
    def __init__(self, scope, feed):
        _Exchange.__init__(self, scope, feed)
        self._is_body_read = False
        self._start = None
        self._is_head_sent = False
        self._has_more = True
        #: What ``content-length`` leaves of the body; None where it says nothing.
        self._left = None
        self._timer = None

    async def receive(self):
        if not self._is_body_read and not self.gone.is_set():
            try:
                piece = await self.feed.next()
            except Exception:
                self.gone.set()
                return {"type": "http.disconnect"}
            if piece is None or self.feed.number == 0:
                self._is_body_read = True
            return {"type": "http.request", "body": bytes(piece or b""), "more_body": not self._is_body_read}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        kind = message["type"]
        if kind == "http.response.start" and self._start is None:
            self._begin(message)
        elif kind == "http.response.body" and self._start is not None and self._has_more:
            await self._send_body(bytes(message.get("body", b"")), message.get("more_body", False))
        else:
            raise RuntimeError("Cannot send %s: a response is http.response.start once, and http.response.body until more_body is false" % kind)

    def returned(self):
        if not self._is_answered and not self._has_left:
            raise RuntimeError("the ASGI application returned before its response was complete")

    def over(self):
        if self._timer is not None:
            self._timer.cancel()

    def _begin(self, message):
        self._start = message
        given = message.get("headers", ())
        length = next((bytes(value) for name, value in given if bytes(name).lower() == b"content-length"), None)
        self._left = int(length) if length is not None and self.scope["method"] != "HEAD" and message["status"] not in (204, 304) else None
        self._timer = asyncio.get_running_loop().call_later(_HEAD_WAITS_SECONDS, self._send_head)

    def _send_head(self):
        if not self._is_head_sent and not self._has_left:
            self._is_head_sent = True
            self.items.put_nowait(self._head(b"", True))

    def _head(self, body, has_more):
        return [self._start["status"], _flat(self._start), body, has_more]

    async def _send_body(self, body, has_more):
        self._timer.cancel()
        if self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (self._left > 0 and not has_more):
                raise RuntimeError("the body of the response is %s than its content-length says" % ("longer" if self._left < 0 else "shorter"))
        self._has_more = has_more
        if not self._is_head_sent:
            self._is_head_sent = True
            await self.put(self._head(body, has_more))
        else:
            if body:
                await self.put(body)
            if not has_more:
                await self.put(None)
        if not has_more:
            self._is_answered = True
            self.gone.set()


class _SocketExchange(_Exchange):
    def __init__(self, scope, feed, sockets):
        _Exchange.__init__(self, scope, feed)
        self._sockets = sockets
        self._is_connected = False
        self._state = "connecting"
        #: The head and the pieces of a response that refuses the handshake.
        self._refusal = None
        self._refused_with = []
        self._refused_bytes = 0
        self._close = (1006, "")
        sockets[feed.number] = self

    def over(self):
        self._sockets.pop(self.feed.number, None)

    def returned(self):
        if self._state != "open" and not self._is_answered and not self._has_left:
            raise RuntimeError("the ASGI application returned before it had accepted or closed the WebSocket, or refused it with a whole response")

    def closed(self, code, reason):
        self._close = (code, reason)
        self.gone.set()

    async def receive(self):
        if not self._is_connected:
            self._is_connected = True
            return {"type": "websocket.connect"}
        if not self.gone.is_set():
            reading = asyncio.ensure_future(self.feed.next())
            gone = asyncio.ensure_future(self.gone.wait())
            try:
                await asyncio.wait({reading, gone}, return_when=asyncio.FIRST_COMPLETED)
                message = reading.result() if reading.done() and reading.exception() is None else None
            finally:
                reading.cancel()
                gone.cancel()
            if isinstance(message, str):
                return {"type": "websocket.receive", "text": message}
            if message is not None and not isinstance(message, (list, tuple)):
                return {"type": "websocket.receive", "bytes": bytes(message)}
            if message is not None and not self.gone.is_set():
                self._close = (int(message[0]), message[1])
            self.gone.set()
        return {"type": "websocket.disconnect", "code": self._close[0], "reason": self._close[1]}

    async def send(self, message):
        kind = message["type"]
        if kind == "websocket.accept" and self._state == "connecting":
            self._state = "open"
            await self.put(["accept", message.get("subprotocol") or "", _flat(message)])
        elif kind == "websocket.http.response.start" and self._state == "connecting":
            self._state = "refusing"
            self._refusal = message
        elif kind == "websocket.http.response.body" and self._state == "refusing":
            body = bytes(message.get("body", b""))
            self._refused_with.append(body)
            self._refused_bytes += len(body)
            if self._refused_bytes > _REFUSAL_BYTES_MAX:
                raise RuntimeError("Cannot refuse the WebSocket: the body of the response has at most %d bytes" % _REFUSAL_BYTES_MAX)
            if not message.get("more_body", False):
                self._state = "closed"
                await self.put(["refuse", self._refusal["status"], _flat(self._refusal), b"".join(self._refused_with)])
                self._is_answered = True
                self.gone.set()
        elif kind == "websocket.send" and self._state == "open":
            text, data = message.get("text"), message.get("bytes")
            await self.put(text if text is not None else bytes(data or b""))
        elif kind == "websocket.close" and self._state in ("connecting", "open"):
            self._state = "closed"
            code = 1000 if message.get("code") is None else message["code"]
            await self.put(["close", code, message.get("reason") or ""])
            self._close = (code, message.get("reason") or "")
            self._is_answered = True
            self.gone.set()
        else:
            raise RuntimeError("Cannot send %s: the WebSocket is %s" % (kind, self._state))


class _Lifespan:
    """Startup and shutdown of an application, which are one call of it. One that does not know lifespan goes without."""

    def __init__(self, app):
        self._app = app
        self._task = None
        self._events = asyncio.Queue()
        self._answers = asyncio.Queue()
        self.is_supported = False
        #: What the application lays there, each request gets a copy of.
        self.state = {}

    async def start(self):
        self._task = asyncio.ensure_future(self._run())
        self._events.put_nowait({"type": "lifespan.startup"})
        answer, failure = await self._answers.get()
        self.is_supported = answer == "lifespan.startup.complete"
        if answer == "lifespan.startup.failed":
            raise failure

    async def stop(self):
        if not self.is_supported or self._task.done():
            return
        self._events.put_nowait({"type": "lifespan.shutdown"})
        answer, failure = await self._answers.get()
        if answer == "lifespan.shutdown.failed":
            raise failure

    async def _run(self):
        scope = {"type": "lifespan", "asgi": dict(_VERSIONS), "state": self.state}
        failed = None
        error = None

        async def send(message):
            nonlocal failed
            if message["type"].endswith(".failed"):
                # The error itself follows where the application raises it.
                failed = message
            else:
                self._answers.put_nowait((message["type"], None))

        try:
            await self._app(scope, self._events.get, send)
        except Exception as raised:
            error = raised
        if failed is not None:
            text = "the ASGI application failed in its lifespan: %s" % failed.get("message", "")
            self._answers.put_nowait((failed["type"], error or RuntimeError(text)))
        else:
            self._answers.put_nowait(("ended", error))


def _flat(message):
    return [part for name, value in message.get("headers") or () for part in (bytes(name).decode("latin-1"), bytes(value).decode("latin-1"))]


def _headers_of(given):
    flat = given["headers"]
    return [(name.lower().encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in zip(flat[::2], flat[1::2])]
