"""HTTP in a deployment of Python: the request that ``__call__`` gets, and what may be answered with.

The names are Starlette's, so that code which was written for these runs as it is; Starlette itself is not needed. Answers of Starlette's own classes are taken by their attributes.
"""

import json
from urllib.parse import parse_qsl, unquote, urlsplit


class _Pairs:
    """Names with values; a name may come several times, and the last value counts where one is asked for."""

    def __init__(self, pairs):
        self._pairs = pairs

    def _key(self, name):
        return name

    def getlist(self, name):
        wanted = self._key(name)
        return [value for known, value in self._pairs if known == wanted]

    def get(self, name, default=None):
        values = self.getlist(name)
        return values[-1] if values else default

    def multi_items(self):
        return list(self._pairs)

    def keys(self):
        return dict(self._pairs).keys()

    def values(self):
        return dict(self._pairs).values()

    def items(self):
        return dict(self._pairs).items()

    def __getitem__(self, name):
        values = self.getlist(name)
        if not values:
            raise KeyError(name)
        return values[-1]

    def __contains__(self, name):
        return bool(self.getlist(name))

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.keys())

    def __repr__(self):
        return "%s(%r)" % (type(self).__name__, self._pairs)


class QueryParams(_Pairs):
    """The query of the URL, without its question mark."""


class Headers(_Pairs):
    """Headers; their names are the same in upper and lower case."""

    def __init__(self, pairs):
        _Pairs.__init__(self, [(name.lower(), value) for name, value in pairs])

    def _key(self, name):
        return name.lower()


class Url:
    """Parts of a URL; ``str(url)`` is the whole."""

    def __init__(self, text):
        self._text = text
        parts = urlsplit(text)
        self.scheme, self.netloc, self.query, self.fragment = parts.scheme, parts.netloc, parts.query, parts.fragment
        self.hostname, self.port = parts.hostname, parts.port
        self.path = unquote(parts.path)

    def __str__(self):
        return self._text

    def __repr__(self):
        return "Url(%r)" % self._text

    def __eq__(self, other):
        return str(self) == str(other)

    __hash__ = None


class _Made:
    """A member that is made when it is first asked for: most code asks for few of them."""

    def __init__(self, make):
        self._make = make
        self.__doc__ = make.__doc__

    def __get__(self, owner, _cls=None):
        if owner is None:
            return self
        made = owner.__dict__[self._make.__name__] = self._make(owner)
        return made


class State:
    """Attributes that code sets on a request."""


class Request:
    """A request of a client. Coroutines read its body as Starlette's: ``await request.json()``, ``request.stream()``; other code has the bytes in ``content``."""

    def __init__(self, given, feed=None):
        self._given = given
        self.method = given["method"]
        self.path_params = {}
        #: Where the body comes from as long as nobody has read it.
        self._feed = feed
        self._content = bytes(given["body"] or b"") if feed is None else None
        self._is_streamed = False

    @_Made
    def url(self):
        return Url(self._given["url"])

    @_Made
    def path(self):
        return self.url.path

    @_Made
    def headers(self):
        flat = self._given["headers"]
        return Headers(list(zip(flat[::2], flat[1::2])))

    @_Made
    def query_params(self):
        return QueryParams(parse_qsl(self.url.query, keep_blank_values=True))

    @_Made
    def state(self):
        return State()

    @property
    def cookies(self):
        found = {}
        for pair in self.headers.get("cookie", "").split(";"):
            name, equals, value = pair.strip().partition("=")
            if equals:
                found[name] = value
        return found

    @property
    def content(self):
        """The whole body. Coroutines read it first. :raises RuntimeError: where that has not happened"""
        if self._content is None:
            raise RuntimeError("Cannot give the content of a request: its body has not been read: await request.body() first")
        return self._content

    async def body(self):
        if self._content is None:
            self._content = b"".join([piece async for piece in self.stream()])
        return self._content

    async def json(self):
        return json.loads(await self.body())

    async def text(self):
        return (await self.body()).decode()

    async def form(self):
        """Fields of a form in ``application/x-www-form-urlencoded``."""
        return QueryParams(parse_qsl((await self.body()).decode(), keep_blank_values=True))

    async def stream(self):
        """The pieces of the body as they come. :raises RuntimeError: where they were read before, and not kept"""
        if self._content is not None:
            yield self._content
            return
        if self._is_streamed:
            raise RuntimeError("Cannot read the body of a request: it has been read as a stream")
        self._is_streamed = True
        while (piece := await self._feed.next()) is not None:
            yield bytes(piece)


class HTTPException(Exception):
    """An answer with a status, raised anywhere in the code of a request. Clients see ``detail``."""

    def __init__(self, status_code, detail=None, headers=None):
        Exception.__init__(self, detail)
        self.status_code = status_code
        self.detail = detail
        self.headers = headers


class Response:
    media_type = None

    def __init__(self, content=None, status_code=200, headers=None, media_type=None):
        self.status_code = status_code
        self.headers = _given(headers)
        self.body = self.render(content)
        kind = media_type or self.media_type
        if kind is not None and not any(name.lower() == "content-type" for name, _ in self.headers):
            self.headers.append(("content-type", kind))

    def render(self, content):
        return b"" if content is None else content.encode() if isinstance(content, str) else bytes(content)


class PlainTextResponse(Response):
    media_type = "text/plain;charset=UTF-8"


class HTMLResponse(Response):
    media_type = "text/html;charset=UTF-8"


class JSONResponse(Response):
    media_type = "application/json"

    def render(self, content):
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class StreamingResponse(Response):
    """Sends what an iterator gives, piece by piece as it comes."""

    def __init__(self, content, status_code=200, headers=None, media_type=None):
        Response.__init__(self, None, status_code, headers, media_type)
        self.body_iterator = content


def _given(headers):
    return [(str(name), str(value)) for name, value in (headers.items() if hasattr(headers, "items") else headers or ())]


def is_stream(value):
    return hasattr(value, "__aiter__") or hasattr(value, "__next__")


def answer_of(value):
    """``(status, flat headers, body)`` of what code has returned; the body is bytes, or an iterator that is still to be read.

    :raises TypeError: for a value that is neither a response nor anything that JSON has
    """
    if hasattr(value, "status_code"):
        headers = getattr(value, "raw_headers", None)
        pairs = [(name.decode("latin-1"), text.decode("latin-1")) for name, text in headers] if headers is not None else _given(value.headers)
        body = getattr(value, "body_iterator", None)
        # Streams have no length of their own, and the length of bytes is known where they are sent.
        flat = [part for name, text in pairs if name.lower() != "content-length" for part in (name, text)]
        return value.status_code, flat, value.body if body is None else body
    if value is None:
        return 200, [], b""
    if isinstance(value, str):
        return 200, ["content-type", "text/plain;charset=UTF-8"], value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return 200, ["content-type", "application/octet-stream"], bytes(value)
    if is_stream(value):
        return 200, ["content-type", "text/plain;charset=UTF-8"], value
    return 200, ["content-type", "application/json"], JSONResponse(value).body


def piece_of(value):
    """A piece of a stream as bytes: values that are no text are lines of JSON."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    return JSONResponse(value).body + b"\n"
