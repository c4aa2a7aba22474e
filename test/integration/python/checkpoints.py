"""Checkpoints in Python: what the tests call."""

import os

from shoal._checkpoint import Checkpoint


def made(folder):
    """A checkpoint that Python has made itself, before one ever came."""
    with open(os.path.join(folder, "weights.txt"), "w") as file:
        file.write("of Python")
    checkpoint = Checkpoint.from_directory(folder)
    checkpoint.set_metadata({"epoch": 3, "loss": float("nan")})
    checkpoint.update_metadata({"by": "python"})
    return checkpoint


def stream(folder):
    for _ in range(2):
        yield {"checkpoint": Checkpoint(folder)}


def read(checkpoint):
    with checkpoint.as_directory() as folder:
        with open(os.path.join(folder, "weights.txt")) as file:
            return [type(checkpoint).__module__, file.read(), checkpoint.get_metadata(), sorted(os.listdir(folder))]


def copied(checkpoint, folder):
    checkpoint.update_metadata({"copied": True})
    return sorted(os.listdir(checkpoint.to_directory(folder)))


def passed_on(checkpoint, call):
    """To TypeScript, as an argument."""
    from shoal import get

    return get(call.remote([checkpoint, Checkpoint(checkpoint.path)]))


def failing(path):
    with Checkpoint(path).as_directory():
        pass
