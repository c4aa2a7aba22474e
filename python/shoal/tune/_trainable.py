"""``Trainable``: the base of trainables that are classes, with the names and meanings of Ray's ``tune.Trainable``. A class needs no base: Tune calls what methods it has."""

import copy

from . import _session


class Trainable:
    """A trainable as a class: ``setup(config)`` once, then ``step()`` for each iteration, which returns its metrics. ``done: True`` among them ends the trial.

    A class that defines these has them called:

    ``save_checkpoint(checkpoint_dir)``
        writes into the folder what the trial goes on from, or returns it as a dictionary of what JSON has a form for
    ``load_checkpoint(checkpoint)``
        takes the folder, or the dictionary that was returned
    """

    def __init__(self, config=None, storage=None):
        self.config = config if config is not None else {}
        self._iteration = 0
        self.setup(copy.deepcopy(self.config))

    def setup(self, config):
        """Called once, before the first step."""

    def log_result(self, result):
        """Called after each step with its result, in the trial's process."""

    def reset_config(self, new_config):
        """Takes another configuration, so that the next trial needs no new instance. Returns whether it could."""
        return False

    def cleanup(self):
        """Called once, after the last step."""

    def get_config(self):
        return self.config

    @property
    def iteration(self):
        """Steps that the trial has made, those before its checkpoint among them."""
        return self._iteration

    @property
    def training_iteration(self):
        return self._iteration

    @property
    def trial_id(self):
        return _context("get_trial_id", "default")

    @property
    def trial_name(self):
        return _context("get_trial_name", "default")

    @property
    def trial_resources(self):
        """The bundles that the trial holds, the first of which is its own process."""
        return _context("get_trial_resources", None)

    @property
    def logdir(self):
        """The trial's folder in the run's storage."""
        return _context("get_trial_dir", None)


def _context(method, otherwise):
    """As in Ray, an instance that was made outside of a trial has defaults."""
    return otherwise if _session.current is None else getattr(_session.current.context, method)()
