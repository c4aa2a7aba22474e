"""Marks the output of this worker with the task or actor that wrote it, and sends it a line at a time.

The mark goes in front of a line whose source differs from the last one's in the same stream; the node daemon takes it off. Output of native code
comes without, and keeps the last source.
"""

import fcntl
import io
import os
import sys
import threading

_BEGIN = "\x1e"
_END = "\x1f"
#: Descriptors of the output, with a copy of what each was when the worker started.
_kept = {}


class MarkedStream(io.TextIOBase):
    def __init__(self, stream, source):
        self._stream = stream
        self._source = source
        self._last = ""
        self._at_line_start = True
        self._lock = threading.RLock()

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not %s" % type(text).__name__)
        if not text:
            return 0
        with self._lock:
            try:
                self._write(text)
            except (OSError, ValueError):
                # Some task has closed it; that is no reason for this one to fail.
                pass
        return len(text)

    def _write(self, text):
        source = self._source()
        if self._at_line_start and source != self._last:
            self._stream.write(_BEGIN + source + _END)
            self._last = source
        self._stream.write(text)
        self._at_line_start = text.endswith("\n")
        # A task's output outlives the task, even where the process is killed.
        if "\n" in text:
            self._stream.flush()

    def mark(self):
        """Marks what native code writes from now on, too."""
        with self._lock:
            source = self._source()
            if self._at_line_start and source != self._last:
                # The second end says that the line is a mark and nothing else.
                self._stream.write(_BEGIN + source + _END + _END + "\n")
                self._last = source
        self.flush()

    def flush(self):
        try:
            self._stream.flush()
        except (OSError, ValueError):
            pass

    def close(self):
        """It is the process', not the task's that runs in it."""
        self.flush()

    def fileno(self):
        return self._stream.fileno()

    def isatty(self):
        return False

    def writable(self):
        return True

    @property
    def encoding(self):
        return self._stream.encoding

    @property
    def errors(self):
        return self._stream.errors

    @property
    def buffer(self):
        return self._stream.buffer


def restore_output():
    """Called before a socket is opened. A task may have closed the output, and a socket that got its number would get what is printed, too."""
    for number, copy in _kept.items():
        try:
            fcntl.fcntl(number, fcntl.F_GETFD)
        except OSError:
            os.dup2(copy, number)


def mark_now():
    """Marks both streams: all later output of this process belongs to its present name, whatever code writes it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, MarkedStream):
            stream.mark()


def mark_output(source):
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        _kept[stream.fileno()] = fcntl.fcntl(stream.fileno(), fcntl.F_DUPFD_CLOEXEC, 3)
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        setattr(sys, name, MarkedStream(stream, source))
