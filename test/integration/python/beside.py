"""Imported by the file beside it."""

VALUE = "beside"


class Neighbour:
    """Of a module that is found by the folder of another file alone."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return type(other) is Neighbour and self.n == other.n
