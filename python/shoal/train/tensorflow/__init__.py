"""TensorFlow and Keras in a training loop. ``tf.distribute.MultiWorkerMirroredStrategy()`` finds the other ranks by ``TF_CONFIG``, which the trainer has set."""

import importlib

from .._driver_names import trainers
from .._errors import needed

_tf = needed("tensorflow", "shoal.train.tensorflow")
_driver_names = trainers("TensorflowTrainer", "TensorflowConfig", "TensorflowCheckpoint")


def prepare_dataset_shard(tf_dataset_shard):
    """A ``tf.data.Dataset`` of a rank's part of the data: TensorFlow does not part it once more, and loads ahead."""
    options = _tf.data.Options()
    options.experimental_distribute.auto_shard_policy = _tf.data.experimental.AutoShardPolicy.OFF
    return tf_dataset_shard.with_options(options).prefetch(_tf.data.AUTOTUNE)


def __getattr__(name):
    if name == "keras":
        return importlib.import_module("%s.keras" % __name__)
    return _driver_names(name)
