"""Python functions and classes as transforms of ``shoal/data``: blocks in, batches for the user's code, blocks out.

``_blocks.py`` makes tables of blocks and blocks of what the user's code gives.
"""

import inspect

from . import _runtime
from ._blocks import batch_of, block_of, concatenated, facts_of, library, table_of, table_of_block
from ._row_places import RowPlaces
from .errors import DataError, TaskCancelledError

_DATA_BYTES_MAX = 128 * 1024 * 1024


def map_batches(place, name, options, origins, counts, *given):
    """A task: the blocks that the user's function makes of these, each with its facts behind it. ``given``: the user's arguments, then the blocks."""
    function = _runtime.require_task().targets.find(place, name)
    args, kwargs, blocks = _parted(counts, given)
    yield from _run(lambda batch: function(batch, *args, **kwargs), options, origins, blocks)


class BatchMapper:
    """An actor of a pool: an instance of the user's class, whose ``__call__`` is the function. ``given``: what the class is made with, then what it is called with."""

    def __init__(self, place, name, options, made, called, *given):
        args, kwargs, rest = _parted(made, given)
        mapper = _runtime.require_task().targets.find(place, name)(*args, **kwargs)
        if not callable(mapper):
            raise TypeError("%s: a class of a transform has a method __call__(self, batch)" % options["name"])
        args, kwargs, _ = _parted(called, rest)
        self._function = lambda batch: mapper(batch, *args, **kwargs)
        self._options = options

    def run(self, origins, *blocks):
        yield from _run(self._function, self._options, origins, blocks)


def _parted(counts, given):
    """Arguments by place, by name, and what stands behind them."""
    places, names = counts
    end = places + len(names)
    return given[:places], dict(zip(names, given[places:end])), given[end:]


def _run(function, options, origins, blocks):
    pyarrow = library("pyarrow", options["name"])
    # A block without rows comes only where there are none, and may have no columns.
    filled = [(block, origin) for block, origin in zip(blocks, origins) if block["rowCount"] > 0]
    # A column read as bigint stays bigint where the function returns a column of the same name.
    wide = {name for block, _ in filled for name, vector in zip(block["names"], block["vectors"]) if vector["type"].get("as") == "bigint"}
    rows = RowPlaces([(block["rowCount"], origin) for block, origin in filled])
    start = 0
    for table in _batches(pyarrow, [block for block, _ in filled], options.get("batchSize")):
        end = start + table.num_rows
        try:
            yield from _made_of(pyarrow, function(batch_of(table, options, wide)), wide, options["name"])
        except (DataError, TaskCancelledError):
            raise
        except Exception as error:
            text, details = rows.place_of(start, end)
            raise _runtime.require().codec.task_error(error, options["name"], text, details) from error
        start = end


def _made_of(pyarrow, result, wide, name):
    if inspect.iscoroutine(result):
        result.close()
        raise DataError("%s: the function is async, and Python's part of a pipeline calls one batch after the other: make it a plain function" % name)
    for one in result if inspect.isgenerator(result) else (result,):
        for piece in _pieces(table_of(pyarrow, one, name)):
            block = block_of(pyarrow, piece, wide, name)
            yield block
            yield facts_of(block)


def _batches(pyarrow, blocks, size):
    tables = [table_of_block(pyarrow, block) for block in blocks]
    if size is None:
        yield from tables
        return
    rows = concatenated(pyarrow, tables)
    for start in range(0, 0 if rows is None else rows.num_rows, size):
        yield rows.slice(start, size)


def _pieces(table):
    rows = max(1, min(table.num_rows, int(table.num_rows * _DATA_BYTES_MAX / max(1, table.nbytes))))
    for start in range(0, max(1, table.num_rows), rows):
        yield table.slice(start, rows)
