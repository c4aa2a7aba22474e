"""The actor in which trials of a function or a class of Python run, one after the other. ``src/tune/processes/python-processes.ts`` is its only caller: ``begin``, then ``next`` until the trial is over.

The events are those of ``src/tune/processes/trial-protocol.ts``. A function runs on a thread of its own, so the driver is answered while it computes; a report waits there until it is answered.
Classes are in ``_class_trial.py``.
"""

import asyncio
import inspect
import os
import threading
import time

from .. import _loop_ends, _ray_modules, _runtime
from .._checkpoint import Checkpoint
from . import _session
from ._class_trial import ClassTrial, Instances
from ._results import exception_of, report_of


class TrialLeft(BaseException):
    """Raised by ``report`` in a trial that has been stopped or paused. No ``Exception``, so that ``except Exception`` lets it pass."""


class TrialActor:
    def __init__(self, place, name, kind):
        # Before the user's file is imported.
        _ray_modules.install(reports="shoal.tune")
        found = _runtime.require().targets.find(place, name)
        if inspect.isclass(found) != (kind == "class"):
            raise TypeError("Cannot tune %s of %s: it is %s: name it by %s" % ((name, place, *(("a function", "python.task"), ("a class", "python.actor"))[inspect.isclass(found)])))
        self._function = found
        self._instances = Instances(found) if kind == "class" else None
        self._trial = None

    async def begin(self, spec):
        if self._instances is None:
            self._trial = Trial(self._function, spec, asyncio.get_running_loop())
        else:
            self._trial = ClassTrial(self._instances, spec)
        event = await self._trial.next(None)
        process = {"pid": os.getpid(), "nodeId": _runtime.require().configuration["nodeId"]}
        return {**event, "process": process, "savesWhenAsked": self._trial.saves_when_asked}

    async def next(self, answer=None):
        return await self._trial.next(answer)

    async def cleanUp(self):  # noqa: N802 -- the name that the actor of TypeScript has
        if self._instances is not None:
            return await self._instances.call(self._instances.clean_up)
        return None


class Trial:
    #: Functions save with their reports.
    saves_when_asked = False

    def __init__(self, function, spec, loop):
        self.context = _session.TuneContext(spec)
        # An undefined value of TypeScript arrives as a false one.
        path = spec.get("checkpoint") or None
        self.checkpoint = None if path is None else Checkpoint(path)
        self._trial_id = spec["trialId"]
        self._loop = loop
        self._event = loop.create_future()
        self._answered = threading.Event()
        self._has_left = False
        self._since = time.monotonic()
        _session.current = self
        threading.Thread(target=self._run, args=(function, spec["config"]), name=spec["trialId"], daemon=True).start()

    async def next(self, answer):
        """Returns the trial's next event. ``answer`` answers the previous report."""
        if answer:
            self._event = self._loop.create_future()
            self._has_left = answer["action"] != "continue"
            self._since = time.monotonic()
            self._answered.set()
        return await self._event

    def report(self, metrics, checkpoint):
        if self._has_left:
            raise TrialLeft()
        event = self._result(metrics)
        if checkpoint is not None:
            event["local"] = checkpoint.path
            event["nodeId"] = _runtime.require().configuration["nodeId"]
        self._answered.clear()
        self._tell(event)
        self._answered.wait()
        if self._has_left:
            raise TrialLeft()

    def _run(self, function, config):
        try:
            value = function(config) if _takes_config(function) else function()
            if inspect.isgenerator(value):
                value = self._consume(value)
            event = {"type": "ended"} if value is None else {**self._result(value), "isLast": True}
            _loop_ends.run(True)
            self._tell({"type": "released"} if self._has_left else event)
        except BaseException as error:
            _loop_ends.run(self._has_left)
            # A function that catches TrialLeft may raise another error because the trial has left.
            if self._has_left:
                self._tell({"type": "released"})
            else:
                self._loop.call_soon_threadsafe(self._event.set_exception, exception_of(error))
        finally:
            if _session.current is self:
                _session.current = None

    def _consume(self, generator):
        try:
            while True:
                try:
                    metrics = next(generator)
                except StopIteration as end:
                    return end.value
                self.report(metrics, None)
        finally:
            generator.close()

    def _result(self, metrics):
        return report_of(metrics, time.monotonic() - self._since, "Trial %s must report a dictionary such as {'loss': 0.5}" % self._trial_id)

    def _tell(self, event):
        self._loop.call_soon_threadsafe(self._event.set_result, event)


def _takes_config(function):
    try:
        return len(inspect.signature(function).parameters) > 0
    except (TypeError, ValueError):
        return True
