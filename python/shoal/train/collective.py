"""Small talk between ranks, through the controller of the run: for control, not for tensors."""

import json

from . import _current

_BYTES_MAX = 1_000_000


def barrier(timeout_s=None):
    """Waits until all ranks are here.

    :raises TrainError: when they are not within ``timeout_s``
    """
    _current.require("shoal.train.collective.barrier").meet("barrier", timeout_s=timeout_s)


def broadcast_from_rank_zero(data, timeout_s=None):
    """Returns rank 0's data on all ranks. The data are numbers, texts, lists and dicts, or other values that pickle takes.

    :raises ValueError: for more than 1 MB
    :raises TrainError: when not all ranks are here within ``timeout_s``
    """
    import base64
    import pickle

    session = _current.require("shoal.train.collective.broadcast_from_rank_zero")
    text = None
    if session.context.get_world_rank() == 0:
        try:
            text = json.dumps({"json": data})
            if json.loads(text)["json"] != data:
                raise TypeError("JSON changes it")
        except (TypeError, ValueError):
            text = json.dumps({"pickle": base64.b64encode(pickle.dumps(data)).decode("ascii")})
        if len(text) > _BYTES_MAX:
            raise ValueError("Cannot broadcast: at most %d bytes go through the controller; use the collectives of the framework: received %d" % (_BYTES_MAX, len(text)))
    received = json.loads(session.meet("broadcast", text, timeout_s))
    return received["json"] if "json" in received else pickle.loads(base64.b64decode(received["pickle"]))
