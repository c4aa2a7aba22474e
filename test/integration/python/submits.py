"""Tasks and actors in Python that submit others."""

import asyncio
import os
import signal
import time

import shoal


@shoal.remote
def double(x):
    return x * 2


@shoal.remote(num_cpus=0.5, max_retries=0)
def add(a, b=10, *rest):
    return a + b + sum(rest)


@shoal.remote
def fibonacci(n):
    if n < 2:
        return n
    return sum(shoal.get([fibonacci.remote(n - 1), fibonacci.remote(n - 2)]))


@shoal.remote
class Counter:
    def __init__(self, start=0):
        self.count = start

    def add(self, by=1):
        self.count += by
        return self.count

    def pid(self):
        return os.getpid()

    def numbers(self, count):
        for number in range(count):
            yield number


def doubled(values):
    return shoal.get([double.remote(value) for value in values])


def chained(value):
    return shoal.get(double.remote(double.remote(double.remote(value))))


def by_names():
    return [shoal.get(add.remote(1)), shoal.get(add.remote(b=2, a=1)), shoal.get(add.remote(1, 2, 3)), shoal.get(add.options(name="sum").remote(5))]


def fib(n):
    return shoal.get(fibonacci.remote(n))


def returned(value):
    """References as results: their values outlive this task."""
    return [double.remote(value), shoal.put("kept")]


def count_up(times):
    counter = Counter.remote(100)
    return shoal.get([counter.add.remote() for _ in range(times)])


def named(name):
    Counter.options(name=name, lifetime="detached").remote(5)
    return shoal.get(shoal.get_actor(name).add.remote(1))


def got_or_made(name):
    one = Counter.options(name=name, get_if_exists=True, num_cpus=0).remote(1)
    other = Counter.options(name=name, get_if_exists=True, num_cpus=0).remote(50)
    return [shoal.get(one.add.remote()), shoal.get(other.add.remote())]


def passed_on(start):
    """The handle of an actor as a result."""
    return Counter.options(num_cpus=0).remote(start)


def errors_of():
    def inner():
        return 1

    found = []
    for attempt in (
        lambda: shoal.remote(lambda: 1).remote(),
        lambda: shoal.remote(inner).remote(),
        lambda: shoal.remote(3),
        lambda: shoal.remote(num_cpu=1)(double_plain),
        lambda: shoal.remote(num_cpus=-1)(double_plain),
        lambda: shoal.remote(runtime_env={})(double_plain),
        lambda: double(1),
        lambda: add.remote(c=1),
        lambda: double.remote(open(os.devnull)),
    ):
        try:
            attempt()
        except Exception as error:
            found.append("%s: %s" % (type(error).__name__, error))
    return found


def double_plain(x):
    return x * 2


@shoal.remote(num_returns=2)
def pair():
    return 1, "two"


@shoal.remote(num_returns="streaming")
def items(count):
    for number in range(count):
        yield {"number": number}


@shoal.remote(num_returns="streaming", high_water_mark=2)
def failing_items(file):
    for number in range(100):
        with open(file, "a") as out:
            out.write("%d\n" % number)
        if number == 50:
            raise ValueError("fifty")
        yield number


def read_items(count):
    first, second = pair.remote()
    return [shoal.get(first), shoal.get(second), [shoal.get(ref)["number"] for ref in items.remote(count)]]


def read_actor_items(count):
    counter = Counter.options(num_cpus=0).remote()
    return [shoal.get(ref) for ref in counter.numbers.options(num_returns="streaming").remote(count)]


def read_some(file):
    stream = failing_items.remote(file)
    found = [shoal.get(next(stream)) for _ in range(3)]
    stream.close()
    time.sleep(0.5)
    with open(file) as text:
        return [found, len(text.readlines())]


def read_failing(file):
    found = []
    try:
        for ref in failing_items.remote(file):
            found.append(shoal.get(ref))
    except shoal.TaskError as error:
        return [len(found), str(error.__cause__)]


async def read_async(count):
    return [(await ref)["number"] async for ref in items.remote(count)]


