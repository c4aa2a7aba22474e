"""Python code whose objects are lost with a node, while whoever needs them and whoever makes them want the same scarce resource."""

import time

import shoal


class Holder:
    def __init__(self, data):
        self.data = data

    def get(self):
        return self.data

    def pass_on(self, data):
        return data


@shoal.remote(resources={"slot": 1})
def make(size):
    return b"x" * size


@shoal.remote(resources={"slot": 1})
def more(data):
    return bytes(data) + b"x"


@shoal.remote(resources={"slot": 1})
def length(data):
    return len(data)


def chain(log, size):
    """Makes a chain, and needs the end of it once the log has a second line."""
    ref = more.remote(more.remote(make.remote(size)))
    shoal.wait([ref])
    with open(log, "a") as file:
        file.write("made\n")
    while len(open(log).readlines()) < 2:
        time.sleep(0.05)
    return shoal.get(length.remote(ref))
