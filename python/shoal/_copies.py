"""Processes that the user's code has forked from a worker: they share its sockets and its stack, and must not come back into its loop."""

import os
import sys


def exit_as_others(error):
    """Ends this process as an interpreter ends after such an error, without what a worker does at its end; does not return."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    elif error is not None:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
