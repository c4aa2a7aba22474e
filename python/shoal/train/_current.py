"""The session of the rank that this process is, for the functions that loops call; None elsewhere."""

from ._errors import StopLoop

session = None


class Session:
    def __init__(self, context, exchange):
        self.context = context
        self._exchange = exchange
        #: From which the loop goes on, and later the last one that was reported.
        self.checkpoint = None
        #: Pairs of a checkpoint and its metrics, in the order in which they were reported.
        self.reported = []
        self.datasets = {}
        #: The controller wants this loop to end.
        self.is_stopped = False
        #: How often this rank has reported in this attempt.
        self.report_count = 0

    def report(self, event):
        decision = self._decided(event)
        self.report_count += 1
        stored = decision.get("checkpoint")
        if stored:
            self.checkpoint = stored
            self.reported.append((stored, event["metrics"]))
        self._obey(decision)

    def meet(self, name, value=None):
        """All ranks meet. @returns the value of rank 0"""
        decision = self._decided({"type": "barrier", "name": name, "value": value})
        self._obey(decision)
        return decision.get("value") or None

    def _decided(self, event):
        if self.is_stopped:
            raise StopLoop(0)
        return self._exchange.ask(event)

    def _obey(self, decision):
        if decision["action"] == "stop":
            self.is_stopped = True
            raise StopLoop(0)


def require(function):
    """:raises RuntimeError: outside of training loops"""
    if session is None:
        raise RuntimeError("Cannot call %s here: it is for training loops, which a trainer of shoal/train runs in its ranks" % function)
    return session
