"""The file of a rank's output: what its code prints goes on to the driver, and here."""

import io
import os
import sys
import threading


def copy_output(path):
    """From now on what is printed is appended to a file, too."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    file = open(path, "a", encoding="utf-8", errors="backslashreplace", buffering=1)
    lock = threading.Lock()
    sys.stdout = _Copied(sys.stdout, file, lock)
    sys.stderr = _Copied(sys.stderr, file, lock)


class _Copied(io.TextIOBase):
    def __init__(self, stream, file, lock):
        self._stream = stream
        self._file = file
        self._lock = lock

    def write(self, text):
        written = self._stream.write(text)
        with self._lock:
            try:
                self._file.write(text)
            except (OSError, ValueError):
                # The disk is full, or the folder is gone: that is no reason for the loop to fail.
                pass
        return written

    def flush(self):
        self._stream.flush()

    def close(self):
        self._stream.close()

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
