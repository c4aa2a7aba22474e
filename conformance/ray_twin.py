"""
The real Ray behind the operations of system.ts: reads one JSON request a line, writes one JSON answer a line.

Holds the functions and classes of library.ts under the same names, and nothing else: scenarios are written once, in TypeScript. Each request runs
in a thread of its own, so a waiting get does not keep a cancel from being read. Errors are named in Shoal's terms (`kind_of`).
"""
import asyncio, json, os, signal, sys, threading, time
import ray
import ray_data
from ray.dag import InputNode, MultiOutputNode
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy


class AppError(Exception):
    pass


class OtherError(Exception):
    pass


def raise_(kind, message):
    raise (OtherError if kind == "OtherError" else AppError)(message)


def lines(file):
    return len(open(file).read().split("\n")) - 1 if os.path.exists(file) else 0


def append_line(file, line):
    with open(file, "a") as out:
        out.write(line + "\n")


def add(a, b):
    return a + b


def append(file, line):
    append_line(file, line)
    return lines(file)


def sleep_ms(ms, value):
    time.sleep(ms / 1000)
    return value


def spin_ms(ms, value):
    end = time.time() + ms / 1000
    while time.time() < end:
        pass
    return value


def print_ms(ms, value):
    end = time.time() + ms / 1000
    while time.time() < end:
        print("a line that a task prints")
    return value


def append_then_sleep(file, ms):
    append_line(file, "begun")
    for _ in range(int(ms / 10)):
        time.sleep(0.01)
    append_line(file, "ended")
    return "ended"


def die_times(file, times):
    append_line(file, "begun")
    if lines(file) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return lines(file)


def call_and_die_times(file, times):
    child = ray.remote(append).remote(f"{file}-child", "begun")
    append_line(file, child.hex())
    ray.get(child)
    if lines(file) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return [lines(f"{file}-child"), len(set(open(file).read().split()))]


def fail_times(file, times, kind):
    append_line(file, "begun")
    if lines(file) <= times:
        raise_(kind, f"attempt {lines(file)}")
    return lines(file)


def nested_add(a, b):
    return ray.get(ray.remote(add).remote(a, b))


def fib(n):
    if n < 2:
        return n
    task = ray.remote(fib)
    return sum(ray.get([task.remote(n - 1), task.remote(n - 2)]))


def nested_fail(message):
    return ray.get(ray.remote(lambda text: raise_("AppError", text)).remote(message))


def end_process(how):
    if how == "exit":
        os._exit(3)
    if how == "abort":
        os.abort()
    os.kill(os.getpid(), signal.SIGKILL)


def survives_child(how):
    child = ray.remote(end_process).options(max_retries=0).remote(how)
    try:
        ray.get(child)
        return "the child ended"
    except ray.exceptions.RayError as error:
        return type(error).__name__


def ticks_meanwhile(ms):
    ticks, is_over = [], threading.Event()
    timer = threading.Thread(target=lambda: [ticks.append(1) for _ in iter(lambda: is_over.wait(0.02), True)])
    timer.start()
    ray.get(ray.remote(spin_ms).remote(ms, None))
    is_over.set()
    timer.join()
    return len(ticks) > 5


def limits_child():
    begin = time.time()
    child = ray.remote(spin_ms).options(max_retries=0).remote(20000, None)
    error = None
    try:
        ray.get(child, timeout=0.3)
    except ray.exceptions.RayError as reason:
        error = type(reason).__name__
    ready, pending = ray.wait([child], timeout=0.3)
    is_in_time = time.time() - begin < 5
    ray.cancel(child, force=True)
    return [error, len(ready), len(pending), is_in_time]


place = "none"


def set_place(folder):
    global place
    place = "child"
    os.chdir(folder)


def keeps_place(folder):
    global place
    place = "parent"
    before = os.getcwd()
    ray.get(ray.remote(set_place).remote(folder))
    return [os.getcwd() == before, place == "parent"]


def set_variable(name, value):
    os.environ[name] = value


