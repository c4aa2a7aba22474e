"""Trials of a class, one after the other in the actor of ``_trial.py``: ``Instances`` has the instance and its thread, ``ClassTrial`` makes the events of one trial of its steps.

All methods of an instance run on one thread, as some frameworks keep state by thread; the driver is answered while they compute. The rules are those of ``ClassTrial`` in
``src/tune/processes/trial-loop.ts``: the instance is kept for the next trial where ``reset_config`` returns True.
"""

import asyncio
import contextlib
import copy
import json
import os
import platform
import queue
import shutil
import sys
import tempfile
import threading
import time

from .. import _loop_ends, _runtime
from .._checkpoint import Checkpoint
from . import _session
from ._results import exception_of, plain, report_of
from ._trainable import Trainable

#: What ``save_checkpoint`` returned, where that was a dictionary.
_DICTIONARY = "_dict_checkpoint.json"


class Instances:
    """The instance of a class, which outlives its trial where ``reset_config`` allows it, and the thread on which all its methods run."""

    def __init__(self, type):
        self.type = type
        self.instance = None
        #: The last trial of the instance.
        self.trial = None
        #: The folder of the last checkpoint. The driver has copied it when it asks for something else.
        self.saved = None
        if hasattr(type, "default_resource_request"):
            print("shoal tune: default_resource_request of %s is not called: withResources, or options of python.actor, say what a trial needs" % type.__name__, file=sys.stderr)
        self._calls = queue.SimpleQueue()
        threading.Thread(target=self._run, name=type.__name__, daemon=True).start()

    async def call(self, function, *args):
        """Calls a function on the thread of the instance."""
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        self._calls.put((function, args, loop, answer))
        return await answer

    def _run(self):
        while True:
            function, args, loop, answer = self._calls.get()
            self._drop_saved()
            try:
                value = function(*args)
            except BaseException as error:
                loop.call_soon_threadsafe(_settle, answer.set_exception, answer, exception_of(error))
            else:
                loop.call_soon_threadsafe(_settle, answer.set_result, answer, value)

    def make_room(self, config):
        """Ends the instance of the last trial, unless it takes the new configuration. Returns what its ``cleanup`` raised."""
        before = self.instance
        reset = getattr(before, "reset_config", None)
        if reset is not None:
            config = copy.deepcopy(config)
            has_config = isinstance(before, Trainable)
            if has_config:
                own, before.config = before.config, config
            if reset(config) is True:
                return None
            if has_config:
                before.config = own
        return self.clean_up()

    def instance_for(self, trial, config):
        """The instance for a trial: the last one where that is left, else a new one."""
        self.trial = trial
        if self.instance is not None:
            return self.instance
        config = copy.deepcopy(config)
        if issubclass(self.type, Trainable):
            self.instance = self.type(config=config, storage=None)
            return self.instance
        self.instance = self.type()
        setup = getattr(self.instance, "setup", None)
        if setup is not None:
            setup(config)
        return self.instance

    def clean_up(self):
        """Ends the instance, and what has to be ended with it. Returns what its ``cleanup`` raised: its trial has ended, and no other is to blame."""
        instance, self.instance = self.instance, None
        if instance is None:
            return None
        # The next trial may have begun already; the instance still belongs to the previous one.
        following, _session.current = _session.current, self.trial
        try:
            cleanup = getattr(instance, "cleanup", None)
            if cleanup is not None:
                cleanup()
            return None
        except BaseException as error:
            return "cleanup() after trial %s failed: %r" % (self.trial.context.get_trial_id(), error)
        finally:
            _session.current = following
            _loop_ends.run(True)

    def _drop_saved(self):
        folder, self.saved = self.saved, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


