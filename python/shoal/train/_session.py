"""``RankSession``: the actor of one rank. The controller in ``src/train`` calls it, step by step: start, prepare, set_up, begin, next_event until the loop has ended, tear_down.

Its methods are coroutines, so the controller is answered while the loop computes. All code of the user's runs on one thread (``_loop_thread.py``), but for uploads that go on beside it (``_uploads.py``). What the loop says to the controller are
events (``_exchange.py``): a loop that reports waits there until the controller has decided on it.
"""

import asyncio
import inspect
import os
import socket
import sys
from functools import partial

from .. import _loop_ends, _runtime
from .._output import mark_now
from .._targets import EnvironmentFault
from .._tracebacks import message_of, traceback_text
from . import _children, _current
from ._context import PreemptionInfo, TrainContext
from ._errors import RankLoopError, install_hint, is_of_communication
from ._exchange import Exchange
from ._frameworks import Framework, framework_named
from ._loop_thread import LoopThread
from ._metrics import plain
from ._rendezvous_port import RendezvousPort
from ._uploads import Uploads


class RankSession:
    def __init__(self):
        self._thread = LoopThread()
        self._port = RendezvousPort()
        self._exchange = None
        self._uploads = None
        self._loop = None
        self._framework = Framework()

    async def start(self, options):
        """Before anything of the user's. @returns what the controller must know to place the rank among the others"""
        _children.end_with_this_process()
        self._exchange = Exchange(asyncio.get_running_loop())
        self._uploads = Uploads()
        worker = _runtime.require()
        return {
            "pid": os.getpid(),
            "hostname": socket.gethostname(),
            "nodeId": worker.configuration["nodeId"],
            "ip": worker.network_host,
            "gpuIds": list(worker.gpus),
            "port": self._port.number,
            "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        }

    async def prepare(self, options):
        """The rank knows its place, and imports the loop."""
        os.environ.update(options["env"])
        for name, value in (options.get("defaultEnv") or {}).items():
            os.environ.setdefault(name, value)
        facts = options["context"]
        _runtime.require().output_name = facts.get("logSource") or "rank %d" % facts["worldRank"]
        mark_now()
        _current.session = _current.Session(TrainContext(facts), self._exchange, self._uploads)
        if facts.get("rayCompatibility") is not False:
            from .. import _ray_modules

            _ray_modules.install(even_if_installed=facts.get("rayCompatibility") is True)
        loop = options.get("loop")
        if loop is not None:
            self._loop = await self._thread.run(lambda: _import_loop(loop))

    async def set_up(self, options):
        """The rendezvous of the framework. May return what other ranks need."""
        self._framework = framework_named(options["framework"])
        return await self._thread.run(lambda: self._framework.set_up(options["options"], self._port, options["timeoutMs"] / 1000))

    async def execute(self, options):
        """A named function of the user's, on the loop's thread."""
        function = _import_loop(options)
        return await self._thread.run(lambda: function(*options.get("args", ())))

    async def begin(self, options):
        """The loop begins."""
        session = _current.session
        session.checkpoint = options.get("checkpoint") or None
        session.reported = [(one["checkpoint"], one["metrics"]) for one in options.get("reported") or ()]
        session.datasets = options.get("datasets") or {}
        config = options.get("config")
        loop = partial(_call, self._loop, config, options.get("folder"))
        self._thread.begin(lambda: self._exchange.tell(_outcome(session, self._framework, loop)))

    async def next_event(self, decision):
        """Returns the loop's next event. ``decision`` answers the previous event."""
        return await self._exchange.next(decision or None)

    async def upload_outcome(self, number):
        """Has a function run beside the loop. Returns where it has put its checkpoint, once it has, or how it failed."""
        try:
            return {"path": str((await self._uploads.outcome(number)).path)}
        except Exception as error:
            return {"error": _described(error)}

    async def notify(self, notice):
        """Tells the loop something that it may ask for; nothing ends by it. A notice of ``preemption``, or of a checkpoint that is ``stored``."""
        if notice["type"] == "preemption":
            _current.session.context._preemption = PreemptionInfo(notice.get("deadlineMs"), notice["preemptedNodeToRanks"], notice.get("reason"))
        else:
            _current.session.uploaded(notice["checkpoint"], notice["metrics"])

    async def ping(self):
        """Answered while the loop computes. @returns the line where its thread is"""
        return self._thread.place()

    async def tear_down(self):
        """After a good end: the framework says goodbye to its other ranks."""
        framework, self._framework = self._framework, Framework()
        try:
            await self._thread.run(framework.tear_down)
        finally:
            _children.end_now()


def _import_loop(loop):
    try:
        return _runtime.require().targets.find(loop["place"], loop["name"])
    except EnvironmentFault as error:
        cause = error.__cause__
        # Where the module that was named is not found, it need not be a package.
        is_named = isinstance(cause, ModuleNotFoundError) and cause.name and (loop["place"] + ".").startswith(cause.name + ".")
        hint = " " + error.hint if is_named else install_hint(cause) or " " + error.hint
        raise RankLoopError("Cannot import the loop %s of %s: %s.%s" % (loop["name"], loop["place"], error, hint)) from error
    except (AttributeError, FileNotFoundError, ImportError, SyntaxError) as error:
        raise RankLoopError("Cannot import the loop %s of %s: %s" % (loop["name"], loop["place"], error)) from error


def _outcome(session, framework, loop):
    """Runs the loop to its end. @returns the event that tells how it has ended"""
    event = _ended(session, framework, loop)
    _loop_ends.run(event["type"] != "failed")
    return event


def _ended(session, framework, loop):
    try:
        framework.enter()
        value = loop()
        try:
            value = plain(value, "the value that the loop returned")
        except TypeError:
            # A return value without a plain form is dropped: results to keep are reported.
            value = None
        return {"type": "finished", "value": value}
    except SystemExit as error:
        if not session.is_stopped and error.code not in (None, 0):
            return _failed(error)
        return {"type": "stopped"} if session.is_stopped else {"type": "finished", "value": None}
    except BaseException as error:
        # A loop that catches StopLoop may raise another error in turn.
        return {"type": "stopped"} if session.is_stopped else _failed(error)
    finally:
        framework.leave()
        sys.stdout.flush()
        sys.stderr.flush()


def _call(loop, config, folder):
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
    return loop(config or {}) if _takes_config(loop) else loop()


def _failed(error):
    return {"type": "failed", "error": _described(error), "cause": "communication" if is_of_communication(error) else "user"}


def _described(error):
    hint = install_hint(error)
    message = "%s.%s" % (message_of(error), hint) if hint else message_of(error)
    return {"type": type(error).__qualname__, "message": message, "traceback": traceback_text(error)}


def _takes_config(loop):
    try:
        parameters = inspect.signature(loop).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.VAR_POSITIONAL) for parameter in parameters)
