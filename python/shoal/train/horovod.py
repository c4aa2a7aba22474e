"""Horovod in a training loop: ``hvd.init()`` finds the other ranks by the environment that the trainer has set."""

from ._driver_names import trainers

__getattr__ = trainers("HorovodTrainer", "HorovodConfig")
