"""JAX in a training loop: ``jax.distributed`` is initialised, so ``jax.devices()`` are those of all ranks."""

from ._driver_names import trainers

__getattr__ = trainers("JaxTrainer", "JaxConfig")