class ClassTrial:
    def __init__(self, instances, spec):
        self.context = _session.TuneContext(spec)
        # An undefined value of TypeScript arrives as a false one.
        path = spec.get("checkpoint") or None
        self.checkpoint = None if path is None else Checkpoint(path)
        self._spec = spec
        self._instances = instances
        self._instance = None
        self._iteration = spec["iteration"]
        self._time_total = spec["timeTotalMs"]
        self._is_save_due = False

    @property
    def saves_when_asked(self):
        return self._method("save_checkpoint") is not None

    async def next(self, answer):
        """Returns the trial's next event. ``answer`` answers the previous report."""
        return await self._instances.call(self._next, answer)

    def report(self, metrics, checkpoint):
        raise RuntimeError("Cannot report in a class: return the metrics from step()")

    def _next(self, answer):
        try:
            return self._event_after(answer or {})
        except BaseException:
            # The driver ends the process of an instance that has failed.
            _loop_ends.run(False)
            raise

    def _event_after(self, answer):
        if self._instance is None:
            _session.current = self
            failure = self._instances.make_room(self._spec["config"])
            if failure is not None:
                return {"cleanupFailure": failure}
            self._begin()
        action = answer.get("action", "continue")
        if action != "continue":
            saved = self._save() if action == "pause" or self._spec["checkpointAtEnd"] else None
            return {"type": "released", **(saved or {})}
        if self._is_save_due or answer.get("save"):
            self._is_save_due = False
            saved = self._save()
            if saved is not None:
                return {"type": "saved", **saved}
        return self._step()

    def _begin(self):
        type = self._instances.type
        if any(base.__module__.partition(".")[0] == "ray" for base in type.__mro__):
            raise TypeError("Cannot run %s: its base is of the Ray that this environment has installed: derive it from shoal.tune.Trainable, or leave Ray out" % type.__name__)
        if not callable(getattr(type, "step", None)):
            raise TypeError("Cannot run %s: a class of Tune has a method step()" % type.__name__)
        self._instance = self._instances.instance_for(self, self._spec["config"])
        self._count()
        if self.checkpoint is None:
            return
        load = self._method("load_checkpoint")
        if load is None:
            raise TypeError("Trial %s cannot go on from its checkpoint: its class has no load_checkpoint(checkpoint)" % self._spec["trialId"])
        with self.checkpoint.as_directory() as folder:
            saved = folder
            with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, _DICTIONARY), encoding="utf-8") as file:
                saved = json.load(file)
            load(saved)

    def _step(self):
        since = time.monotonic()
        returned = self._instance.step()
        event = report_of(returned, time.monotonic() - since, "Trial %s must return a dictionary such as {'loss': 0.5} from step()" % self._spec["trialId"])
        self._iteration += 1
        self._time_total += event["elapsedMs"]
        self._count()
        frequency = self._spec["checkpointFrequency"]
        self._is_save_due = frequency > 0 and self._iteration % frequency == 0
        log = self._method("log_result")
        if log is not None:
            log(self._result(event))
        return event

    def _result(self, event):
        """A result with the automatic keys, by Ray's names."""
        return {
            "done": False,
            **event["metrics"],
            "trial_id": self._spec["trialId"],
            "training_iteration": self._iteration,
            "time_this_iter_s": event["elapsedMs"] / 1000,
            "time_total_s": self._time_total / 1000,
            "timestamp": int(event["timestampMs"] / 1000),
            "pid": os.getpid(),
            "hostname": platform.node(),
            "config": self._spec["config"],
        }

    def _save(self):
        """Returns where the checkpoint is, or None where the class saves nothing."""
        save = self._method("save_checkpoint")
        if save is None:
            return None
        folder = self._instances.saved = tempfile.mkdtemp(prefix="shoal-tune-")
        returned = save(folder)
        if isinstance(returned, dict):
            text = json.dumps(plain(returned, "", "save trial %s by the dictionary of save_checkpoint, as others belong into files of its folder" % self._spec["trialId"]))
            with open(os.path.join(folder, _DICTIONARY), "w", encoding="utf-8") as file:
                file.write(text)
        elif returned is not None and not _is_same(returned, folder):
            raise TypeError("Cannot save trial %s: save_checkpoint(checkpoint_dir) writes into the folder, or returns a dictionary: received %r" % (self._spec["trialId"], returned))
        return {"local": folder, "nodeId": _runtime.require().configuration["nodeId"]}

    def _count(self):
        if isinstance(self._instance, Trainable):
            self._instance._iteration = self._iteration

    def _method(self, name):
        return getattr(self._instance, name, None)


def _is_same(path, folder):
    return isinstance(path, (str, os.PathLike)) and os.path.realpath(path) == os.path.realpath(folder)


def _settle(settle, answer, value):
    if not answer.done():
        settle(value)
