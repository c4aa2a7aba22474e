"""What the figures of Python call on Shoal: the twins of what ../ray/figures.py calls, plain functions and a class."""


def small_value():
    return b"ok"


class SmallValueActor:
    def small_value(self):
        return b"ok"


class Hello:
    """A deployment of Serve."""

    async def __call__(self, request):
        return "hello world"


def ends_of(array):
    import shoal

    return [float(array[0] + array[-1]), type(array).__name__, shoal.object_store_statistics()["mapped_bytes"]]


class NumpyActor:
    def __init__(self):
        import numpy

        self.total = float(numpy.ones(8).sum())