def keeps_variable(name):
    os.environ[name] = "parent"
    ray.get(ray.remote(set_variable).remote(name, "child"))
    return os.environ[name]


def start_child(file):
    ray.remote(append_then_sleep).remote(file, 1500)
    return "left"


def wait_for_child(file):
    return ray.get(ray.remote(append_then_sleep).remote(file, 5000))


def assigned(name):
    return ray.get_runtime_context().get_assigned_resources().get(name, 0)


def count_to(count):
    for item in range(count):
        yield item


def exit_after(count):
    for item in range(count):
        yield item
    os._exit(1)


def fail_at(at):
    for item in range(at):
        yield item
    raise AppError(f"at {at}")


def is_process_alive(pid):
    try:
        os.kill(pid, 0)
        return True
    except OSError:
        return False


FUNCTIONS = {
    "identity": lambda value: value,
    "add": add,
    "tuple": lambda count: list(range(count)),
    "fail": raise_,
    "sleepMs": sleep_ms,
    "spinMs": spin_ms,
    "printMs": print_ms,
    "append": append,
    "countLines": lines,
    "appendThenSleep": append_then_sleep,
    "dieTimes": die_times,
    "callAndDieTimes": call_and_die_times,
    "exitWith": lambda code: os._exit(code),
    "failTimes": fail_times,
    "isRefInside": lambda inside: isinstance(inside[0], ray.ObjectRef),
    "readInside": lambda inside: ray.get(inside[0]),
    "putInside": lambda value: [ray.put(value)],
    "nestedAdd": nested_add,
    "fib": fib,
    "nestedFail": nested_fail,
    "survivesChild": survives_child,
    "ticksMeanwhile": ticks_meanwhile,
    "limitsChild": limits_child,
    "keepsPlace": keeps_place,
    "keepsVariable": keeps_variable,
    "callActor": lambda inside, by: ray.get(inside[0].increment.remote(by)),
    "callNamed": lambda name, by: ray.get(ray.get_actor(name).increment.remote(by)),
    "envVar": lambda name: os.environ.get(name),
    "assigned": assigned,
    "processOnce": lambda: os.getpid(),
    "processTwice": lambda: [os.getpid()][0],
    "isProcessAlive": is_process_alive,
    "taskName": lambda: ray.get_runtime_context().get_task_name(),
    "inActor": lambda: ray.get_runtime_context().get_actor_id() is not None,
    "length": lambda value: len(value),
    "startChild": start_child,
    "waitForChild": wait_for_child,
    "countTo": count_to,
    "exitAfter": exit_after,
    "failAt": fail_at,
}


class Counter:
    def __init__(self, start=0):
        self.count = start

    def increment(self, by=1):
        self.count += by
        return self.count

    def incrementSlowly(self, ms):
        time.sleep(ms / 1000)
        return self.increment()

    def value(self):
        return self.count

    def fail(self, message):
        raise AppError(message)

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def reconstructed(self):
        return ray.get_runtime_context().was_current_actor_reconstructed

    def hold(self, refs):
        self.held = refs
        return "held"

    def readHeld(self):
        return ray.get(self.held[0])

    def items(self, count):
        for item in range(count):
            yield self.count + item

    def nameOfActor(self):
        return ray.get_runtime_context().get_actor_name()

    def assigned(self, name):
        return assigned(name)


class Recorder:
    def __init__(self):
        self.values = []

    def record(self, value, ms=0):
        time.sleep(ms / 1000)
        self.values.append(value)
        return len(self.values)

    def seen(self):
        return self.values


class Doomed:
    def __init__(self, message):
        raise AppError(message)

    def hello(self):
        return "hello"


class Phoenix:
    def __init__(self, file):
        self.file = file
        append_line(file, "life")

    def dieOnce(self):
        if lines(self.file) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return lines(self.file)

    def lives(self):
        return lines(self.file)


