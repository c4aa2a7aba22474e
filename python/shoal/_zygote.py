"""The process that has imported what workers of an environment need, and forks them: a worker with NumPy is there in milliseconds, and shares its pages.

The daemon says on descriptor 3 which to fork and which to kill, and hears which have ended; each line is JSON. A forked worker gets its streams and its own line
to the daemon by connecting to a socket in the session's folder. Nothing is run here that starts threads but what the imports themselves do; CUDA is untouched, so what it
shows is still each worker's own.
"""

import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import warnings

from . import _worker
from ._interrupts import die_with_parent
from ._targets import missing_module, order_path

_PARENT_FD = 3


class _Zygote:
    def __init__(self, rest):
        self._numbers = {}
        self._pids = {}
        self._rest = rest
        self._wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)

    def run(self):
        self._obey(b"")
        while True:
            readable, _, _ = select.select([_PARENT_FD, self._wake_read], [], [])
            if self._wake_read in readable:
                os.read(self._wake_read, 4096)
                self._reap()
            if _PARENT_FD in readable:
                chunk = os.read(_PARENT_FD, 65536)
                if not chunk:
                    os._exit(0)
                self._obey(chunk)

    def _obey(self, chunk):
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._order(json.loads(line))

    def _order(self, order):
        if "fork" in order:
            self._fork(order["fork"], order["socket"])
        elif order["kill"] in self._pids:
            # The process is not reaped, so the number is still its own.
            os.kill(self._pids[order["kill"]], order["signal"])

    def _fork(self, number, path):
        parent = os.getpid()
        with warnings.catch_warnings():
            # Libraries that start threads at their import mend them after a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            _become_worker(parent, number, path)
        self._pids[number] = pid
        self._numbers[pid] = number
        self._tell({"forked": number, "pid": pid})

    def _reap(self):
        while self._numbers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            number = self._numbers.pop(pid, None)
            if number is None:
                continue
            del self._pids[number]
            killed = os.WIFSIGNALED(status)
            how = {"signal": signal.Signals(os.WTERMSIG(status)).name} if killed else {"code": os.WEXITSTATUS(status)}
            self._tell({"exited": number, **how})

    @staticmethod
    def _tell(message):
        os.write(_PARENT_FD, json.dumps(message).encode() + b"\n")


def _become_worker(parent, number, path):
    """In the forked process; does not return."""
    code = 1
    try:
        die_with_parent(parent)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setpgid(0, 0)
        for descriptor in (1, 2, _PARENT_FD):
            stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            stream.connect(path)
            _check_owner(stream)
            stream.sendall(b"%d %d\n" % (number, descriptor))
            os.dup2(stream.fileno(), descriptor)
            stream.close()
        _seed_anew()
        _worker.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        # The rest of an interpreter's end, without the zygote's own exit functions.
        import atexit

        try:
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _check_owner(stream):
    """What comes next is what this process does: nobody but its own user may say it, whoever has made the socket."""
    _, user, _ = struct.unpack("3i", stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    if user != os.geteuid():
        raise SystemExit("The process that listens for forked workers is another user's: %d" % user)


def _seed_anew():
    """Workers of one zygote must not draw the same numbers."""
    random.seed()
    # NumPy imports the module at the first use, which takes ten milliseconds. A module imported later draws its own seed.
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


def main():
    parent = os.getppid()
    configuration, rest = _worker.read_line()
    die_with_parent(parent)
    order_path()
    for name in configuration["preload"]:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            fault = missing_module(error, name)
            sys.stderr.write("Cannot preload %s: %s. %s\n" % (name, fault, fault.hint))
            sys.exit(1)
    sys.stdout.flush()
    sys.stderr.flush()
    # Objects from before the fork are frozen: a collection in a worker would copy their pages.
    gc.collect()
    gc.freeze()
    _Zygote(rest).run()
