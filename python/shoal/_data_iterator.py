"""``DataIterator``: a part of a dataset that streams to one consumer in Python, as ``streamingSplit`` of ``shoal/data`` gives it.

The coordinator of the parts is an actor of TypeScript: ``begin`` waits until all parts are iterated, ``next`` gives the next piece of a block and acknowledges the one before, ``leave`` ends
the epoch for this part. Names and meanings of the methods are Ray's.
"""

from collections import deque

from . import _runtime
from ._api import get, wait
from ._batches import FORMATS, checked, mixed, rebatched, rows_of
from ._blocks import batch_of, concatenated, library, table_of_block
from ._made_ahead import MadeAhead
from ._reading import fetch_ahead
from ._tensors import tensor_maker, writable_block

_BATCH_ROWS = 256
#: One batch is ready while the block of the next one is fetched. With one alone, a loop of 10 ms a batch waited 9 % of its time on a crowded machine; with two, 2 %.
_PREFETCH_BATCHES = 2


class DataIterator:
    """A part of a dataset's rows. Each iteration is an epoch, which begins when all parts are iterated; the pipeline runs once for all of them.

    Not to be iterated by two at a time. What ``iter_batches`` and its like return may be iterated any number of times.
    """

    #: Inside of what is pickled it has a form of its own.
    _is_of_cluster = True

    def __init__(self, coordinator, split):
        self._coordinator = coordinator
        self._split = split

    @classmethod
    def __from_shoal__(cls, data):
        return cls(data["coordinator"], data["split"])

    def __to_shoal__(self):
        return {"coordinator": self._coordinator, "split": self._split}

    def __repr__(self):
        return "DataIterator(split %d)" % self._split

    def iter_batches(
        self,
        *,
        prefetch_batches=_PREFETCH_BATCHES,
        batch_size=_BATCH_ROWS,
        batch_format="numpy",
        drop_last=False,
        local_shuffle_buffer_size=None,
        local_shuffle_seed=None,
    ):
        """The rows in batches.

        :param prefetch_batches: how many batches beyond the current one are asked for; 0 asks for each when it is needed. In a training loop, and in any actor that runs several calls at once,
            a thread makes them while the caller computes
        :param batch_size: rows of a batch; the last one may have fewer. None: each block is a batch
        :param batch_format: ``"numpy"`` (``"default"`` is the same), a dict of arrays, which show shared memory and cannot be written to where nothing had to be copied; ``"pandas"``;
            ``"pyarrow"``, or None, a Table
        :param drop_last: leave out the last batch where it is not full
        :param local_shuffle_buffer_size: mixes the rows: those of a batch are taken at random from this many at least
        :param local_shuffle_seed: a number from which the mixing follows, for the same rows in the same order
        """
        if batch_format not in FORMATS:
            raise ValueError("Cannot call iter_batches: it takes as batch_format one of %s: received %r" % (", ".join(map(repr, FORMATS)), batch_format))
        options = checked("iter_batches", prefetch_batches, batch_size, local_shuffle_buffer_size, local_shuffle_seed)
        format_ = {"batchFormat": FORMATS[batch_format], "name": "iter_batches"}
        return _Epochs(lambda: self._batches(options, drop_last, None, lambda table: batch_of(table, format_)))

    def iter_torch_batches(
        self,
        *,
        prefetch_batches=_PREFETCH_BATCHES,
        batch_size=_BATCH_ROWS,
        dtypes=None,
        device="auto",
        collate_fn=None,
        drop_last=False,
        local_shuffle_buffer_size=None,
        local_shuffle_seed=None,
        pin_memory=False,
    ):
        """The rows in batches of tensors: a dict with a tensor for each column.

        Tensors on the CPU show shared memory where a batch lies in one block and its columns are numbers without nulls. They may be written to: the pages that are written are copied for
        this process alone.

        :param dtypes: torch's type of all tensors, or a dict of types by column
        :param device: where the tensors are to be. ``"auto"``: on the rank's device in a training loop, unless there is a ``collate_fn``; else, and for None, on the CPU
        :param collate_fn: makes the batch of a dict of NumPy arrays, which may be written to. Tensors that it returns, also in a dict, list or tuple, are moved to the device
        :param pin_memory: pins the memory of the tensors, so that they are copied to a GPU faster
        """
        options = checked("iter_torch_batches", prefetch_batches, batch_size, local_shuffle_buffer_size, local_shuffle_seed)
        make = tensor_maker(dtypes, device, collate_fn, pin_memory)
        return _Epochs(lambda: self._batches(options, drop_last, writable_block, make))

    def iter_tf_batches(self, *, prefetch_batches=_PREFETCH_BATCHES, batch_size=_BATCH_ROWS, dtypes=None, drop_last=False, local_shuffle_buffer_size=None, local_shuffle_seed=None):
        """The rows in batches of TensorFlow's tensors: a dict with a tensor for each column.

        :param dtypes: TensorFlow's type of all tensors, or a dict of types by column
        """
        options = checked("iter_tf_batches", prefetch_batches, batch_size, local_shuffle_buffer_size, local_shuffle_seed)
        tensorflow = library("tensorflow", "iter_tf_batches")

        def make(table):
            columns = batch_of(table, {"batchFormat": "numpy", "name": "iter_tf_batches"})
            types = dtypes if isinstance(dtypes, dict) else dict.fromkeys(columns, dtypes)
            return {name: tensorflow.convert_to_tensor(column, dtype=types.get(name)) for name, column in columns.items()}

        return _Epochs(lambda: self._batches(options, drop_last, None, make))

    def iter_rows(self):
        """The rows one by one, as dicts."""
        return _Epochs(lambda: rows_of(self._tables(self._open(1), "iter_rows", None)))

    def __iter__(self):
        return iter(self.iter_rows())

    def materialize(self):
        """Keeps the blocks of one epoch in the object store: an iterator over the same rows, which runs nothing and waits for no other part."""
        source = self._open(0)
        try:
            return MaterializedIterator(list(source.pieces()))
        finally:
            source.close()

    def _open(self, rows_ahead):
        return _Epoch(self._coordinator, self._split, rows_ahead)

    def _batches(self, options, drop_last, prepare, make):
        ahead = options["prefetch_batches"]
        source = self._open(ahead * (options["batch_size"] or 1))
        batches = self._batches_of(source, options, drop_last, prepare, make)
        if ahead == 0 or not _runtime.threads_may_use_cluster():
            yield from batches
            return
        made = MadeAhead(batches, ahead)
        try:
            yield from made
        finally:
            made.close()
            source.close()

    def _batches_of(self, source, options, drop_last, prepare, make):
        size = options["batch_size"]
        tables = self._tables(source, options["name"], prepare)
        if options["buffer"] is not None:
            tables = mixed(tables, max(options["buffer"], size), options["seed"])
        rows = 0
        try:
            for table in rebatched(tables, size):
                rows += table.num_rows
                if drop_last and size is not None and table.num_rows < size:
                    return
                source.look_ahead(rows)
                yield make(table)
        finally:
            source.close()

    @staticmethod
    def _tables(source, needed_by, prepare):
        pyarrow = library("pyarrow", needed_by)
        try:
            for piece in source.pieces():
                start, end = piece["from"], piece["to"]
                block = get(piece["ref"])
                # Values that show the block's memory keep the memory alive.
                piece.clear()
                source.ask_ahead()
                yield table_of_block(pyarrow, block if prepare is None else prepare(block)).slice(start, end - start)
        finally:
            source.close()