class Gate:
    def __init__(self):
        self.is_open = False

    async def isOpen(self):
        return self.is_open

    async def pass_(self):
        while not self.is_open:
            await asyncio.sleep(0.01)
        return "passed"

    async def open(self):
        self.is_open = True
        return "opened"


CLASSES = {"Counter": Counter, "Recorder": Recorder, "Doomed": Doomed, "Phoenix": Phoenix, "Gate": Gate}
ERRORS = {"AppError": AppError, "OtherError": OtherError}

@ray.remote
def double(x):
    return x * 2


@ray.remote
def added(a, b):
    return a + b


@ray.remote(num_cpus=0.5)
class Worker:
    def __init__(self):
        self.count = 0

    def square(self, x, ms=0):
        self.count += 1
        time.sleep(ms / 1000)
        return x * x

    def calls(self):
        return self.count


def error_of(work):
    from ray.util.queue import Empty, Full
    try:
        work()
        return "no error"
    except Full:
        return "full"
    except Empty:
        return "empty"
    except Exception:
        return "another error"


def accepted(work):
    try:
        work()
        return "accepted"
    except Exception:
        return "refused"


def wait_order():
    refs = [double.remote(x) for x in (3, 1, 2)]
    ready, pending = ray.wait(refs, num_returns=3, timeout=20)
    return [ray.get(ready), len(pending)]


COMPUTES_S = 1.5


@ray.remote
def now():
    return time.time()


@ray.remote
def read_now(refs):
    ray.get(refs[0])
    return time.time()


@ray.remote(num_cpus=0.1)
class Clock:
    def now(self):
        return time.time()


def begins_meanwhile(submit):
    ref = submit()
    end = time.time() + COMPUTES_S
    while time.time() < end:
        pass
    return ray.get(ref) < end


def begins_while_driver_computes():
    ray.get(now.remote())
    task = begins_meanwhile(now.remote)
    clock = Clock.remote()
    ray.get(clock.now.remote())
    return {"task": task, "method": begins_meanwhile(clock.now.remote)}


def reads_while_owner_computes():
    def read(value):
        ray.get(read_now.remote([ray.put(0)]))
        ref = ray.put(value)
        return begins_meanwhile(lambda: read_now.remote([ref]))

    return {"stored": read(bytes(1_000_000)), "small": read("small")}


@ray.remote(max_retries=0)
def exit_at(index, last):
    return os._exit(1) if index == last else index


@ray.remote(num_cpus=0.1)
class Ends:
    def call(self, index, last):
        return os._exit(1) if index == last else index


def failed_of(refs):
    def is_given(index, ref):
        try:
            return ray.get(ref) == index
        except ray.exceptions.RayError:
            return False

    return [index for index, ref in enumerate(refs) if not is_given(index, ref)]


def actor_ends_in_bulk():
    actor = Ends.remote()
    ray.get(actor.call.remote(0, -1))
    failed = failed_of([actor.call.remote(index, 500) for index in range(1000)])
    return {"before": sum(index < 500 for index in failed) <= 1, "from": sum(index >= 500 for index in failed)}


def graph_chain():
    with InputNode() as given:
        graph = added.bind(double.bind(given), 1)
    return [ray.get(graph.execute(3)), ray.get(graph.execute(4))]


def graph_shared():
    worker = Worker.remote()
    with InputNode() as given:
        squared = worker.square.bind(given)
        graph = added.bind(squared, squared)
    return [ray.get(graph.execute(3)), ray.get(worker.calls.remote())]


def graph_outputs():
    with InputNode() as given:
        graph = MultiOutputNode([double.bind(given), added.bind(given, 10)])
    return ray.get(graph.execute(5))


def graph_attributes():
    with InputNode() as given:
        graph = added.bind(given["a"], given["b"])
    return ray.get(graph.execute({"a": 2, "b": 40}))


def graph_compiled():
    first, second = Worker.remote(), Worker.remote()
    with InputNode() as given:
        graph = second.square.bind(first.square.bind(given)).experimental_compile()
    results = [ray.get(graph.execute(2)), ray.get(graph.execute(3))]
    graph.teardown()
    return results


