"""The session of the rank that this process is, for the functions that loops call; None elsewhere."""

import threading

from ._errors import RanksLate, StopLoop

session = None


class Session:
    def __init__(self, context, exchange, uploads):
        self.context = context
        self._exchange = exchange
        #: Functions of the loop's that upload beside it.
        self._own_uploads = uploads
        #: From which the loop goes on, and later the last one that was reported.
        self.checkpoint = None
        #: Pairs of a checkpoint and its metrics, in the order in which they were reported.
        self.reported = []
        self.datasets = {}
        #: The controller wants this loop to end.
        self.is_stopped = False
        #: How often this rank has reported in this attempt.
        self.report_count = 0
        #: Reports that were answered before they were stored; guarded, as those that are stored are told on another thread.
        self._uploading = 0
        self._stored = threading.Condition()

    def report(self, event):
        decision = self._decided(event)
        self.report_count += 1
        if decision.get("isUploading"):
            with self._stored:
                self._uploading += 1
        elif decision.get("checkpoint"):
            self._keep(decision["checkpoint"], event["metrics"])
        self._obey(decision)

    def uploaded(self, checkpoint, metrics):
        """Hears that the checkpoint of an asynchronous report is stored. Called on any thread, maybe before the loop's own has gone on from that report."""
        with self._stored:
            self._keep(checkpoint, metrics)
            self._uploading -= 1
            self._stored.notify_all()

    def wait_for_uploads(self, timeout_s):
        """Waits until all that was reported is stored, or the time is up."""
        self._own_uploads.refuse_within()
        with self._stored:
            self._stored.wait_for(lambda: self._uploading <= 0, timeout_s)

    def _keep(self, checkpoint, metrics):
        self.checkpoint = checkpoint
        self.reported.append((checkpoint, metrics))

    def checkpoint_dir_name(self):
        """A name for the checkpoint of the next report: the same in all ranks, and another one in each attempt."""
        return "checkpoint_%d_%06d" % (self.context.started_at_ms, self.report_count)

    def meet(self, name, value=None, timeout_s=None):
        """All ranks meet. @returns the value of rank 0

        :raises TrainError: when they have not come within ``timeout_s``
        """
        event = {"type": "barrier", "name": name, "value": value}
        if timeout_s is not None:
            event["timeoutMs"] = timeout_s * 1000
        decision = self._decided(event)
        self._obey(decision)
        return decision.get("value") or None

    def add_upload(self, function):
        """Keeps a function that puts the checkpoint of the next report into storage, beside the loop. @returns its number"""
        return self._own_uploads.add(function)

    def _decided(self, event):
        self._own_uploads.refuse_within()
        if self.is_stopped:
            raise StopLoop(0)
        return self._exchange.ask(event)

    def _obey(self, decision):
        if decision["action"] == "late":
            missing = ", ".join("rank %d" % rank for rank in decision["missing"])
            raise RanksLate("Cannot wait for the other ranks: not all came within %s ms: received no call of %s" % (decision["timeoutMs"], missing))
        if decision["action"] == "stop":
            self.is_stopped = True
            raise StopLoop(0)


def require(function):
    """:raises RuntimeError: outside of training loops"""
    if session is None:
        raise RuntimeError("Cannot call %s here: it is for training loops, which a trainer of shoal/train runs in its ranks" % function)
    return session
