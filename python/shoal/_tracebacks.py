"""The traceback of an exception as its user wants to see it: without the frames of this package that ran the code."""

import os
import traceback

_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep


def is_own(filename):
    return filename.startswith(_OWN_FOLDER)


def user_traceback(error):
    """The part of a traceback that begins with the user's first frame; all of it where there is none."""
    found = error.__traceback__
    while found is not None and is_own(found.tb_frame.f_code.co_filename):
        found = found.tb_next
    return found if found is not None else error.__traceback__


def message_of(error):
    """The text of an exception; none where its own methods fail."""
    try:
        return str(error)
    except BaseException:  # an exception of the user's may do anything here
        return ""


def traceback_text(error, with_causes=True):
    """What Python prints for an uncaught exception."""
    try:
        lines = traceback.format_exception(type(error), error, user_traceback(error), chain=with_causes)
    except BaseException:  # an exception whose own methods fail must arrive, too
        lines = ["%s\n" % type(error).__qualname__]
    return "".join(lines).rstrip("\n")


def frames_text(error):
    """The frames in the form of JavaScript's stacks, innermost first."""
    frames = traceback.extract_tb(user_traceback(error))
    return "\n".join("    at %s (%s:%d)" % (frame.name, frame.filename, frame.lineno or 0) for frame in reversed(frames))
