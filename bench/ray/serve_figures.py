"""Ray's side of the figures of Serve, each the twin of the file of that name in ../figures: one replica a deployment, wrk.

The variables of ../ray-modes.ts decide between Ray's proxy and HAProxy. Replicas hold no processor: the three of serve-composition with one each, as is the default, do not
fit on a machine of two, and `serve.run` waits for them without end. Each phase has a time limit that names it. Serve is not shut down: it ends with the runtime of this
process, and a proxy that drains would take half a minute for what nobody measures.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request

PORT = 18427
GRPC_PORT = 18428
ADDRESS = f"http://127.0.0.1:{PORT}"
AT_A_TIME = 100
TOKENS_COUNT = 1000
JSON_ECHO = os.path.join(os.path.dirname(__file__), "..", "json-echo.lua")
GRPC_LOAD = os.path.join(os.path.dirname(__file__), "..", "programs", "grpc-load.ts")
START_LIMIT_S = 45
ANSWER_LIMIT_S = 10
LOAD_GRACE_S = 20
# By then garbage of the start has been collected, on both sides.
SETTLE_S = 5
OPTIONS = {"max_ongoing_requests": 1000, "ray_actor_options": {"num_cpus": 0}}


@contextlib.contextmanager
def _within(limit_s, doing):
    """Raises where the block takes longer, with what it was that did."""

    def late(_signal, _frame):
        raise TimeoutError(f"Cannot measure Ray Serve: {doing} took more than {limit_s} s")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _wrk(milliseconds, connections, script):
    seconds = max(1, round(milliseconds / 1000))
    args = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "--latency"]
    try:
        printed = subprocess.run(
            [*args, *([] if script is None else ["-s", script]), f"{ADDRESS}/"],
            check=True,
            capture_output=True,
            text=True,
            timeout=seconds + LOAD_GRACE_S,
        ).stdout
    except FileNotFoundError:
        raise RuntimeError("Cannot measure a web server: wrk is not installed: apt-get install wrk") from None
    if "Non-2xx" in printed or "Socket errors" in printed:
        raise RuntimeError(f"Cannot measure a web server: requests failed:\n{printed}")
    slow, time_unit = re.search(r"99%\s+([\d.]+)(us|ms|s|m)\b", printed).groups()
    size, size_unit = re.search(r"Transfer/sec:\s+([\d.]+)([KMG]?)B", printed).groups()
    return {
        "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", printed).group(1)),
        "p99_ms": float(slow) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000}[time_unit],
        "bytes_per_s": float(size) * 1024 ** " KMG".index(size_unit or " "),
    }


def _load(plan, connections=64, script=None):
    """The load after a warm-up."""
    _wrk(plan["warmUpMs"], connections, script)
    return _wrk(plan["windowMs"] * plan["windows"], connections, script)


def _serve(application):
    from ray import serve

    with _within(START_LIMIT_S, "its start"):
        serve.start(http_options={"host": "127.0.0.1", "port": PORT})
    with _within(START_LIMIT_S, "the start of the application"):
        serve.run(application)
    with _within(ANSWER_LIMIT_S, "the way of the application to the proxy"):
        _wait_for_port()


def _wait_for_port():
    """HAProxy begins to listen after `serve.run` has returned."""
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", PORT), 1):
            return
        time.sleep(0.05)


def _rate(application, plan, script=None):
    _serve(application)
    measured = _load(plan, script=script)
    return {"samples": [measured["rate"]], "details": {"p99Ms": measured["p99_ms"]}}


def serve_hello(plan):
    from ray import serve

    @serve.deployment(**OPTIONS)
    class Hello:
        async def __call__(self, request):
            return "hello world"

    return _rate(Hello.bind(), plan)


def serve_json(plan):
    from fastapi import Body, FastAPI
    from ray import serve

    app = FastAPI()

    @serve.deployment(**OPTIONS)
    @serve.ingress(app)
    class Echo:
        @app.post("/")
        async def echo(self, value: dict = Body()):
            return value

    return _rate(Echo.bind(), plan, script=JSON_ECHO)


def serve_composition(plan):
    from ray import serve

    @serve.deployment(**OPTIONS)
    class AddOne:
        async def add(self, value):
            return value + 1

    @serve.deployment(**OPTIONS)
    class Twice:
        async def double(self, value):
            return value * 2

    @serve.deployment(**OPTIONS)
    class Both:
        def __init__(self, add_one, twice):
            self.add_one = add_one
            self.twice = twice

        async def __call__(self, request):
            return str(await self.twice.double.remote(self.add_one.add.remote(20)))

    return _rate(Both.bind(AddOne.bind(), Twice.bind()), plan)


def serve_python(plan):
    return serve_hello(plan)


def add_echo_to_server(_servicer, server):
    """Ray's proxies find it by the name of this module. The message of ../echo.proto has the form of the well-known one."""
    import grpc
    from google.protobuf.wrappers_pb2 import StringValue

    say = grpc.unary_unary_rpc_method_handler(None, request_deserializer=StringValue.FromString, response_serializer=StringValue.SerializeToString)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Echo", {"Say": say}),))


