"""Ray's side of the figures of Serve, each the twin of the file of that name in ../figures: default proxy, one replica, wrk."""

import re
import subprocess
import time
import urllib.request

PORT = 18427
ADDRESS = f"http://127.0.0.1:{PORT}"
AT_A_TIME = 100
TOKENS_COUNT = 1000


def _load(path, plan, connections=64, factor=1):
    seconds = max(1, round(plan["windowMs"] * plan["windows"] * factor / 1000))
    try:
        printed = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", f"{ADDRESS}{path}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    except FileNotFoundError:
        raise RuntimeError("Cannot measure a web server: wrk is not installed: apt-get install wrk") from None
    if "Non-2xx" in printed:
        raise RuntimeError(f"Cannot measure a web server: requests failed:\n{printed}")
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)\b", printed).groups()
    p99_ms = float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit]
    return float(re.search(r"Requests/sec:\s+([\d.]+)", printed).group(1)), p99_ms


def _start():
    from ray import serve

    serve.start(http_options={"host": "127.0.0.1", "port": PORT})


def _rate(application, path, plan):
    from ray import serve

    _start()
    serve.run(application)
    _load(path, plan)
    rate, p99_ms = _load(path, plan)
    serve.shutdown()
    return {"samples": [rate], "details": {"p99Ms": p99_ms}}


def serve_hello(plan):
    from ray import serve

    @serve.deployment(max_ongoing_requests=1000)
    class Hello:
        async def __call__(self, request):
            return "hello world"

    return _rate(Hello.bind(), "/", plan)


def serve_json(plan):
    from fastapi import FastAPI
    from ray import serve

    app = FastAPI()

    @serve.deployment(max_ongoing_requests=1000)
    @serve.ingress(app)
    class Items:
        @app.get("/items/{id}")
        async def item(self, id: str, a: str):
            return {"id": id, "query": {"a": a}}

    return _rate(Items.bind(), "/items/7?a=b", plan)


def serve_composition(plan):
    from ray import serve

    @serve.deployment(max_ongoing_requests=1000)
    class AddOne:
        async def add(self, value):
            return value + 1

    @serve.deployment(max_ongoing_requests=1000)
    class Twice:
        async def double(self, value):
            return value * 2

    @serve.deployment(max_ongoing_requests=1000)
    class Both:
        def __init__(self, add_one, twice):
            self.add_one = add_one
            self.twice = twice

        async def __call__(self, request):
            return str(await self.twice.double.remote(self.add_one.add.remote(20)))

    return _rate(Both.bind(AddOne.bind(), Twice.bind()), "/", plan)


def serve_sse(plan):
    from ray import serve
    from starlette.responses import StreamingResponse

    @serve.deployment(max_ongoing_requests=1000)
    class Tokens:
        async def events(self):
            for index in range(TOKENS_COUNT):
                yield f"data: token-{index}\n\n"

        async def __call__(self, request):
            return StreamingResponse(self.events(), media_type="text/event-stream")

    _start()
    serve.run(Tokens.bind())
    rate, _ = _load("/", plan, connections=100, factor=2)
    serve.shutdown()
    return {"samples": [rate * TOKENS_COUNT]}


def serve_handle(plan):
    from ray import serve
    from throughput import operations_per_second

    @serve.deployment(max_ongoing_requests=1000)
    class Echo:
        async def echo(self, value):
            return value

    handle = serve.run(Echo.bind(), route_prefix=None)

    def batch():
        for response in [handle.echo.remote(value) for value in range(AT_A_TIME)]:
            response.result()

    measured = operations_per_second(batch, plan, AT_A_TIME)
    serve.shutdown()
    return measured


def serve_start(_plan):
    from ray import serve

    @serve.deployment
    class Hello:
        async def __call__(self, request):
            return "hello world"

    start = time.perf_counter()
    _start()
    serve.run(Hello.bind())
    with urllib.request.urlopen(f"{ADDRESS}/") as response:
        assert response.read() == b"hello world"
    elapsed_ms = (time.perf_counter() - start) * 1000
    serve.shutdown()
    return {"samples": [elapsed_ms]}


SERVE_FIGURES = {
    "serve-hello": serve_hello,
    "serve-json": serve_json,
    "serve-composition": serve_composition,
    "serve-sse": serve_sse,
    "serve-handle": serve_handle,
    "serve-start": serve_start,
}
