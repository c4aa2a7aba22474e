"""Calls that end their process, beside calls that have ended before."""

import os
import signal

import shoal


def _end(way):
    if way == "exit":
        os._exit(3)
    if way == "abort":
        os.abort()
    os.kill(os.getpid(), signal.SIGKILL)


def _note(file, index):
    with open(file, "a") as log:
        log.write("%d\n" % index)


def call(file, index, way):
    if way is not None:
        _end(way)
    _note(file, index)
    return index


class _Fatal(int):
    """Ends the process when freed: after the answer was made, and before the next call begins."""

    def __del__(self):
        _end("kill")


def ends_behind(file, index, fatal):
    _note(file, index)
    return _Fatal(index) if index == fatal else index


def items(way):
    for index in range(100):
        yield index
    _end(way)


class Counter:
    def __init__(self, file):
        self.file = file

    def call(self, index, way):
        if way == "once":
            if os.path.exists(self.file + "-ended"):
                way = None
            else:
                open(self.file + "-ended", "w").close()
        if way is not None:
            _end(way)
        _note(self.file, index)
        return index


@shoal.remote(max_retries=0)
def quick(file, index, last):
    if index == last:
        _end("kill")
    _note(file, index)
    return index


@shoal.remote
class Fragile(Counter):
    pass


class Caller:
    """Tells the numbers of the calls that failed. No task runs in its process."""

    def tasks(self, file, count, last):
        return _failed([quick.remote(file, index, last) for index in range(count)])

    def actor(self, file, count, last):
        actor = Fragile.remote(file)
        shoal.get(actor.call.remote(-1, None))
        return _failed([actor.call.remote(index, "kill" if index == last else None) for index in range(count)])


def _failed(refs):
    failed = []
    for index, ref in enumerate(refs):
        try:
            if shoal.get(ref) != index:
                failed.append(-index)
        except shoal.ShoalError:
            failed.append(index)
    return failed
