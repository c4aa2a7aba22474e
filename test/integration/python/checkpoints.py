"""Checkpoints in Python: what the tests call."""

import os
import shutil

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


def removed_while_open(path):
    with Checkpoint(path).as_directory() as folder:
        shutil.rmtree(folder)
        open(os.path.join(folder, "weights.txt"))


def removed_while_copied(path, target):
    """The record goes before the last file has come: what was copied need not be all."""
    copytree = shutil.copytree

    def copy_and_remove(*args, **options):
        copytree(*args, **options)
        os.remove(os.path.join(path, ".checkpoint.json"))

    shutil.copytree = copy_and_remove
    try:
        Checkpoint(path).to_directory(target)
    finally:
        shutil.copytree = copytree


def failing(path):
    with Checkpoint(path).as_directory():
        pass
