"""Asks a FastAPI application by the clients that Python has: httpx, and websockets. Prints what it got as JSON."""

import asyncio
import json
import sys

import httpx
import websockets

ADDRESS = sys.argv[1]


async def main():
    found = {}
    async with httpx.AsyncClient(base_url=ADDRESS, timeout=30) as client:
        found["score"] = (await client.post("/score", json={"text": "abcd", "times": 2})).json()
        refused = await client.post("/score", json={"times": "many"})
        found["refused"] = [refused.status_code, [problem["loc"] for problem in refused.json()["detail"]]]
        found["item"] = (await client.get("/items/4", params={"q": "é"})).json()
        found["latest"] = (await client.get("/items/latest")).json()
        missing = await client.get("/items/400")
        found["missing"] = [missing.status_code, missing.json(), missing.headers["x-reason"]]
        found["plain"] = (await client.get("/plain", headers={"user-agent": "systems"})).json()
        found["file"] = (await client.post("/file", files={"upload": ("large.bin", bytes(5_000_000))})).json()
        found["rest"] = (await client.get("/what/ever")).json()
        found["routed"] = (await client.get("/router/5")).json()
        found["later"] = (await client.post("/later")).status_code
        found["broken"] = (await client.get("/broken")).status_code
        head = await client.head("/download")
        found["head"] = [head.status_code, head.content.decode()]
        wrong = await client.request("OPTIONS", "/score")
        found["options"] = [wrong.status_code, wrong.headers["allow"]]
        download = await client.get("/download", headers={"range": "bytes=3-12"})
        found["range"] = [download.status_code, download.text, download.headers["content-length"]]
        schema = (await client.get("/openapi.json")).json()
        found["schema"] = [schema["info"]["title"], schema.get("servers"), [known["name"] for known in schema["paths"]["/items/{number}"]["get"]["parameters"]]]
        found["docs"] = "swagger" in (await client.get("/docs")).text
        lines = []
        async with client.stream("GET", "/events") as response:
            found["type"] = response.headers["content-type"]
            async for line in response.aiter_lines():
                if line.startswith("data"):
                    lines.append(line)
                if len(lines) == 3:
                    break
        found["events"] = lines
    url = ADDRESS.replace("http", "ws", 1)
    async with websockets.connect(url + "/chat/ada") as socket:
        await socket.send("hello")
        found["chat"] = json.loads(await socket.recv())
        found["seat"] = socket.response.headers["x-seat"]
    for name in ("nobody", "stranger", "absent"):
        try:
            await websockets.connect(url + "/chat/" + name)
        except websockets.InvalidStatus as refused:
            response = refused.response
            found[name] = [response.status_code, response.body.decode(), response.headers.get("www-authenticate")]
    print(json.dumps(found))


asyncio.run(main())
