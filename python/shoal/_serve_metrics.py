"""``shoal.serve.metrics``: counters, gauges and histograms of a deployment in Python, and Serve's own of batches, models and the event loop, under Ray's names.

The TypeScript half of the replica asks for them when `/metrics` is read, and counts as it does (`src/serve/metrics/registry.ts`): each has the tags ``application``, ``deployment``
and ``replica`` besides its own, and above a number of series further ones are counted together.
"""

import asyncio
import re
import threading

from . import _serve_context
from ._limits import LOOP_EVERY_SECONDS, SERIES_MAX

_OWN_KEYS = ("application", "deployment", "replica")
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
_KEY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
_OTHER = "other"
LATENCIES_MS = (1, 2, 5, 10, 20, 50, 100, 200, 300, 400, 500, 1000, 2000, 5000, 10_000, 60_000, 120_000, 300_000, 600_000)

_registry = {}
#: Methods on threads count, too.
_lock = threading.Lock()


class _Metric:
    kind = ""

    def __init__(self, name, description="", tag_keys=(), boundaries=()):
        if not isinstance(name, str) or not _NAME.match(name):
            raise TypeError('Cannot make a metric: its name consists of letters, digits, "_" and ":": received %r' % (name,))
        keys = tuple(tag_keys or ())
        for key in keys:
            if not isinstance(key, str) or not _KEY.match(key):
                raise TypeError('Cannot make metric %s: the name of a tag consists of letters, digits and "_": received %r' % (name, key))
        self._name = name
        self._keys = keys
        self._defaults = {}
        with _lock:
            known = _registry.setdefault(name, {"kind": self.kind, "keys": keys, "description": description or "", "boundaries": list(boundaries), "series": {}})
        if known["kind"] != self.kind or known["keys"] != keys:
            raise TypeError("Cannot make metric %s: there is one with other tags or of another kind in this process" % name)
        self._boundaries = known["boundaries"]
        self._all = known["series"]

    def set_default_tags(self, tags):
        """Tags for all values that do not say otherwise."""
        self._defaults = dict(tags)
        return self

    def _series(self, tags):
        given = dict(self._defaults, **(tags or {}))
        for key in given:
            if key not in self._keys:
                raise TypeError("Cannot record metric %s: it has no tag %r: there are %s" % (self._name, key, ", ".join(self._keys) or "none"))
        for key in self._keys:
            if not isinstance(given.get(key), str):
                raise TypeError("Cannot record metric %s: a text is needed for tag %s: received %r" % (self._name, key, given.get(key)))
        values = _serve_context.names() + tuple(given[key] for key in self._keys)
        if values not in self._all and len(self._all) >= SERIES_MAX:
            values = (_OTHER,) * len(values)
        return self._all.setdefault(values, {"value": 0, "counts": [0] * (len(self._boundaries) + 1) if self.kind == "histogram" else []})


class Counter(_Metric):
    """A number that only grows."""

    kind = "counter"

    def inc(self, value=1.0, tags=None):
        """:raises ValueError: for what is not above 0"""
        if not value > 0:
            raise ValueError("Cannot increase counter %s: an amount above 0 is needed: received %r" % (self._name, value))
        with _lock:
            self._series(tags)["value"] += value


class Gauge(_Metric):
    """A number that is what it was set to."""

    kind = "gauge"

    def set(self, value, tags=None):
        with _lock:
            self._series(tags)["value"] = value


class Histogram(_Metric):
    """How often values were how large."""

    kind = "histogram"

    def __init__(self, name, description="", boundaries=LATENCIES_MS, tag_keys=()):
        given = list(boundaries)
        if not given or any(not isinstance(known, (int, float)) for known in given) or sorted(set(given)) != given:
            raise TypeError("Cannot make metric %s: boundaries are numbers that grow: received %r" % (name, boundaries))
        _Metric.__init__(self, name, description, tag_keys, given)

    def observe(self, value, tags=None):
        with _lock:
            series = self._series(tags)
            series["value"] += value
            place = 0
            while place < len(self._boundaries) and value > self._boundaries[place]:
                place += 1
            series["counts"][place] += 1


def snapshots():
    """All metrics of this process, as the TypeScript half knows them."""
    with _lock:
        return [
            {
                "kind": known["kind"],
                "name": name,
                "description": known["description"],
                "tagKeys": list(_OWN_KEYS + known["keys"]),
                "boundaries": known["boundaries"],
                "series": [{"tags": list(tags), "value": series["value"], "counts": list(series["counts"])} for tags, series in known["series"].items()],
            }
            for name, known in _registry.items()
        ]


class BatchMetrics:
    """Of one batched function."""

    def __init__(self, function_name):
        keys = ("function_name",)
        self._tags = {"function_name": function_name}
        self._waits = Histogram("serve_batch_wait_time_ms", "Time that an item waited for its batch", tag_keys=keys)
        self._runs = Histogram("serve_batch_execution_time_ms", "Time that a batch took", tag_keys=keys)
        self._queue = Gauge("serve_batch_queue_length", "Items that wait for a batch", keys)
        self._used = Histogram("serve_batch_utilization_percent", "Items of a batch, of those that it may have", (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 100), keys)
        self._sizes = Histogram("serve_actual_batch_size", "Items of a batch", (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), keys)
        self._count = Counter("serve_batches_processed", "Batches that have run", keys)

    def waiting(self, count):
        self._queue.set(count, self._tags)

    def begun(self, waits_ms, most):
        for wait_ms in waits_ms:
            self._waits.observe(wait_ms, self._tags)
        self._sizes.observe(len(waits_ms), self._tags)
        self._used.observe(100 * len(waits_ms) / most, self._tags)

    def ended(self, time_ms):
        self._runs.observe(time_ms, self._tags)
        self._count.inc(1, self._tags)


async def watch_loop():
    """Measures by how much the event loop is late, for ever: code that computes in a coroutine holds up all others."""
    keys = ("component", "loop_type")
    tags = {"component": "replica", "loop_type": "user_code"}
    late = Histogram("serve_event_loop_scheduling_latency_ms", "By how much the event loop was late", (1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000), keys)
    rounds = Counter("serve_event_loop_monitoring_iterations", "How often the lateness of the event loop was measured", keys)
    tasks = Gauge("serve_event_loop_tasks", "Tasks of the event loop", keys)
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LOOP_EVERY_SECONDS
        tasks.set(len(asyncio.all_tasks(loop)), tags)
        await asyncio.sleep(LOOP_EVERY_SECONDS)
        late.observe(max(0.0, (loop.time() - due) * 1000), tags)
        rounds.inc(1, tags)
