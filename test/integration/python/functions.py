"""Python that calls functions of TypeScript which came as arguments."""

import copy
import os

import shoal


@shoal.remote
def triple(x):
    return x * 3


class Keeper:
    """An actor that keeps a function."""

    def __init__(self, function=None):
        self.function = function

    def keep(self, function):
        self.function = function

    def keep_with_options(self, function):
        self.function = function.options(name="another")

    def keep_copy(self, function):
        self.function = copy.deepcopy([function])[0]

    def keep_pickled(self, function):
        self.function = shoal.get(shoal.put(Holds(function))).function

    def give(self):
        return [self.function]

    def begin(self, function, gate):
        """Its call, which waits for the gate's value, is all that keeps the function."""
        self.result = function.remote(gate[0])

    def end(self):
        return shoal.get(self.result)

    def call(self, *args):
        return shoal.get(self.function.remote(*args))

    async def later(self, *args):
        return await self.function.remote(*args)


def call(function, *args):
    return shoal.get(function.remote(*args))


def call_in(box, *args):
    return shoal.get(box["function"].remote(*args))


def many(function, count):
    return shoal.get([function.remote(number) for number in range(count)])


def chained(function, value):
    return shoal.get(function.remote(function.remote(shoal.put(value))))


def with_options(function, **_):
    return [
        shoal.get(function.options(num_cpus=0.5, name="renamed").remote()),
        repr(function),
        shoal.get(function.options(num_returns=2).remote()),
    ]


def wrong(function):
    found = []
    for attempt in (
        lambda: function(1),
        lambda: function.remote(a=1),
        lambda: function.options(num_cpu=1),
        lambda: function.options(max_calls=1),
    ):
        try:
            attempt()
            found.append("nothing")
        except (TypeError, ValueError) as error:
            found.append("%s: %s" % (type(error).__name__, error))
    return found


def failing(function):
    try:
        shoal.get(function.remote())
    except shoal.TaskError as error:
        cause = error.__cause__
        return [type(cause).__name__, str(cause), cause.code, "functions.test" in cause.stack, cause.details]


def stream(function, count):
    return [shoal.get(ref) for ref in function.remote(count)]


def some_of_stream(function):
    found = []
    for ref in function.remote(1000000):
        found.append(shoal.get(ref))
        if len(found) == 3:
            break
    return found


def cancelled(function, file):
    ref = function.remote(file)
    while not os.path.exists(file):
        shoal.wait([ref], timeout=0.01)
    shoal.cancel(ref)
    try:
        shoal.get(ref)
    except shoal.TaskCancelledError as error:
        return error.code


def code_of(function, *args):
    try:
        return shoal.get(function.remote(*args))
    except shoal.ShoalError as error:
        return error.code


def refused(function, *args):
    try:
        return shoal.get(function.remote(*args))
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)


def give_back(function):
    return [function, function.options(num_returns=2), triple]


class Holds:
    def __init__(self, function):
        self.function = function


def pickled(function):
    return Holds(function)


def call_held(held, *args):
    return shoal.get(held.function.remote(*args))
