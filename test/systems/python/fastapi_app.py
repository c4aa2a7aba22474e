"""A FastAPI application as its users write it: routes as functions and as methods of a class, a router, dependencies, forms, streams, WebSockets, background tasks."""

import asyncio
import contextlib
import os

from fastapi import APIRouter, BackgroundTasks, Depends, FastAPI, Header, HTTPException, Request, UploadFile, WebSocket, WebSocketDisconnect, WebSocketException
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from shoal import serve


def note(line):
    with open(os.environ["FASTAPI_LOG"], "a") as file:
        file.write(line + "\n")


@contextlib.asynccontextmanager
async def lifespan(_app):
    note("startup")
    yield {"unit": "points"}
    note("shutdown")


app = FastAPI(title="Scores", lifespan=lifespan)
router = APIRouter(prefix="/router")


class Text(BaseModel):
    text: str
    times: int = 1


class Score(BaseModel):
    score: float
    unit: str


def agent(user_agent: str = Header()):
    return user_agent


@app.get("/plain")
async def plain(name: str = Depends(agent)):
    return {"agent": name}


@serve.ingress(app)
class Scores:
    def __init__(self, factor, lookup):
        self.factor = factor
        self.lookup = lookup

    @app.post("/score", response_model=Score)
    async def score(self, text: Text, request: Request):
        weight = await self.lookup.weight.remote(text.text)
        return {"score": weight * self.factor * text.times, "unit": request.state.unit, "more": "left out"}

    # Before the next one, which fits it, too: routes are looked through in the order in which they are written.
    @app.get("/items/latest")
    async def latest(self):
        return {"latest": self.factor}

    @app.get("/items/{number}")
    def item(self, number: int, q: str = "none"):
        if number > 100:
            raise HTTPException(404, "no such item", {"x-reason": "large"})
        return {"number": number * self.factor, "q": q}

    @app.post("/file")
    async def file(self, upload: UploadFile):
        return {"name": upload.filename, "size": len(await upload.read())}

    @app.get("/events")
    async def events(self):
        async def lines():
            try:
                for number in range(3):
                    yield "data: %d\n\n" % (number * self.factor)
                    await asyncio.sleep(0.01)
                while True:
                    await asyncio.sleep(0.01)
                    yield ": still here\n\n"
            finally:
                note("events left")

        return StreamingResponse(lines(), media_type="text/event-stream")

    @app.get("/download")
    def download(self):
        return FileResponse(__file__, media_type="text/x-python")

    @app.post("/later", status_code=202)
    async def later(self, tasks: BackgroundTasks):
        tasks.add_task(note, "later")
        return {"accepted": True}

    @app.get("/broken")
    async def broken(self):
        raise ValueError("a secret of the server")

    @app.websocket("/chat/{name}")
    async def chat(self, socket: WebSocket, name: str):
        if name == "nobody":
            raise WebSocketException(1008)
        if name == "stranger":
            return await socket.send_denial_response(JSONResponse({"who": name}, 401, {"www-authenticate": "Bearer"}))
        if name == "absent":
            raise HTTPException(410, "has left")
        await socket.accept(headers=[(b"x-seat", b"7")])
        try:
            async for text in socket.iter_text():
                await socket.send_json({"to": name, "text": text, "factor": self.factor})
            note("the chat was left")
        except WebSocketDisconnect as left:
            note("chat closed with %d" % left.code)

    @app.get("/waits")
    async def waits(self):
        return await self.lookup.waits.remote()

    @router.get("/{number}")
    def routed(self, number: int):
        return {"routed": number * self.factor}

    def twice(self, value):
        return 2 * value


app.include_router(router)


@app.get("/{rest:path}")
def rest(rest: str):
    return {"rest": rest}


async def hello(request):
    return PlainTextResponse("hello from %s" % request.url_for("hello"))


starlette = Starlette(routes=[Mount("/inner", routes=[Route("/hello", hello, name="x")]), Route("/hello", hello, name="hello")])