@shoal.remote(max_retries=2)
def dies_once(file, how):
    with open(file, "a") as out:
        out.write("x")
    with open(file) as text:
        tries = len(text.read())
    if tries < 3:
        if how == "exit":
            os._exit(3)
        raise KeyError("not yet")
    return tries


def retried(file, how):
    task = dies_once.options(retry_on=[KeyError]) if how == "error" else dies_once
    return shoal.get(task.remote(file, how))


def not_retried(file):
    try:
        shoal.get(dies_once.options(max_retries=0).remote(file, "exit"))
    except shoal.WorkerCrashedError as error:
        return [type(error).__name__, error.code, "code 3" in str(error)]


@shoal.remote(num_cpus=0)
def sleeps(file):
    try:
        open(file + ".began", "w").close()
        time.sleep(60)
    finally:
        open(file, "w").close()


@shoal.remote(num_cpus=0)
def parent_of(file):
    """Is cancelled while it computes; what it has submitted runs elsewhere, as this worker is not free."""
    child = sleeps.remote(file)
    while True:
        time.sleep(0.01)
        shoal.wait([child], timeout=0)


def cancels(file):
    ref = sleeps.remote(file)
    await_file(file + ".began")
    shoal.cancel(ref)
    try:
        shoal.get(ref)
    except shoal.TaskCancelledError as error:
        await_file(file)
        return error.code


def cancels_parent(file):
    ref = parent_of.remote(file)
    await_file(file + ".began")
    shoal.cancel(ref)
    await_file(file)
    return True


def await_file(file):
    end = time.monotonic() + 20
    while not os.path.exists(file):
        if time.monotonic() > end:
            raise TimeoutError(file)
        shoal.wait([double.remote(1)], timeout=0.05)


def total_of(values):
    return float(values.sum()) if hasattr(values, "sum") else float(sum(values))


@shoal.remote
def length_of(data, *others):
    return [len(data), *others]


def large(size):
    """Large arguments and results between two tasks of Python."""
    data = make.remote(size)
    return [shoal.get(length_of.remote(data)), shoal.get(length_of.remote(bytes(size), 1)), len(shoal.get(data))]


@shoal.remote
def make(size):
    return b"m" * size


def uses_actor(actor, size):
    first, second = actor.add.remote(1), actor.add.remote(2)
    return [*shoal.get([first, second]), shoal.get(actor.length.remote(bytes(size)))]


def uses_other_node(size):
    there = {"special": 0.1}
    made = make.options(resources=there).remote(size)
    counter = Counter.options(resources=there, num_cpus=0).remote(7)
    stream = counter.numbers.options(num_returns="streaming").remote(3)
    return [
        shoal.get(length_of.options(resources=there).remote(made)),
        len(shoal.get(made)),
        shoal.get(counter.add.remote()),
        [shoal.get(ref) for ref in stream],
    ]


@shoal.remote
def logged(file, size):
    """A large result that tells each run in a file."""
    with open(file, "a") as out:
        out.write("run\n")
    return b"l" * size


def length(data):
    return len(data)


def length_in(box):
    return len(shoal.get(box[0]))


@shoal.remote(num_cpus=0, max_restarts=-1)
class Mortal:
    def die_once(self, file):
        """Ends its process at the first call; what came with it is lost, too."""
        if not os.path.exists(file):
            open(file, "w").close()
            os._exit(2)
        return "second life"

    def answer(self, value):
        return value


def actor_retries(file):
    patient = Mortal.options(max_task_retries=2).remote()
    again = shoal.get([patient.answer.remote(1), patient.die_once.remote(file + ".patient"), patient.answer.remote(2)])
    impatient = Mortal.remote()
    found = []
    for ref in [impatient.die_once.remote(file + ".impatient"), impatient.die_once.options(max_task_retries=1).remote(file + ".impatient")]:
        try:
            found.append(shoal.get(ref))
        except shoal.ShoalError as error:
            found.append(error.code)
    doomed = Mortal.options(max_restarts=0).remote()
    try:
        shoal.get(doomed.die_once.remote(file + ".doomed"))
    except shoal.ActorDiedError as error:
        found.append(error.code)
    shoal.kill(patient)
    try:
        # Calls go to the actor directly: the first ones may be there before the order.
        for _ in range(1000):
            shoal.get(patient.answer.remote(3))
            time.sleep(0.01)
    except shoal.ActorDiedError as error:
        found.append(error.reason)
    return [again, found]


