"""Data for code that runs in Python workers: the parts of a dataset that ``streamingSplit`` of ``shoal/data`` gives arrive here as a :class:`DataIterator`."""

from ._data_iterator import DataIterator
from .errors import DataError

__all__ = ["DataError", "DataIterator"]
