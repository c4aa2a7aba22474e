"""The trial that runs in this process, and the functions that its code calls."""

from .._checkpoint import Checkpoint

#: The running trial (``_trial.Trial``), or None.
current = None


class TuneContext:
    """Where a trial's code is."""

    def __init__(self, spec):
        self._spec = spec

    def get_trial_id(self):
        return self._spec["trialId"]

    def get_trial_name(self):
        return self._spec["trialName"]

    def get_trial_dir(self):
        """The trial's folder in the run's storage."""
        return self._spec["trialDir"]

    def get_trial_resources(self):
        """The bundles that the trial holds, the first of which is its own process."""
        return list(self._spec["resources"]["bundles"])

    def get_experiment_name(self):
        return self._spec["experimentName"]


def report(metrics, *, checkpoint=None):
    """Reports metrics of the running trial, and waits until Tune has decided what becomes of it.

    A trial that is stopped or paused gets no further: ``finally`` blocks run.

    :param metrics: a dictionary of what JSON has a form for; numbers of NumPy and of torch are taken
    :param checkpoint: what the trial can go on from after this report. It is copied into the run's storage before ``report`` returns
    """
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        raise TypeError("Cannot report: checkpoint must be a Checkpoint, such as Checkpoint.from_directory(folder): received %r" % (checkpoint,))
    _running("report").report(metrics, checkpoint)


def get_checkpoint():
    """The checkpoint to go on from: of the trial before it was paused or failed, or of another. None for a trial that begins."""
    return _running("get a checkpoint").checkpoint


def get_context():
    """The trial that runs."""
    return _running("get the context").context


def _running(action):
    if current is None:
        raise RuntimeError("Cannot %s: no trial runs here: call it in a function that a Tuner runs" % action)
    return current