def serve_grpc(plan):
    from ray import serve
    from ray.serve.config import gRPCOptions

    @serve.deployment(**OPTIONS)
    class Echo:
        async def Say(self, text):
            return text

    with _within(START_LIMIT_S, "its start"):
        serve.start(
            http_options={"host": "127.0.0.1", "port": PORT},
            grpc_options=gRPCOptions(port=GRPC_PORT, grpc_servicer_functions=["serve_figures.add_echo_to_server"]),
        )
    with _within(START_LIMIT_S, "the start of the application"):
        serve.run(Echo.bind())
    for_ms = plan["windowMs"] * plan["windows"]
    args = [os.environ["SHOAL_BENCH_NODE"], GRPC_LOAD, f"127.0.0.1:{GRPC_PORT}", str(plan["warmUpMs"]), str(for_ms)]
    limit_s = (plan["warmUpMs"] + for_ms) / 1000 + LOAD_GRACE_S
    measured = json.loads(subprocess.run(args, check=True, stdout=subprocess.PIPE, text=True, timeout=limit_s).stdout)
    return {"samples": [measured["callsPerSecond"]], "details": {"p99Ms": measured["p99Ms"]}}


def _answer_bytes(last):
    """The bytes of one whole answer as they come over the wire: by these a stream that wrk has read in part is counted."""
    with socket.create_connection(("127.0.0.1", PORT), ANSWER_LIMIT_S) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
        answer = b""
        while piece := client.recv(1 << 16):
            answer += piece
    if last not in answer:
        raise RuntimeError(f"Cannot measure a stream: it is not whole:\n{answer[-500:].decode(errors='replace')}")
    return len(answer)


def serve_sse(plan):
    from ray import serve
    from starlette.responses import StreamingResponse

    @serve.deployment(**OPTIONS)
    class Tokens:
        async def events(self):
            for index in range(TOKENS_COUNT):
                yield f"data: token-{index}\n\n"

        async def __call__(self, request):
            return StreamingResponse(self.events(), media_type="text/event-stream")

    _serve(Tokens.bind())
    with _within(ANSWER_LIMIT_S, "a stream"):
        count = _answer_bytes(f"token-{TOKENS_COUNT - 1}".encode())
    measured = _load(plan, connections=100)
    return {"samples": [measured["bytes_per_s"] / count * TOKENS_COUNT]}


def serve_handle(plan):
    from ray import serve
    from throughput import operations_per_second

    @serve.deployment(**OPTIONS)
    class Echo:
        async def echo(self, value):
            return value

    with _within(START_LIMIT_S, "the start of the application"):
        handle = serve.run(Echo.bind(), route_prefix=None)

    def batch():
        for response in [handle.echo.remote(value) for value in range(AT_A_TIME)]:
            response.result(timeout_s=ANSWER_LIMIT_S)

    return operations_per_second(batch, plan, AT_A_TIME)


def _first_answer():
    with urllib.request.urlopen(f"{ADDRESS}/", timeout=ANSWER_LIMIT_S) as response:
        if response.read() != b"hello world":
            raise RuntimeError("Cannot measure the start of Ray Serve: the answer is another one")


def _hello():
    from ray import serve

    @serve.deployment(ray_actor_options={"num_cpus": 0})
    class Hello:
        async def __call__(self, request):
            return "hello world"

    return Hello.bind()


def serve_start(_plan):
    application = _hello()
    start = time.perf_counter()
    _serve(application)
    _first_answer()
    return {"samples": [(time.perf_counter() - start) * 1000]}


def _serving():
    """The processes of controller, proxies and replicas, which Ray names after their actors, and HAProxy."""
    import psutil

    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            command = process.cmdline()[:1]
            if command and re.match(r"ray::(Serve|Proxy|HAProxy)|.*/haproxy$", command[0]):
                yield process


def serve_memory(_plan):
    _serve(_hello())
    _first_answer()
    time.sleep(SETTLE_S)
    weights = [process.memory_full_info().pss / 1e6 for process in _serving()]
    return {"samples": [sum(weights)], "details": {"processes": len(weights)}}


SERVE_FIGURES = {
    "serve-hello": serve_hello,
    "serve-json": serve_json,
    "serve-composition": serve_composition,
    "serve-grpc": serve_grpc,
    "serve-python": serve_python,
    "serve-sse": serve_sse,
    "serve-handle": serve_handle,
    "serve-start": serve_start,
    "serve-memory": serve_memory,
}
