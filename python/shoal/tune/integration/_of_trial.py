"""The part of a callback that differs between a rank and a trial: to whom it reports, and that it saves checkpoints itself."""

from .. import report


class OfTrial:
    """Comes before the callback for ranks among the bases of a class."""

    def _tell(self, metrics, checkpoint):
        report(metrics, checkpoint=checkpoint)

    def _saves(self):
        return True
