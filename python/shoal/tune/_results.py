"""Messages of a trial to the driver: results with values that JSON has a form for, and errors. For functions (``_trial.py``) and classes (``_class_trial.py``)."""

import math
import time


def report_of(metrics, elapsed, demand):
    """The event of a report. ``elapsed`` are seconds; ``demand`` says what is needed, where ``metrics`` are no dictionary."""
    if not isinstance(metrics, dict):
        raise TypeError("%s: received %r" % (demand, metrics))
    return {"type": "report", "metrics": plain(metrics, ""), "elapsedMs": elapsed * 1000, "timestampMs": time.time() * 1000}


def exception_of(error):
    # A coroutine may not raise StopIteration, and SystemExit would end the worker.
    return error if isinstance(error, Exception) and not isinstance(error, StopIteration) else RuntimeError("%s: %s" % (type(error).__name__, error))


def _name(name, action):
    if not isinstance(name, str):
        raise TypeError("Cannot %s: the names of values are text: received %r" % (action, name))
    return name


def plain(value, path, action="report"):
    """Converts a value to one with a form in JSON. Numbers of NumPy and torch become numbers."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, dict):
        return {_name(name, action): plain(item, "%s/%s" % (path, name) if path else name, action) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, "%s[%d]" % (path, i), action) for i, item in enumerate(value)]
    item = getattr(value, "item", None)
    if callable(item) and math.prod(getattr(value, "shape", (0,))) == 1:
        return plain(item(), path, action)
    raise TypeError("Cannot %s: %s must be a value of JSON: received %r" % (action, path, value))