def actor_pool(count):
    from ray.util import ActorPool
    return ActorPool([Worker.remote() for _ in range(count)])


def actor_pool_submit():
    pool = actor_pool(1)
    pool.submit(lambda worker, x: worker.square.remote(x), 5)
    pool.submit(lambda worker, x: worker.square.remote(x), 6)
    first = pool.get_next()
    return [first, pool.has_next(), pool.get_next(), pool.has_next()]


def queue_of(items, **options):
    from ray.util.queue import Queue
    queue = Queue(**options)
    for item in items:
        queue.put(item)
    return queue


def queue_order():
    queue = queue_of([1, 2, 3])
    return [queue.size(), queue.get(), queue.get(), queue.get(), queue.empty()]


def queue_full():
    queue = queue_of([1], maxsize=1)
    return [queue.full(), error_of(lambda: queue.put_nowait(2)), error_of(lambda: queue.put(2, timeout=0.1))]


def queue_empty():
    queue = queue_of([])
    return [error_of(queue.get_nowait), error_of(lambda: queue.get(timeout=0.1))]


def with_pool(processes, work):
    from ray.util.multiprocessing import Pool
    pool = Pool(processes=processes)
    try:
        return work(pool)
    finally:
        pool.terminate()


PROGRAMS = {
    "isInitialized": ray.is_initialized,
    "initAgain": lambda: accepted(lambda: ray.init(num_cpus=1)),
    "initAgainIgnored": lambda: accepted(lambda: ray.init(ignore_reinit_error=True)),
    "waitOrder": wait_order,
    "beginsWhileDriverComputes": begins_while_driver_computes,
    "taskAmongQuickOnesEnds": lambda: failed_of([exit_at.remote(index, 39) for index in range(2000)]),
    "actorEndsInBulk": actor_ends_in_bulk,
    "readsWhileOwnerComputes": reads_while_owner_computes,
    "graphChain": graph_chain,
    "graphShared": graph_shared,
    "graphOutputs": graph_outputs,
    "graphAttributes": graph_attributes,
    "graphCompiled": graph_compiled,
    "actorPoolMap": lambda: list(actor_pool(2).map(lambda worker, x: worker.square.remote(x, 200 if x == 1 else 0), [1, 2, 3, 4])),
    "actorPoolUnordered": lambda: sorted(actor_pool(2).map_unordered(lambda worker, x: worker.square.remote(x), [1, 2, 3, 4])),
    "actorPoolSubmit": actor_pool_submit,
    "queueOrder": queue_order,
    "queueFull": queue_full,
    "queueEmpty": queue_empty,
    "poolMap": lambda: with_pool(2, lambda pool: pool.map(lambda x: x * 10, [1, 2, 3, 4, 5])),
    "poolStarmap": lambda: with_pool(2, lambda pool: pool.starmap(lambda a, b: a + b, [(1, 2), (3, 4)])),
    "poolImap": lambda: with_pool(2, lambda pool: list(pool.imap(lambda x: x + 1, [1, 2, 3]))),
    "poolApply": lambda: with_pool(1, lambda pool: pool.apply(lambda x: x - 1, (8,))),
}

KINDS = {
    "PendingCallsLimitExceeded": "PendingCallsLimitExceededError",
    "TaskPlacementGroupRemoved": "PlacementGroupRemovedError",
    "ActorPlacementGroupRemoved": "PlacementGroupRemovedError",
    "RuntimeEnvSetupError": "RuntimeEnvError",
    "ValueError": "BadArgument",
    "TypeError": "BadArgument",
}


def kind_of(error):
    if isinstance(error, ray.exceptions.RayTaskError):
        cause = error.cause
        if isinstance(cause, ray.exceptions.RayTaskError):
            cause = cause.cause
        if isinstance(cause, ray.exceptions.TaskCancelledError):
            return {"error": "TaskCancelledError"}
        return {"error": "TaskError", "cause": type(cause).__name__, "message": str(cause) if type(cause).__name__ in ERRORS else None}
    name = type(error).__name__
    return {"error": KINDS.get(name, name)}


