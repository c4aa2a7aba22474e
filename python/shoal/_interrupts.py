"""Stops the code of one task, and of no other: the signal of the daemon, and the file by which it meets its call.

PROTOCOL.md, "The interrupt slot of a worker", has the rules that both sides follow: the worker says which call runs before it looks whether that one is to be stopped, and the
daemon the other way round, so that at least one of the two sees the other. Signals of Python run in the main thread, between two steps of its code.
"""

import ctypes
import mmap
import os
import signal
import struct
import threading
import time

from ._limits import BEGUN_MAX, SIGNAL_WITHIN_SECONDS

_CALL_SIZE = 36
_REQUEST_AT = 64
_NOTHING = bytes(_CALL_SIZE)
_NO_REQUEST = bytes(_CALL_SIZE + 1)
_call = struct.Struct("<I32s")
_word = struct.Struct("<I")
#: Pairs of words: the lease of a connection, and the call of the connection that began last.
_BEGUN_AT = 3732
#: Which call runs in a process that tasks share: a flag, the call, and its name.
_SHARED_AT = 4244
_SHARED_NAME_MAX = 120


class TaskInterrupted(KeyboardInterrupt):
    """Raised in a task that was cancelled: like Ctrl-C, it passes ``except Exception`` and runs ``finally``."""


class BegunCalls:
    """Marks the call of one connection that began last. The mark outlives the process, so that its daemon can tell the caller."""

    def __init__(self, interrupts, lease):
        self._interrupts = interrupts
        self._lease = lease
        self._at = None

    def begins(self, call_id):
        """Called before any code of the call runs. Calls begin in the order of sending."""
        if self._at is None:
            self._at = self._interrupts.place_for(self, self._lease, call_id)
        else:
            self._interrupts.write_word(self._at, call_id)

    def place_taken(self):
        self._at = None


class Interrupts:
    """The main thread's part: ``run`` is around the code of a task."""

    def __init__(self, path):
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._slot = mmap.mmap(file, os.fstat(file).st_size)
        finally:
            os.close(file)
        self._begun = [None] * BEGUN_MAX
        self._next_place = 0
        self._running = None
        #: What the slot says of tasks that began while others waited in this process, by their calls.
        self._sharing = {}
        self._thread = None
        self._is_inside = False
        self._has_come = False
        self.was_recursive = False
        #: Whether the signal has stopped a call in this process.
        self.has_stopped_any = False
        #: Kept, as a bound method is a new object each time that it is named.
        self._handler = self._signalled
        self._main_thread = threading.get_ident()
        signal.signal(signal.SIGINT, self._handler)

    @property
    def has_come(self):
        """Whether the call that ran last was stopped."""
        return self._has_come

    def detach(self):
        """In a process that was forked from a worker: the slot is the worker's."""
        self._slot = bytearray(self._slot[:])
        self._running = None
        self.has_stopped_any = False
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def begun_of(self, lease):
        """``lease``: the one that the connection was made for. None for a connection without one, whose calls are not marked."""
        return None if lease is None else BegunCalls(self, lease)

    def place_for(self, calls, lease, call_id):
        place = self._next_place
        self._next_place = (place + 1) % BEGUN_MAX
        if self._begun[place] is not None:
            self._begun[place].place_taken()
        self._begun[place] = calls
        at = _BEGUN_AT + place * 8
        # Never shows the call of one connection with the lease of another.
        self.write_word(at, 0)
        self.write_word(at + 4, call_id)
        self.write_word(at, lease % 2**32)
        return at + 4

    def write_word(self, at, value):
        _word.pack_into(self._slot, at, value)

    def _enter(self, name):
        self._slot[0:_CALL_SIZE] = name
        sharing = self._sharing.get(name)
        if sharing is not None:
            self._slot[_SHARED_AT + 4 : _SHARED_AT + 4 + len(sharing)] = sharing
            self._slot[_SHARED_AT] = 1

    def _leave(self):
        # A forked process that returns here has its own copy (`detach`).
        self._slot[0:_CALL_SIZE] = _NOTHING
        if self._sharing:
            self._slot[_SHARED_AT] = 0

    def run(self, caller, call_id, body, shared_name=None):
        """``shared_name``: how the task is called, where others wait in this process. @raises TaskInterrupted when it was stopped; otherwise what the body raises"""
        if signal.getsignal(signal.SIGINT) is not self._handler and threading.get_ident() == self._main_thread:
            # An earlier task has installed another handler.
            signal.signal(signal.SIGINT, self._handler)
        name = _call.pack(call_id, caller.encode("ascii"))
        self._running = name
        self._thread = threading.get_ident()
        self._has_come = False
        self._is_inside = True
        if shared_name is not None:
            text = shared_name.encode()[:_SHARED_NAME_MAX]
            self._sharing[name] = name + len(text).to_bytes(4, "little") + text
        self._enter(name)
        try:
            return body()
        finally:
            self._is_inside = False
            self._leave()
            self._sharing.pop(name, None)
            slot = self._slot
            if slot[_REQUEST_AT : _REQUEST_AT + _CALL_SIZE] == name:
                self._await_signal(name)

    def pause(self):
        """The task waits: it cannot be stopped by a signal, but hears that it is cancelled. @returns what ``resume`` takes"""
        name = self._running if self._is_inside else None
        if name is None:
            return None
        self._is_inside = False
        self._leave()
        if self._slot[_REQUEST_AT : _REQUEST_AT + _CALL_SIZE] == name:
            self._await_signal(name)
        return name

    def resume(self, name):
        if name is None:
            return
        self._running = name
        self._thread = threading.get_ident()
        self._has_come = False
        self._is_inside = True
        self._enter(name)

    def _await_signal(self, name):
        """The call has ended as it was to be stopped: the signal must not meet the next one."""
        self.was_recursive = self._slot[_REQUEST_AT + _CALL_SIZE] == 1
        end = time.monotonic() + SIGNAL_WITHIN_SECONDS
        while not self._has_come and time.monotonic() < end:
            time.sleep(0.001)
        if self._slot[_REQUEST_AT : _REQUEST_AT + _CALL_SIZE] == name:
            self._slot[_REQUEST_AT : _REQUEST_AT + _CALL_SIZE + 1] = _NO_REQUEST

    def _signalled(self, _number, _frame):
        name = self._running
        if name is None or self._slot[_REQUEST_AT : _REQUEST_AT + _CALL_SIZE] != name:
            # A signal from elsewhere, or one that comes too late: workers do not end by it.
            return
        self._has_come = True
        self.has_stopped_any = True
        if not self._is_inside:
            return
        if self._thread == threading.get_ident():
            raise TaskInterrupted("the task was cancelled")
        raise_in_thread(self._thread, TaskInterrupted)


def raise_in_thread(thread, error_class):
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error_class))


def die_with_parent(parent):
    """The system ends this process when its parent dies, whatever this one is doing; where it cannot, a thread sees to it."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        is_set = libc.prctl(1, signal.SIGKILL, 0, 0, 0) == 0
    except (OSError, AttributeError):
        is_set = False
    if is_set:
        if os.getppid() != parent:
            os._exit(0)
        return

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)

    threading.Thread(target=watch, name="shoal-parent", daemon=True).start()
