"""Keras on all ranks, by TF_CONFIG."""

import json
import os

# Keras 3 does not run under MultiWorkerMirroredStrategy: the older Keras does.
os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf

from shoal import train
from shoal.train.tensorflow.keras import ReportCheckpointCallback


def train_loop(config):
    tf_config = json.loads(os.environ["TF_CONFIG"])
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    tf.keras.utils.set_random_seed(config["seed"])
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(1)])
        model.compile(optimizer=tf.keras.optimizers.SGD(0.05), loss="mse")
    x = np.linspace(-1, 1, 256).reshape(64, 4).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(16)
    history = []

    class Seen(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            history.append(float(logs["loss"]))

    model.fit(dataset, epochs=config["epochs"], verbose=0, callbacks=[Seen(), ReportCheckpointCallback(metrics={"error": "loss"})])
    train.report({"history": history, "replicas": strategy.num_replicas_in_sync, "index": tf_config["task"]["index"], "workers": len(tf_config["cluster"]["worker"])})