refs, handles = {}, {}
lock = threading.Lock()
numbers = iter(range(1, 1 << 60))


def keep(table, value):
    with lock:
        number = next(numbers)
        table[number] = value
        return number


def decode(value):
    if isinstance(value, dict):
        if set(value) == {"$ref"}:
            return refs[value["$ref"]]
        if set(value) == {"$handle"}:
            return handles[value["$handle"]]
        if set(value) == {"$bytes"}:
            return bytes(value["$bytes"])
        return {key: decode(inner) for key, inner in value.items()}
    return [decode(inner) for inner in value] if isinstance(value, list) else value


def encode(value):
    if isinstance(value, ray.ObjectRef):
        return {"$ref": keep(refs, value)}
    if isinstance(value, (list, tuple)):
        return [encode(inner) for inner in value]
    if isinstance(value, dict):
        return {key: encode(inner) for key, inner in value.items()}
    return len(value) if isinstance(value, bytes) else value


SNAKE = {
    "numReturns": "num_returns", "numCpus": "num_cpus", "numGpus": "num_gpus", "resources": "resources", "maxRetries": "max_retries",
    "name": "name", "namespace": "namespace", "getIfExists": "get_if_exists", "maxRestarts": "max_restarts",
    "maxTaskRetries": "max_task_retries", "maxConcurrency": "max_concurrency", "maxPendingCalls": "max_pending_calls",
    "concurrencyGroup": "concurrency_group", "labelSelector": "label_selector",
}


