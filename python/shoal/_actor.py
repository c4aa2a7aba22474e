"""The actor that lives in this worker: its instance, and the calls that wait for it.

Calls run one at a time, in the order in which they came; the constructor runs first. The end of the actor comes after the calls that came before it, and is told to
the daemon first, as it is no crash.
"""

from collections import deque

from . import _messages as message
from ._call_server import TERMINATE_METHOD
from ._codec import PayloadReader, payload_header


class Actor:
    def __init__(self, worker):
        self._worker = worker
        self.id = None
        self.name = None
        self.incarnation = 0
        self.class_name = "actor"
        self.instance = None
        self.limit = 1
        self._start = None
        self._is_constructed = False
        self._queue = deque()
        self._busy = None
        self._ends_when_idle = False

    def start(self, header, body):
        if self.id is not None:
            # A head that has taken over does not know what the last one had said.
            if self._is_constructed:
                self._worker.daemon.send(message.ACTOR_STARTED, {"actorId": self.id, "incarnation": self.incarnation})
            return
        self.id = header["actorId"]
        self.incarnation = header["incarnation"]
        self.class_name = header["name"]
        self.name = header.get("actorName")
        reader = PayloadReader(body, self._worker.refs)
        args = reader.next(header["args"])
        self._start = (header, args, [reader.next(dep) for dep in header["deps"]])

    def next(self):
        """Something that may run now: the constructor, or the first call."""
        if self._start is not None:
            return self
        if not self._is_constructed or self._busy is not None:
            return None
        if self._queue:
            job = self._queue.popleft()
            self._busy = job
            return job
        if self._ends_when_idle:
            self._worker.end_actor(None)
        return None

    def enqueue(self, job, facts):
        if facts is not None and facts.get("incarnation") != self.incarnation:
            job.answer_error(RuntimeError("the call was meant for incarnation %s of the actor, this is %d" % (facts.get("incarnation"), self.incarnation)))
            return
        self._queue.append(job)

    def resume(self, job):
        """The running call, a stream, may go on."""
        self._queue.appendleft(job)
        self._busy = None

    def finished(self, job):
        if self._busy is job:
            self._busy = None

    def end_when_idle(self):
        self._ends_when_idle = True
        if self._start is None and not self._is_constructed:
            self._worker.end_actor(None)

    # ---- running

    @property
    def task_name(self):
        return self.class_name

    def run(self):
        """The constructor."""
        header, args, deps = self._start
        self._start = None
        worker = self._worker
        daemon = worker.daemon
        identity = {"actorId": self.id, "incarnation": self.incarnation}
        try:
            worker.use_accelerators(header.get("accelerators"))
            actor_class = worker.targets.load(header["definition"])
            values = worker.decode(args, [worker.decode(dep) for dep in deps])
            instance = actor_class(*values)
        except BaseException as error:
            if isinstance(error, worker.exit_class):
                worker.end_actor("it called exit_actor()")
                return True
            in_band = worker.codec.error_bytes(error, "%s.constructor" % self.class_name)
            failure = payload_header(in_band, (), (), True, None)
            daemon.send(message.ACTOR_START_FAILED, {**identity, "error": failure}, parts=(in_band,))
            return True
        self.instance = instance
        self._is_constructed = True
        daemon.send(message.ACTOR_STARTED, identity)
        return True

    def method(self, name):
        """@raises AttributeError for what the class does not have"""
        if name == TERMINATE_METHOD:
            return self._terminate
        method = None if name.startswith("_") and name != "__call__" else getattr(self.instance, name, None)
        if not callable(method):
            known = [known for known in dir(self.instance) if not known.startswith("_") and callable(getattr(self.instance, known, None))]
            import difflib

            near = difflib.get_close_matches(name, known, 3)
            also = "did you mean %s?" % " or ".join(near) if near else "there are %s" % ", ".join(known) if known else "there is none"
            raise AttributeError("%s has no method %s: %s" % (self.class_name, name, also))
        return getattr(method, "__shoal_function__", method)

    def _terminate(self):
        self._worker.end_after_answer = "it was terminated"
