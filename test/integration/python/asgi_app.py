"""ASGI applications without any package: a function, and a class whose requests one answers."""

import asyncio
import json
import os

from shoal import serve

TEXT = [(b"content-type", b"text/plain"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]


def note(line):
    with open(os.environ["ASGI_LOG"], "a") as file:
        file.write(line + "\n")


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
    elif scope["type"] == "websocket":
        await socket(scope, receive, send)
    else:
        await PATHS[scope["path"][len(scope["root_path"]) :]](scope, receive, send)


async def lifespan(scope, receive, send):
    assert (await receive())["type"] == "lifespan.startup"
    scope["state"]["model"] = "loaded"
    await send({"type": "lifespan.startup.complete"})
    assert (await receive())["type"] == "lifespan.shutdown"
    note("shutdown")
    await send({"type": "lifespan.shutdown.complete"})


async def start(send, status=200, headers=TEXT):
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def body(send, content, more=False):
    await send({"type": "http.response.body", "body": content, "more_body": more})


async def tell(scope, receive, send):
    known = {name: scope[name] for name in ("type", "method", "path", "root_path", "scheme")}
    known.update(query=scope["query_string"].decode(), raw=scope["raw_path"].decode(), model=scope["state"]["model"], id=serve.get_request_id())
    known.update(headers=[[name.decode(), value.decode()] for name, value in scope["headers"] if name in (b"x-two", b"host")])
    await start(send)
    await body(send, b"" if scope["method"] == "HEAD" else json.dumps(known).encode())


async def echo(scope, receive, send):
    """Piece by piece, while the body still comes."""
    await start(send)
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            note("upload broke off")
            return
        if message["body"]:
            await body(send, message["body"], True)
        if not message["more_body"]:
            await body(send, b"")
            return


async def listens(scope, receive, send):
    """Sends its head alone, and ends by itself once it hears that its client has gone."""
    await receive()
    await start(send)
    assert (await receive())["type"] == "http.disconnect"
    note("heard of the end")


async def deaf(scope, receive, send):
    try:
        await start(send)
        while True:
            await body(send, b"x", True)
            await asyncio.sleep(3600)
    finally:
        note("was cancelled")


async def floods(scope, receive, send):
    await start(send)
    for number in range(200):
        await body(send, bytes(1_000_000), True)
        note("flood %d" % number)


async def fails(scope, receive, send):
    raise ValueError("a secret of the application")


async def breaks(scope, receive, send):
    await start(send)
    await body(send, b"so far", True)
    raise ValueError("a secret of the application")


async def after(scope, receive, send):
    await start(send, 201)
    await body(send, b"answered")
    while not os.path.exists(os.environ["ASGI_LOG"] + "-go"):
        await asyncio.sleep(0.01)
    note("after the answer")


async def answers_and_raises(scope, receive, send):
    """As the middleware of Starlette does with an error of a handler: it answers, and raises it for the server."""
    await start(send, 500)
    if scope["query_string"] == b"streams":
        await body(send, b"very ", True)
    await body(send, b"sorry")
    raise ValueError("answered already")


async def nothing(scope, receive, send):
    await start(send, 204, [])
    await body(send, b"")


PATHS = {"/tell": tell, "/echo": echo, "/listens": listens, "/deaf": deaf, "/floods": floods, "/fails": fails, "/breaks": breaks, "/after": after, "/nothing": nothing, "/answers": answers_and_raises}


async def socket(scope, receive, send):
    assert (await receive())["type"] == "websocket.connect"
    if scope["path"].endswith("/refused"):
        await send({"type": "websocket.close", "code": 1008})
        return
    if scope["path"].endswith("/denied"):
        assert "websocket.http.response" in scope["extensions"]
        headers = [(b"content-type", b"text/plain"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
        await send({"type": "websocket.http.response.start", "status": 401, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": b"no ", "more_body": True})
        await send({"type": "websocket.http.response.body", "body": b"token"})
        return
    headers = [(b"set-cookie", b"seat=7"), (b"set-cookie", b"row=3"), (b"x-seat", b"7")]
    await send({"type": "websocket.accept", "subprotocol": (scope["subprotocols"] or [None])[-1], "headers": headers})
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            note("closed with %d %s" % (message["code"], message.get("reason")))
            return
        if message.get("text") == "bye":
            await send({"type": "websocket.close", "code": 4001, "reason": "enough"})
            return
        if message.get("text") == "fall":
            await send({"type": "websocket.close"})
            raise ValueError("closed already")
        await send({"type": "websocket.send", **{kind: message[kind] for kind in ("text", "bytes") if message.get(kind) is not None}})


def build():
    async def built(scope, receive, send):
        if scope["type"] != "http":
            raise ValueError("this application knows HTTP alone")
        await start(send)
        await body(send, b"built")

    return built


@serve.ingress(build)
class Built:
    """Its requests are the application's, and handles call its methods."""

    def __init__(self, factor):
        self.factor = factor

    def scale(self, value):
        return value * self.factor


class Upload:
    """Reads a body piece by piece, without ASGI."""

    async def __call__(self, request):
        sizes = [len(piece) async for piece in request.stream()]
        return {"size": sum(sizes), "isStreamed": len(sizes) > 1}


async def never_starts(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no model here"})