@shoal.remote
async def doubled_later(value):
    await asyncio.sleep(0.01)
    return value * 2


@shoal.remote
async def doubled_twice(value):
    return await doubled_later.remote(await doubled_later.remote(value))


async def coroutines(count):
    """Coroutines that await coroutines: each gives its CPU to what it waits for."""
    one_by_one = [await doubled_twice.remote(value) for value in range(count)]

    async def value_of(ref):
        return await ref

    return one_by_one + await asyncio.gather(*[value_of(doubled_twice.remote(value)) for value in range(count)])


class Keeper:
    """Keeps references to what it has submitted."""

    def __init__(self):
        self.refs = []

    def make(self, file, size):
        self.refs.append(logged.remote(file, size))
        shoal.wait(self.refs[-1:])

    def make_by(self, function, file):
        self.refs.append(function.remote(file))
        shoal.wait(self.refs[-1:])

    def put(self, size):
        self.refs.append(shoal.put(bytes(size)))

    def read(self):
        return len(shoal.get(self.refs[-1]))

    def pass_on(self):
        return shoal.get(length_of.remote(self.refs[-1]))

    def give(self):
        return [self.refs[-1]]

    def take(self, refs):
        return len(shoal.get(refs[0]))

    def drop(self):
        self.refs = []


class Caller:
    """Calls from the process of an actor, in which no task runs meanwhile."""

    def call(self, name, *args):
        return globals()[name](*args)


@shoal.remote(max_calls=2, max_retries=0)
def process_twice():
    return os.getpid()


def limited_calls(count):
    try:
        process_twice.options(max_calls=3)
        refused = ""
    except TypeError as error:
        refused = str(error)
    return [shoal.get([process_twice.remote() for _ in range(count)]), refused]


def process():
    return os.getpid()


def fallen_back():
    calls = [
        double.options(label_selector={"zone": "nowhere"}, fallback_strategy=[{"label_selector": {"zone": "!nowhere"}}]),
        double.options(label_selector={"zone": "nowhere"}, fallback_strategy=[{"label_selector": {}}]),
    ]
    try:
        double.options(fallback_strategy=[{"num_cpus": 1}])
        refused = ""
    except TypeError as error:
        refused = str(error)
    return [shoal.get([call.remote(value) for value, call in enumerate(calls, 1)]), refused]


@shoal.remote(max_retries=0)
def marked(file, number, fatal, victim=None):
    """Quick; the fatal one ends its process, or stops the daemon of its node for good."""
    with open(file, "a") as log:
        log.write("%d\n" % number)
    if number == fatal:
        if victim is None:
            os.kill(os.getpid(), signal.SIGKILL)
        os.kill(victim, signal.SIGSTOP)
        open(file + ".died", "w").close()
        time.sleep(60)
    return number


def _results(refs):
    found = []
    for ref in refs:
        try:
            found.append(shoal.get(ref, timeout=40))
        except shoal.WorkerCrashedError:
            found.append("crashed")
    return found


def sent_ahead(file):
    """What became of tasks that were sent ahead to a worker which one of them ended."""
    shoal.get([marked.remote(os.devnull, number, -1) for number in range(50)])
    return _results([marked.remote(file, number, 3) for number in range(8)])


def on_dying_node(file, victim):
    """The same where one of them ends its whole node, with the answers before it still in its process; the last one holds more than a CPU, and so is not sent ahead."""
    shoal.get([marked.remote(os.devnull, number, -1) for number in range(50)])
    refs = [marked.remote(file, number, 3, victim) for number in range(8)]
    return _results([*refs, marked.options(resources={"special": 0.1}).remote(file, 8, -1)])
