"""Ray's callback by which a trainer that a trial runs reports to Tune, for files that import it."""


class TuneReportCallback:
    """Trainers run in TypeScript, where ``new Tuner(trainer, …)`` needs no callback."""

    def __init__(self):
        raise RuntimeError("Cannot use TuneReportCallback here: trainers run in TypeScript: new Tuner(trainer, ...) of shoal/tune takes what their ranks report")
