"""Asks the Django project by httpx and websockets. Prints what it got as JSON."""

import asyncio
import json
import sys

import httpx
import websockets

ADDRESS = sys.argv[1]


async def main():
    found = {}
    async with httpx.AsyncClient(base_url=ADDRESS, timeout=30, headers={"user-agent": "systems"}) as client:
        found["index"] = [(await client.get("/")).json() for _ in range(2)][1]
        found["item"] = (await client.get("/items/4", params={"q": ["a b", "é"]})).json()
        missing = await client.get("/items/400")
        found["missing"] = [missing.status_code, "not found" in missing.text.lower()]
        found["nowhere"] = (await client.get("/nowhere")).status_code
        forged = await client.post("/order", data={"name": "x"})
        found["forged"] = forged.status_code
        token = (await client.get("/order")).text
        found["form"] = (await client.post("/order", data={"name": ["x", "é&="], "csrfmiddlewaretoken": token})).json()
        upload = {"picture": ("a.bin", b"abc" + bytes(5_000_000))}
        found["upload"] = (await client.post("/order", data={"name": "y"}, files=upload, headers={"x-csrftoken": token})).json()
        moved = await client.get("/moved")
        target = httpx.URL(ADDRESS).join(moved.headers["location"])
        found["moved"] = [moved.status_code, moved.headers["location"], (await client.get(target)).json()["number"]]
        broken = await client.get("/broken")
        found["broken"] = [broken.status_code, "secret" in broken.text]
        found["forbidden"] = (await client.get("/forbidden")).status_code
        head = await client.head("/items/5")
        found["head"] = [head.status_code, head.text, head.headers["content-type"]]
        download = await client.get("/download", headers={"accept-encoding": "identity"})
        found["download"] = [download.status_code, download.headers["content-disposition"], download.headers["content-length"] == str(len(download.content)), "Channels" in download.text]
        text = await client.get("/text", headers={"accept-encoding": "gzip"})
        found["text"] = [text.headers["content-encoding"], len(text.text)]
        lines = []
        # Django's compression buffers its input.
        async with client.stream("GET", "/events", headers={"accept-encoding": "identity"}) as response:
            async for line in response.aiter_lines():
                if line.startswith("data"):
                    lines.append(line)
                if len(lines) == 3:
                    break
        found["events"] = lines
    url = ADDRESS.replace("http", "ws", 1)
    try:
        async with websockets.connect(url + "/chat/ada", subprotocols=["chat"]) as socket:
            found["protocol"] = socket.subprotocol
            await socket.send(json.dumps("hello"))
            found["chat"] = json.loads(await socket.recv())
            await socket.send(json.dumps("bye"))
            await socket.recv()
            await socket.recv()
    except websockets.ConnectionClosed as closed:
        found["closed"] = closed.rcvd.code
    except websockets.InvalidStatus as refused:
        found["chat"] = refused.response.status_code
    for path in ("/chat/nobody", "/nowhere/"):
        try:
            await websockets.connect(url + path)
        except websockets.InvalidStatus as refused:
            found["refused " + path] = refused.response.status_code
    print(json.dumps(found))


asyncio.run(main())
