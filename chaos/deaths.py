"""The calls of Python whose processes end in the midst of many (deaths.ts)."""

import os
import signal
import time


def quick(file, last, death, index):
    if index == last:
        _END[death]()
    with open(file, "a") as ended:
        ended.write("%d\n" % index)
    return index


def _kill():
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def _handle():
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(5))
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


_END = {"exit": lambda: os._exit(3), "SIGKILL": _kill, "handler": _handle}