class MaterializedIterator(DataIterator):
    """Rows that are in the object store, as long as this object lives."""

    def __init__(self, pieces):
        self._pieces = pieces

    def __repr__(self):
        return "MaterializedIterator(%d rows)" % sum(piece["to"] - piece["from"] for piece in self._pieces)

    def materialize(self):
        return self

    def count(self):
        """How many rows there are."""
        return sum(piece["to"] - piece["from"] for piece in self._pieces)

    def to_pandas(self):
        """All rows as one frame of pandas."""
        pandas = library("pandas", "to_pandas")
        tables = list(self._tables(self._open(0), "to_pandas", None))
        return pandas.DataFrame() if not tables else batch_of(concatenated(library("pyarrow", "to_pandas"), tables), {"batchFormat": "pandas", "name": "to_pandas"})

    def _open(self, rows_ahead):
        return _Kept(self._pieces)


class _Epochs:
    """What a ``for`` statement iterates: an epoch each time."""

    def __init__(self, begin):
        self._begin = begin

    def __iter__(self):
        return self._begin()


def is_batches(value):
    """Whether it is what ``iter_batches`` and its like return."""
    return isinstance(value, _Epochs)


class _Epoch:
    """The pieces that a part gets in one epoch. The next one is asked for while the one before is used."""

    def __init__(self, coordinator, split, rows_ahead):
        self._coordinator = coordinator
        self._split = split
        self._rows_ahead = rows_ahead
        self._number = 0
        #: The reference of a piece that was asked for.
        self._asked = None
        #: Pieces that have come and that nobody has taken.
        self._here = deque()
        #: Rows of all that have come.
        self._rows = 0
        self._has_ended = False
        self._is_closed = False

    def pieces(self):
        self._number = get(self._coordinator.begin.remote(self._split))
        while True:
            if not self._here and not self._has_ended:
                self._ask()
                self._take()
            if not self._here:
                return
            yield self._here.popleft()

    def ask_ahead(self):
        """A block is about to be used."""
        if self._rows_ahead > 0:
            self._ask()

    def look_ahead(self, rows_used):
        """Takes what has come, while fewer rows than wanted are here beyond those that were used."""
        while self._asked is not None and self._rows - rows_used < self._rows_ahead and wait([self._asked], timeout=0)[0]:
            try:
                self._take()
            except Exception:  # it is raised where its turn comes
                return
            if self._here:
                piece = self._here[-1]
                piece["copies"] = _fetch_ahead(piece["ref"])
                self._ask()

    def close(self):
        """Leaves the epoch, so that nobody waits for this part."""
        if self._is_closed:
            return
        self._is_closed = True
        self._here.clear()
        try:
            self._coordinator.leave.remote(self._split, self._number)
        except Exception:  # where the task or the cluster has ended, there is nothing to leave
            pass

    def _ask(self):
        if self._asked is None and not self._has_ended:
            self._asked = self._coordinator.next.remote(self._split, self._number)

    def _take(self):
        piece = get(self._asked)
        self._asked = None
        if not piece:
            self._has_ended = True
            return
        self._rows += piece["to"] - piece["from"]
        self._here.append(piece)


@_runtime.in_turn
def _fetch_ahead(ref):
    return fetch_ahead(_runtime.require_task(), ref)


class _Kept:
    """Pieces that are there."""

    def __init__(self, pieces):
        self._pieces = pieces

    def pieces(self):
        return map(dict, self._pieces)

    def ask_ahead(self):
        pass

    def look_ahead(self, rows_used):
        pass

    def close(self):
        pass