def options(settings):
    found = {}
    for key, value in settings.items():
        if key in SNAKE:
            found[SNAKE[key]] = value
        elif key == "retryOn":
            found["retry_exceptions"] = [ERRORS[name] for name in value] if isinstance(value, list) else value
        elif key == "fallbackStrategy":
            found["fallback_strategy"] = [{SNAKE[name]: inner for name, inner in item.items()} for item in value]
        elif key == "envVars":
            found["runtime_env"] = {"env_vars": value}
        elif key == "placementGroup":
            found["scheduling_strategy"] = PlacementGroupSchedulingStrategy(decode(value), settings.get("bundleIndex", -1))
        elif key == "schedulingStrategy":
            if value == "spread":
                found["scheduling_strategy"] = "SPREAD"
            else:
                node = ray.nodes()[value["node"]]["NodeID"] if value["node"] >= 0 else "ab" * 28
                found["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node, value["soft"])
        elif key not in ("bundleIndex", "concurrencyGroups"):
            raise ValueError(f"no option {key}")
    return found


def outcome(work):
    try:
        return {"value": encode(work())}
    except Exception as error:
        return kind_of(error)


def method_of(actor, name):
    return getattr(actor, "pass_" if name == "pass" else name)


def seconds(request):
    ms = request.get("timeoutMs")
    return None if ms is None else ms / 1000


LIMITED = {}


def submit(request):
    function = ray.remote(FUNCTIONS[request["name"]])
    given = request.get("settings", {})
    if "maxCalls" in given:
        # Calls are counted by remote function, and each one that is made is another.
        key = (request["name"], given["maxCalls"])
        function = LIMITED.get(key) or LIMITED.setdefault(key, ray.remote(max_calls=given["maxCalls"])(FUNCTIONS[request["name"]]))
    settings = options({name: value for name, value in given.items() if name != "maxCalls"})
    made = (function.options(**settings) if settings else function).remote(*decode(request["args"]))
    return [keep(refs, ref) for ref in made] if isinstance(made, list) else keep(refs, made)


def make_actor(request):
    settings = request.get("settings", {})
    groups = settings.get("concurrencyGroups")
    actor_class = CLASSES[request["name"]]
    actor = ray.remote(concurrency_groups=groups)(actor_class) if groups else ray.remote(actor_class)
    found = options(settings)
    return keep(handles, (actor.options(**found) if found else actor).remote(*decode(request["args"])))


def call(request):
    method = method_of(handles[request["actor"]], request["method"])
    settings = options(request.get("settings", {}))
    return keep(refs, (method.options(**settings) if settings else method).remote(*decode(request["args"])))


def wait(request):
    given = [refs[number] for number in request["refs"]]
    ready, pending = ray.wait(given, num_returns=request["numReturns"], timeout=seconds(request))
    return [[given.index(ref) for ref in part] for part in (ready, pending)]


def locations(request):
    given = [refs[number] for number in request["refs"]]
    found = ray.experimental.get_object_locations(given)
    return [[len(found[ref]["node_ids"]), (found[ref]["object_size"] or 0) > 100_000, found[ref]["did_spill"]] for ref in given]


def stream(request):
    args = decode(request["args"])
    if "actor" in request:
        return keep(handles, method_of(handles[request["actor"]], request["method"]).options(num_returns="streaming").remote(*args))
    return keep(handles, ray.remote(FUNCTIONS[request["name"]]).remote(*args))


def next_item(request):
    try:
        ref = next(handles[request["stream"]])
    except StopIteration:
        return {"error": "End"}
    return outcome(lambda: ray.get(ref))


def cancel(request):
    ray.cancel(refs[request["ref"]], force=request.get("force", False), recursive=request.get("recursive", True))


OPERATIONS = {
    "task": submit,
    "get": lambda request: outcome(lambda: ray.get(refs[request["ref"]], timeout=seconds(request))),
    "getAll": lambda request: outcome(lambda: ray.get([refs[number] for number in request["refs"]], timeout=seconds(request))),
    "put": lambda request: keep(refs, ray.put(decode(request["value"]))),
    "wait": lambda request: outcome(lambda: wait(request)),
    "locations": lambda request: outcome(lambda: locations(request)),
    "cancel": lambda request: outcome(lambda: cancel(request)),
    "actor": make_actor,
    "call": call,
    "tryCall": lambda request: outcome(lambda: {"$ref": call(request)}),
    "getActor": lambda request: outcome(lambda: {"$handle": keep(handles, ray.get_actor(request["name"], request.get("namespace")))}),
    "kill": lambda request: ray.kill(handles[request["actor"]], no_restart=request.get("noRestart", True)),
    "stream": stream,
    "next": next_item,
    "placementGroup": lambda request: keep(handles, placement_group(request["bundles"], request["strategy"])),
    "groupReady": lambda request: outcome(lambda: ray.get(handles[request["group"]].ready(), timeout=seconds(request)) is not None),
    "removeGroup": lambda request: remove_placement_group(handles[request["group"]]),
    "resources": lambda request: ray.cluster_resources() if request["which"] == "cluster" else ray.available_resources(),
    "program": lambda request: outcome(PROGRAMS[request["name"]]),
    "dataset": lambda request: ray_data.run_steps(request["steps"], request["folder"]),
    "nodeCount": lambda request: len(ray.nodes()),
    # Refs that no scenario needs any more let go of what their tasks hold.
    "forget": lambda request: (refs.clear(), handles.clear())[0],
}


def answer(request, out):
    try:
        reply = {"id": request["id"], "result": OPERATIONS[request["op"]](request)}
    except Exception as error:
        reply = {"id": request["id"], "failure": f"{type(error).__name__}: {error}", **kind_of(error)}
    with lock:
        out.write(json.dumps(reply) + "\n")
        out.flush()


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    settings = json.loads(sys.stdin.readline())
    ray.init(num_cpus=settings["numCpus"], num_gpus=settings["numGpus"], resources=settings["resources"], namespace="conformance",
             include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    out.write(json.dumps({"ready": ray.__version__}) + "\n")
    out.flush()
    for line in sys.stdin:
        threading.Thread(target=answer, args=(json.loads(line), out), daemon=True).start()
    ray.shutdown()


main()
