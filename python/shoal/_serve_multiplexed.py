"""``shoal.serve.multiplexed``: one replica serves many models, of which it keeps the latest few.

The rules are those of `src/serve/replica/multiplexed.ts`: the model that was asked for longest ago makes way, calls for one that is being loaded share the load, and where all
places are being loaded the next one waits. The TypeScript half of the replica passes on which models are here, so that routers prefer the replica for them.
"""

import asyncio
import functools
import inspect
import time
from collections import OrderedDict

from . import _serve_context
from ._serve_metrics import Counter, Gauge, Histogram


def multiplexed(function=None, *, max_num_models_per_replica=3):
    """Makes a coroutine that loads a model by its id into one that loads each at most once for as long as it is kept.

    Without an id it gives the model that the request names. A model that makes way is let go of, and ends as objects do, by ``__del__``.

    :raises TypeError: for a function that is no coroutine
    """
    if not isinstance(max_num_models_per_replica, int) or max_num_models_per_replica < 1:
        raise ValueError("Cannot multiplex: max_num_models_per_replica is a whole number of at least 1: received %r" % (max_num_models_per_replica,))
    if function is None:
        return functools.partial(multiplexed, max_num_models_per_replica=max_num_models_per_replica)
    if not inspect.iscoroutinefunction(function):
        raise TypeError("Cannot multiplex %s: it is not written with async def" % getattr(function, "__name__", function))
    name = "_shoal_models_%s" % function.__name__

    @functools.wraps(function)
    async def model(self, model_id=None):
        cache = self.__dict__.get(name)
        if cache is None:
            cache = self.__dict__[name] = _Models(functools.partial(function, self), max_num_models_per_replica)
        wanted = _serve_context.get_multiplexed_model_id() if model_id is None else model_id
        if not isinstance(wanted, str) or wanted == "":
            raise TypeError("Cannot give a model: its id is needed, by the call, by handle.options(multiplexed_model_id=...) or by the header serve_multiplexed_model_id: received %r" % (wanted,))
        return await cache.get(wanted)

    return model


class _Models:
    def __init__(self, load, most):
        self._load = load
        self._most = most
        #: Tasks that load or have loaded a model; the one that was asked for longest ago is the first.
        self._places = OrderedDict()
        self._changed = asyncio.Event()
        self._metrics = _ModelMetrics()

    async def get(self, model_id):
        self._metrics.requests.inc()
        while True:
            place = self._places.get(model_id)
            if place is None and self._make_room():
                place = self._begin(model_id)
            if place is not None:
                self._places.move_to_end(model_id)
                # A request that is cancelled does not end the load for others.
                return await asyncio.shield(place)
            self._changed.clear()
            await self._changed.wait()

    def _make_room(self):
        if len(self._places) < self._most:
            return True
        for model_id, place in list(self._places.items()):
            if place.done():
                del self._places[model_id]
                began = time.perf_counter()
                # Drops the last reference, unless a request still uses the model.
                place = None
                self._metrics.unloaded(model_id, (time.perf_counter() - began) * 1000)
                return True
        return False

    def _begin(self, model_id):
        began = time.perf_counter()
        place = self._places[model_id] = asyncio.ensure_future(self._load(model_id))

        def loaded(_place):
            if place.cancelled() or place.exception() is not None:
                self._places.pop(model_id, None)
            else:
                self._metrics.loaded(model_id, (time.perf_counter() - began) * 1000)
            self._tell()
            self._changed.set()

        place.add_done_callback(loaded)
        return place

    def _tell(self):
        models = [model_id for model_id, place in self._places.items() if place.done()]
        self._metrics.count.set(len(models))
        _serve_context.tell_models(models)


class _ModelMetrics:
    def __init__(self):
        self.requests = Counter("serve_multiplexed_get_model_requests_counter", "Requests for a model")
        self.count = Gauge("serve_num_multiplexed_models", "Models that a replica has")
        self._loads = Counter("serve_multiplexed_models_load_counter", "Models that were loaded")
        self._unloads = Counter("serve_multiplexed_models_unload_counter", "Models that made way for others")
        self._load_times = Histogram("serve_multiplexed_model_load_latency_ms", "Time that the load of a model took")
        self._unload_times = Histogram("serve_multiplexed_model_unload_latency_ms", "Time that the disposal of a model took")
        self._registered = Gauge("serve_registered_multiplexed_model_id", "1 for a model that a replica has, 0 for one that it had", ("model_id",))

    def loaded(self, model_id, time_ms):
        self._loads.inc()
        self._load_times.observe(time_ms)
        self._registered.set(1, {"model_id": model_id})

    def unloaded(self, model_id, time_ms):
        self._unloads.inc()
        self._unload_times.observe(time_ms)
        self._registered.set(0, {"model_id": model_id})
