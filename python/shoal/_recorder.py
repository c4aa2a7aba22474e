"""Records the calls of this process in shared memory, which its daemon reads: see src/runtime/observe/observation-layout.ts.

Running calls are in slots, ended ones in a ring and in counters by function. A call costs no message. Everything is bounded: more
functions, callers or running calls are counted together.
"""

import json
import mmap
import os
import struct
import time
import traceback

_MAGIC = 0x53484F42
_VERSION = 2
_SLOTS = 256
_FUNCTIONS = 1024
_CALLERS = 1024
_OUTCOMES = 6
_CALL_BYTES = 64
_DEFINITION_BYTES = 256 * 1024
_RING_SIZE = 16_384
_SLOTS_AT = 256
_COUNTERS_AT = _SLOTS_AT + _SLOTS * _CALL_BYTES
_DEFINITIONS_AT = _COUNTERS_AT + _FUNCTIONS * _OUTCOMES * 4
_RING_AT = _DEFINITIONS_AT + _DEFINITION_BYTES
_LENGTH = _RING_AT + _RING_SIZE * _CALL_BYTES
#: Places in the header.
_VERSION_AT, _DEFINITION_BYTES_AT, _RING_SIZE_AT, _OVERFLOW_AT = 4, 8, 12, 16
_ORIGIN_AT, _WRITTEN_AT = 32, 40

_RUNNING, FINISHED, FAILED, CANCELLED = 1, 2, 3, 4

#: State, function, call id, caller, start, end, number of the record, caller and call id of the parent, attempt.
_CALL = struct.Struct("=IIIIddIIII")
_WORD = struct.Struct("=I")
_TIME = struct.Struct("=d")

_NAME_CHARACTERS = 200
_FAILURES_A_SECOND = 100
_MESSAGE_CHARACTERS = 4096
_STACK_CHARACTERS = 8192


def new_recorder(folder, process_id):
    """Returns None where the system refuses a file. Calls run without a record then."""
    try:
        descriptor = os.open(os.path.join(folder, "obs-%s" % process_id), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, _LENGTH)
            return Recorder(mmap.mmap(descriptor, _LENGTH))
        finally:
            os.close(descriptor)
    except OSError:
        return None


class Recorder:
    def __init__(self, memory):
        """``memory``: zeros, of the length of an observation file."""
        self._memory = memory
        self._process = os.getpid()
        self._free = list(range(_SLOTS - 1, -1, -1))
        self._functions = {}
        self._callers = {}
        self._written = 0
        self._definition_bytes = 0
        self._overflow = 0
        self._failures_left = _FAILURES_A_SECOND
        self._failures_since = 0.0
        _WORD.pack_into(memory, _VERSION_AT, _VERSION)
        _WORD.pack_into(memory, _RING_SIZE_AT, _RING_SIZE)
        _TIME.pack_into(memory, _ORIGIN_AT, (time.time() - time.perf_counter()) * 1000)
        # Last: from now on the file is whole.
        _WORD.pack_into(memory, 0, _MAGIC)

    @property
    def is_own(self):
        """False in a process that the user's code has forked, which shares the memory."""
        return os.getpid() == self._process

    def caller_number(self, prefix):
        number = self._callers.get(prefix)
        if number is None:
            number = len(self._callers) + 1
            if number >= _CALLERS or not self._define(["c", number, prefix]):
                return 0
            self._callers[prefix] = number
        return number

    def function_number(self, name, actor):
        key = (name, actor)
        number = self._functions.get(key)
        if number is None:
            number = len(self._functions) + 1
            if number >= _FUNCTIONS or not self._define(["f", number, name[:_NAME_CHARACTERS], actor or ""]):
                return 0
            self._functions[key] = number
        return number

    def begins(self, function, caller, call_id, start, parent=(0, 0), attempt=0):
        """``start``: of ``time.perf_counter()``. Returns what ``ends`` wants."""
        if not self._free:
            self._overflow += 1
            _WORD.pack_into(self._memory, _OVERFLOW_AT, self._overflow)
            return -1, function
        slot = self._free.pop()
        _CALL.pack_into(
            self._memory, _SLOTS_AT + slot * _CALL_BYTES, _RUNNING, function, call_id, caller, start * 1000, 0.0, 0, parent[0], parent[1], attempt
        )
        return slot, function

    def ends(self, begun, outcome):
        memory = self._memory
        slot, function = begun
        at = _COUNTERS_AT + (function * _OUTCOMES + outcome) * 4
        _WORD.pack_into(memory, at, (_WORD.unpack_from(memory, at)[0] + 1) & 0xFFFFFFFF)
        if slot < 0:
            self.forget(begun)
            return
        from_ = _SLOTS_AT + slot * _CALL_BYTES
        _, _, call_id, caller, start, _, _, parent_caller, parent_id, attempt = _CALL.unpack_from(memory, from_)
        number = self._written
        _CALL.pack_into(
            memory,
            _RING_AT + number % _RING_SIZE * _CALL_BYTES,
            outcome,
            function,
            call_id,
            caller,
            start,
            time.perf_counter() * 1000,
            number & 0xFFFFFFFF,
            parent_caller,
            parent_id,
            attempt,
        )
        self._written = number + 1
        _TIME.pack_into(memory, _WRITTEN_AT, self._written)
        self.forget(begun)

    def forget(self, begun):
        """Gives a slot back without a record: the call goes to another process."""
        slot = begun[0]
        if slot < 0:
            self._overflow -= 1
            _WORD.pack_into(self._memory, _OVERFLOW_AT, self._overflow)
            return
        _WORD.pack_into(self._memory, _SLOTS_AT + slot * _CALL_BYTES, 0)
        self._free.append(slot)

    def failure_of(self, caller, call_id, error):
        """Returns the text of an error for the daemon, or None beyond 100 a second."""
        now = time.monotonic()
        if now - self._failures_since > 1:
            self._failures_since = now
            self._failures_left = _FAILURES_A_SECOND
        if self._failures_left == 0:
            return None
        self._failures_left -= 1
        try:
            message = str(error)
            stack = "".join(traceback.format_exception(error))
        except BaseException:  # an error may do anything when it is looked at
            message, stack = "its error cannot be read", ""
        kind = type(error).__name__
        return {
            "caller": caller,
            "callId": call_id,
            "type": kind[:_NAME_CHARACTERS],
            "message": message[:_MESSAGE_CHARACTERS],
            # The end of a traceback names the error and its line.
            "stack": stack[-_STACK_CHARACTERS:].rstrip("\n"),
        }

    def _define(self, definition):
        line = json.dumps(definition).encode() + b"\n"
        if self._definition_bytes + len(line) > _DEFINITION_BYTES:
            return False
        at = _DEFINITIONS_AT + self._definition_bytes
        self._memory[at : at + len(line)] = line
        self._definition_bytes += len(line)
        _WORD.pack_into(self._memory, _DEFINITION_BYTES_AT, self._definition_bytes)
        return True
