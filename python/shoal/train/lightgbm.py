"""LightGBM in a training loop: with ``get_network_params()`` among its parameters, ``lightgbm.train`` runs on all ranks together; the callback reports."""

import os

from ._booster_reports import BoosterReports
from ._driver_names import trainers
from ._errors import needed

_lightgbm = needed("lightgbm", "shoal.train.lightgbm")

__getattr__ = trainers("LightGBMTrainer", "LightGBMConfig", "LightGBMCheckpoint")

#: The addresses of all ranks and this one's port, once the trainer has set them.
network = None


def get_network_params():
    """Parameters by which the ranks find each other: ``params.update(get_network_params())``. Empty outside of a ``LightGBMTrainer``, and with one rank."""
    if network is None or "," not in network["machines"]:
        return {}
    port = network["port"]
    # LightGBM listens there itself, in a moment.
    port.release()
    machines = network["machines"]
    return {"num_machines": machines.count(",") + 1, "local_listen_port": port.number, "machines": machines}


def normalize_pandas_for_lightgbm(df):
    """The frame with columns of Arrow's numbers as those of NumPy, which LightGBM takes."""
    import pandas

    types = {}
    for name, dtype in df.dtypes.items():
        if isinstance(dtype, pandas.ArrowDtype) and (dtype.kind in "iufb"):
            size = 8 * dtype.itemsize
            types[name] = {"i": "Int%d" % size, "u": "UInt%d" % size, "f": "Float%d" % size, "b": "boolean"}[dtype.kind]
    return df.astype(types, copy=False) if types else df


class RayTrainReportCallback(BoosterReports):
    """Reports the metrics of each round, such as ``valid_0-binary_logloss``, and checkpoints with the model."""

    CHECKPOINT_NAME = "model.txt"

    def __init__(self, metrics=None, filename=CHECKPOINT_NAME, frequency=0, checkpoint_at_end=True, results_postprocessing_fn=None):
        super().__init__(metrics, filename, frequency, checkpoint_at_end, results_postprocessing_fn)

    @classmethod
    def get_model(cls, checkpoint, filename=CHECKPOINT_NAME):
        """The model of a checkpoint that this callback has reported."""
        with checkpoint.as_directory() as folder:
            return _lightgbm.Booster(model_file=os.path.join(folder, filename))

    def __call__(self, env):
        metrics = {}
        for data, name, value, *more in env.evaluation_result_list or ():
            # Cross-validation gives the mean, followed by the standard deviation.
            metrics["%s-%s%s" % (data, name, "-mean" if len(more) > 1 else "")] = value
            if len(more) > 1:
                metrics["%s-%s-stdv" % (data, name)] = more[1]
        is_last = env.iteration == env.end_iteration - 1
        is_due = self._is_due(env.iteration + 1) or (is_last and self._checkpoint_at_end)
        self._report(self._chosen(metrics), env.model if is_due else None)
