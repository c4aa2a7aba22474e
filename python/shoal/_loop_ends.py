"""Functions that a training loop, or a trial, leaves to be called at its end, on its own thread: before the process may be ended, and however the loop ends.

``_tracked_runs.py`` closes there what it has opened for the loop. A function that fails costs nobody else the end: its error is written to the loop's output.
"""

import sys
import traceback

_functions = []


def at_end(function):
    """Has ``function(succeeded)`` called when the loop has ended."""
    _functions.append(function)


def run(succeeded):
    """The loop has ended. The last function that was left is called first."""
    while _functions:
        function = _functions.pop()
        try:
            function(succeeded)
        except Exception:
            traceback.print_exc(file=sys.stderr)
