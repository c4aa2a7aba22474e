"""The actor that lives in this worker: its instance, and the calls that wait for it.

Each concurrency group has a limit and a queue of its own: calls of one begin in the order in which they came, and as many run at once as its limit says, which is one for an actor
that asks for nothing else. The constructor runs first. Methods of a class with coroutines run on the asyncio loop, so that between two lines that do not await nothing else happens;
those of other classes run on threads where several may run at once. The end of the actor comes after the calls that came before it, and is told to the daemon first, as it is no
crash.
"""

from collections import deque

from . import _messages as message
from ._calls import EXITED, TERMINATE_METHOD
from ._codec import PayloadReader, payload_header
from ._keywords import call_with
from ._stacks import Waiter


_DEFAULT_GROUP = "default"
#: The flags of the code of coroutines and of asynchronous generators.
_ASYNCHRONOUS = 0x80 | 0x200


class _Group:
    __slots__ = ("limit", "running", "awaiting", "queue", "remade")

    def __init__(self, limit):
        self.limit = limit
        self.running = 0
        #: Calls that were started and wait for lost arguments: they keep their place, and are no running ones.
        self.awaiting = 0
        self.queue = deque()
        #: Calls that make lost objects again: those that wait may wait for what they make.
        self.remade = deque()


class Actor:
    #: The constructor runs in the main thread.
    wants_thread = False

    def __init__(self, worker):
        self._worker = worker
        self.id = None
        self.name = None
        #: Under which it was placed.
        self.shape = ""
        self.incarnation = 0
        self.class_name = "actor"
        self.instance = None
        #: Its methods run on threads of their own.
        self.is_threaded = False
        self._start = None
        #: What the constructor may use that waited for lost arguments.
        self._slot = None
        self._is_constructed = False
        self._groups = {_DEFAULT_GROUP: _Group(1)}
        #: Streams that waited for their reader: they run already.
        self._resumable = deque()
        self._last = None
        self._is_closed = False
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
        self.shape = header.get("shape") or ""
        for name, limit in header["groups"].items():
            queue = self._groups[name].queue if name in self._groups else deque()
            self._groups[name] = _Group(limit)
            self._groups[name].queue = queue
        reader = PayloadReader(body, self._worker.refs)
        args = reader.next(header["args"])
        self._start = (header, args, [reader.next(dep) for dep in header["deps"]])

    def next(self):
        """Something that may run now: the constructor, or the first call."""
        if self._start is not None:
            return self
        if not self._is_constructed:
            return None
        if self._resumable:
            return self._resumable.popleft()
        is_idle = True
        for group in self._groups.values():
            waiting = group.remade if group.remade or group.awaiting else group.queue
            if waiting and group.running < group.limit:
                group.running += 1
                return waiting.popleft()
            if group.queue or group.remade or group.running or group.awaiting:
                is_idle = False
        if is_idle and self._last is not None:
            last, self._last = self._last, None
            self._is_constructed = False
            return last
        if is_idle and self._ends_when_idle:
            self._worker.end_actor(None)
        return None

    def enqueue(self, job, facts):
        if facts is not None and facts.get("incarnation") != self.incarnation:
            job.answer_error(RuntimeError("the call was meant for incarnation %s of the actor, this is %d" % (facts.get("incarnation"), self.incarnation)))
            return
        if self._is_closed:
            # Calls after the last one are answered by the actor's end.
            return
        if job.target.id == TERMINATE_METHOD:
            self._last = job
            self._is_closed = True
            return
        name = job.target.group or _DEFAULT_GROUP
        group = self._groups.get(name)
        if group is None:
            job.answer_error(TypeError("there is no concurrency group %s: there are %s" % (name, ", ".join(self._groups))))
            return
        job.group = group
        (group.remade if job.is_remade else group.queue).append(job)

    def await_arguments(self, job, recover):
        """A call that was started waits for a lost argument, and lets those run meanwhile that make such again."""
        group = job.group
        group.running -= 1
        group.awaiting += not job.is_remade
        try:
            recover()
            while group.running >= group.limit:
                Waiter(self._worker, lambda: group.running < group.limit, None).run()
        finally:
            group.awaiting -= not job.is_remade
            group.running += 1

    def _await_arguments(self, recover):
        """The constructor has not begun: what makes its lost arguments again may need what the actor would hold meanwhile."""
        worker = self._worker
        self._slot = None
        worker.daemon.send(message.WORKER_PARK, {"left": 0, "isReport": False})
        try:
            recover()
        finally:
            worker.daemon.send(message.WORKER_UNPARK, self.shape)
            Waiter(worker, lambda: self._slot is not None, None).run()
            worker.use_accelerators(*self._slot)

    def slot_granted(self, accelerators=None):
        self._slot = (accelerators,)

    def resume(self, job):
        """A running call, a stream, may go on."""
        self._resumable.append(job)

    def finished(self, job):
        if job.group is not None:
            job.group.running -= 1

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
            values = worker.decode_arguments(args, deps, self._await_arguments)
            instance = call_with(actor_class, values)
            worker.end_copy(None)
        except BaseException as error:
            worker.end_copy(error)
            if isinstance(error, worker.exit_class):
                worker.end_actor(EXITED)
                return True
            in_band = worker.codec.error_bytes(error, "%s.constructor" % self.class_name)
            failure = payload_header(in_band, (), (), True, None)
            daemon.send(message.ACTOR_START_FAILED, {**identity, "error": failure}, parts=(in_band,))
            return True
        self.instance = instance
        at_once = sum(group.limit for group in self._groups.values())
        self.is_threaded = at_once > 1 and not _has_coroutines(actor_class)
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
        self._worker.end_after_answer = {"ending": "terminated", "reason": "it was terminated"}


def _has_coroutines(actor_class):
    """Whether a method of it is one, as it is written."""
    for known in getattr(actor_class, "__mro__", (actor_class,)):
        for member in vars(known).values():
            code = getattr(getattr(member, "__func__", member), "__code__", None)
            if code is not None and code.co_flags & _ASYNCHRONOUS:
                return True
    return False
