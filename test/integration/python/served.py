"""Deployments of Python, as their authors write them."""

import asyncio
import os

import shoal
from shoal import serve


class Model:
    """Answers everything: HTTP, calls of handles, streams, configuration, health."""

    def __init__(self, factor, log=None):
        self.factor = factor
        self.log = log
        self.healthy = True
        self.context = serve.get_replica_context()
        self.scaled = serve.metrics.Counter("model_scaled", description="How often", tag_keys=("kind",))

    def reconfigure(self, user_config):
        self.factor = user_config["factor"]

    def place(self):
        return "%d of %d" % (self.context.rank, self.context.world_size)

    def gang(self):
        gang = self.context.gang_context
        if gang is not None:
            return [gang.gang_id, gang.rank, gang.world_size, gang.member_replica_ids.index(self.context.replica_id)]

    def check_health(self):
        if not self.healthy:
            raise RuntimeError("the model is ill")

    async def __call__(self, request):
        if request.path == "/json":
            value = await request.json()
            return {"value": value["x"] * self.factor, "method": request.method, "q": request.query_params.get("q"), "agent": request.headers["X-Agent"]}
        if request.path == "/text":
            return "plain"
        if request.path == "/bytes":
            return b"\x00\x01"
        if request.path == "/made":
            return serve.JSONResponse({"made": True}, status_code=201, headers={"x-kind": "made"})
        if request.path == "/stream":
            return serve.StreamingResponse(self.words(), media_type="text/event-stream")
        if request.path == "/hangs":
            return self.forever()
        if request.path == "/fails":
            return self.fails(int(request.query_params["after"]))
        if request.path == "/refused":
            raise serve.HTTPException(409, detail="not now")
        if request.path == "/context":
            context = serve.get_replica_context()
            return {"app": context.app_name, "deployment": context.deployment, "id": serve.get_request_id(), "model": serve.get_multiplexed_model_id()}
        if request.path == "/length":
            return len(await request.body())
        if request.path == "/dies":
            os._exit(3)
        raise ValueError("a secret of the model")

    async def words(self):
        for word in ("one", "two"):
            yield "data: %s\n\n" % word
            await asyncio.sleep(0.01)

    def fails(self, after):
        for _ in range(after):
            yield "x"
        raise ValueError("a secret of the model")

    async def forever(self):
        try:
            while True:
                yield "x"
                await asyncio.sleep(0.01)
        finally:
            self.note("left")

    def scale(self, value):
        self.scaled.inc(tags={"kind": type(value).__name__})
        return value * self.factor

    def up_to(self, count):
        for number in range(count):
            yield number

    async def waits(self):
        self.note("waits")
        try:
            await asyncio.sleep(3600)
        finally:
            self.note("cancelled")

    @serve.batch(max_batch_size=3, batch_wait_timeout_s=1)
    async def sizes(self, texts):
        return ["%s of %d" % (text, len(texts)) for text in texts]

    @serve.multiplexed(max_num_models_per_replica=2)
    async def model(self, model_id):
        if model_id == "broken":
            raise ValueError("no such model")
        self.note("load %s" % model_id)
        await asyncio.sleep(0.05)
        return "model %s" % model_id

    async def named(self):
        return await self.model()

    def note(self, line):
        with open(self.log, "a") as file:
            file.write(line + "\n")


class Ingress:
    """A plain class without coroutines, which calls a deployment of TypeScript and one of Python."""

    def __init__(self, handles):
        self.double = handles["double"]
        self.model = handles["model"]

    def __call__(self, request):
        doubled = self.double.twice.remote(int(request.query_params["x"]))
        # Unawaited: it goes on as its value.
        scaled = self.model.scale.remote(doubled)
        counted = list(self.double.options(stream=True).count.remote(2))
        try:
            self.double.fails.remote().result()
        except shoal.TaskError as error:
            failure = str(error.__cause__)
        return {"scaled": scaled.result(timeout_s=20), "counted": counted, "failure": failure}


class Sessions:
    """Asks a deployment of TypeScript where it runs: in the session that is named, or else in the request's."""

    def __init__(self, place):
        self.place = place

    async def Describe(self, item):
        place = self.place.options(session_id=item["name"]) if item["name"] else self.place
        return {"name": await place.where.remote()}


class Configured:
    def __init__(self, args=None):
        self.args = args

    async def __call__(self, request):
        return {"args": self.args}


class Servicer:
    """Methods of a service of gRPC: they get messages as dicts."""

    def Describe(self, item):
        return {**item, "name": item["name"] + " of Python"}

    def Items(self, count):
        for number in range(count["to"]):
            yield {"name": str(number)}
