"""Tables in batches: of a size, of mixed rows, and the rows of tables one by one."""

from collections import deque

from ._blocks import concatenated, library, numpy_of

#: What ``iter_batches`` may give, and what ``batch_of`` calls it.
FORMATS = {"numpy": "numpy", "default": "numpy", "pandas": "pandas", "pyarrow": "arrow", None: "arrow"}


def checked(name, prefetch_batches, batch_size, buffer, seed):
    """:raises TypeError, ValueError: for options that are wrong"""
    _check_count(name, "prefetch_batches", prefetch_batches, 0)
    for option, value in (("batch_size", batch_size), ("local_shuffle_buffer_size", buffer)):
        if value is not None:
            _check_count(name, option, value, 1)
    if buffer is not None and batch_size is None:
        raise ValueError("%s: batch_size is needed with local_shuffle_buffer_size: received None" % name)
    if seed is not None:
        _check_count(name, "local_shuffle_seed", seed, 0)
    return {"name": name, "prefetch_batches": prefetch_batches, "batch_size": batch_size, "buffer": buffer, "seed": seed}


def _check_count(name, option, value, least):
    import operator

    try:
        is_good = operator.index(value) >= least and value is not True
    except TypeError:
        raise TypeError("Cannot call %s: it takes as %s a whole number from %d: received %r" % (name, option, least, value)) from None
    if not is_good:
        raise ValueError("Cannot call %s: it takes as %s a whole number from %d: received %r" % (name, option, least, value))


def rebatched(tables, size):
    """Tables of ``size`` rows each, the last one with what is left. Only those whose rows lie in several tables are copied."""
    if size is None:
        yield from (table for table in tables if table.num_rows > 0)
        return
    pyarrow = library("pyarrow", "a batch")
    waiting = deque()
    rows = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        while rows >= size:
            yield _first_rows(pyarrow, waiting, size)
            rows -= size
    if rows > 0:
        yield _first_rows(pyarrow, waiting, rows)


def _first_rows(pyarrow, waiting, count):
    parts = []
    while count > 0:
        table = waiting.popleft()
        if table.num_rows > count:
            waiting.appendleft(table.slice(count))
            table = table.slice(0, count)
        count -= table.num_rows
        parts.append(table)
    return concatenated(pyarrow, parts)


def mixed(tables, rows, seed):
    """The rows in random order as far as a buffer of ``rows`` rows reaches: it is mixed when it has half more, and gives those."""
    pyarrow = library("pyarrow", "local_shuffle_buffer_size")
    numpy = library("numpy", "local_shuffle_buffer_size")
    random = numpy.random.default_rng(seed)
    room = rows + (rows + 1) // 2
    held = deque()
    count = 0
    for table in tables:
        # A table larger than the buffer is shuffled in pieces, so that the size of a shuffle does not depend on the blocks.
        start = 0
        while start < table.num_rows:
            part = table.slice(start, room - count)
            held.append(part)
            start += part.num_rows
            count += part.num_rows
            if count < room:
                continue
            buffer = _mix(pyarrow, random, held)
            yield buffer.slice(0, count - rows)
            held = deque((buffer.slice(count - rows),))
            count = rows
    if count > 0:
        yield _mix(pyarrow, random, held)


def _mix(pyarrow, random, tables):
    table = concatenated(pyarrow, list(tables)).combine_chunks()
    return table.take(random.permutation(table.num_rows))


def rows_of(tables):
    """The rows as dicts of values of Python; those of columns of arrays are NumPy arrays."""
    for table in tables:
        names = table.column_names
        columns = [_values_of(column) for column in table.columns]
        if not columns:
            yield from ({} for _ in range(table.num_rows))
        for row in zip(*columns):
            yield dict(zip(names, row))


def _values_of(column):
    return numpy_of(column) if hasattr(column.type, "shape") and column.null_count == 0 else column.to_pylist()
