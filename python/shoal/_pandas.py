"""How frames and series of pandas travel: as Arrow data with what pandas must know to make the same of them.

Decides which frames Arrow keeps exactly; all others have a pickle beside the Arrow data, which Python reads and JavaScript passes on. Nothing here imports pandas: a frame can only be there
when somebody has.
"""

import sys
from datetime import date, timezone

from ._encode import EncodeError

_FRAME_FACTS = b"shoal"
#: Types of columns that come back as they were; ``object`` where all of it is of one of these types.
_KINDS = "biuf"
_UNITS = ("s", "ms", "us", "ns")
_OBJECTS = (str, bytes, date)


def loaded_pandas(value):
    """pandas, if the value is a frame or a series."""
    pandas = sys.modules.get("pandas")
    frame = None if pandas is None else getattr(pandas, "DataFrame", None)
    return pandas if frame is not None and isinstance(value, (frame, pandas.Series)) else None


def reduce_frame(value, pandas, is_exact):
    """A table of Arrow, with what pandas must know to make the same of it where Arrow keeps all of it."""
    import json

    try:
        import pyarrow
    except ImportError:
        raise EncodeError(value, "frames of pandas travel as Arrow data, and pyarrow is not installed: pip install pyarrow") from None
    is_series = isinstance(value, pandas.Series)
    facts = {"pandas": "Series" if is_series else "DataFrame"}
    frame = value
    if is_series:
        if value.name is not None and type(value.name) not in (str, int, float):
            raise EncodeError(value, "the name of a series is text or a number: send value.rename(...)")
        facts["name"] = value.name
        frame = value.to_frame(name="values")
    elif type(value.columns) is pandas.RangeIndex:
        facts["columns"] = "range"
    frequency = getattr(value.index, "freqstr", None)
    if frequency is not None and hasattr(value.index, "tz"):
        facts["freq"] = frequency
    try:
        table = pyarrow.Table.from_pandas(frame)
    except (pyarrow.ArrowException, ValueError, TypeError) as error:
        raise _frame_error(value, frame, pyarrow, error) from None
    if not is_exact:
        # Python reads the pickle beside it, and need not make a frame of this first.
        return table
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), _FRAME_FACTS: json.dumps(facts).encode()})
    return table


def _frame_error(value, frame, pyarrow, error):
    remedy = "convert the column with astype, or send value.to_dict()"
    if frame.columns.is_unique:
        for name in frame.columns:
            try:
                pyarrow.array(frame[name], from_pandas=True)
            except (pyarrow.ArrowException, ValueError, TypeError) as problem:
                failed = EncodeError(frame[name], "Arrow has no type for what is in this column (%s): %s" % (_first_line(problem), remedy))
                failed.steps.append("[%r]" % (name,))
                return failed
    return EncodeError(value, "it has no form in Arrow (%s)" % _first_line(error))


def _first_line(error):
    return str(error).split("\n", 1)[0][:200]


def revive_frame(table):
    """What pandas had sent; a table of anybody else as it is."""
    facts = (table.schema.metadata or {}).get(_FRAME_FACTS)
    if facts is None:
        return table
    import json

    known = json.loads(facts)
    try:
        # Copied, because pages of the store are read-only.
        frame = table.to_pandas().copy()
    except ImportError:
        return table
    if known.get("freq") is not None:
        frame.index.freq = known["freq"]
    if known.get("columns") == "range":
        frame.columns = range(len(frame.columns))
    if known["pandas"] == "Series":
        return frame["values"].rename(known["name"])
    return frame


# ---- what Arrow keeps


def frame_is_exact(value, pandas):
    """Whether Arrow data say all of a frame or series: its types, its index, the names of its columns."""
    if type(value) not in (pandas.DataFrame, pandas.Series) or value.attrs or not value.flags.allows_duplicate_labels:
        return False
    if not _index_is_exact(value.index, pandas):
        return False
    if isinstance(value, pandas.Series):
        return (value.name is None or type(value.name) in (str, int, float)) and _column_is_exact(value, pandas)
    columns = value.columns
    if type(columns) is pandas.RangeIndex:
        if columns.start != 0 or columns.step != 1 or columns.name is not None or len(columns) == 0:
            return False
    elif type(columns) is not pandas.Index or columns.name is not None or not columns.is_unique or not _is_all(columns, (str,)) or len(columns) == 0:
        return False
    return all(_column_is_exact(value.iloc[:, place], pandas) for place in range(len(columns)))


def _index_is_exact(index, pandas):
    if not all(name is None or type(name) is str for name in index.names):
        return False
    if type(index) is pandas.RangeIndex:
        return True
    if type(index) is pandas.MultiIndex:
        return all(type(level) is pandas.Index and _index_is_exact(level, pandas) for level in index.levels)
    if type(index) is pandas.DatetimeIndex:
        frequency = index.freq
        return (frequency is None or pandas.tseries.frequencies.to_offset(index.freqstr) == frequency) and _column_is_exact(index, pandas)
    return type(index) is pandas.Index and index.dtype.name != "bool" and _column_is_exact(index, pandas)


def _column_is_exact(column, pandas):
    dtype = column.dtype
    kind = getattr(dtype, "kind", "")
    name = type(dtype).__name__
    if name == "DatetimeTZDtype":
        return dtype.unit in _UNITS and _zone_is_named(dtype.tz)
    if name == "CategoricalDtype":
        categories = dtype.categories
        return type(categories) is pandas.Index and _column_is_exact(categories, pandas)
    if name == "StringDtype":
        return True
    if isinstance(dtype, pandas.api.extensions.ExtensionDtype):
        return type(dtype).__module__.startswith("pandas.core.arrays") and name in _NULLABLE
    if kind == "O":
        return _is_of_one_type(column)
    if not dtype.isnative:
        return False
    if kind in "mM":
        return dtype.name.split("[")[1][:-1] in _UNITS
    return kind in _KINDS and dtype.name not in ("float16", "longdouble", "float128")


_NULLABLE = frozenset(["BooleanDtype", "Float32Dtype", "Float64Dtype"] + ["%sInt%dDtype" % (sign, bits) for sign in ("", "U") for bits in (8, 16, 32, 64)])


def _zone_is_named(zone):
    """Zones of ``zoneinfo`` by their key; those of other libraries would arrive as such ones."""
    return zone is timezone.utc or type(zone).__module__ == "zoneinfo" and zone.key is not None


def _is_of_one_type(column):
    kinds = set(map(type, column))
    kinds.discard(type(None))
    return len(kinds) == 1 and kinds.pop() in _OBJECTS


def _is_all(items, kinds):
    return all(type(item) in kinds for item in items)
