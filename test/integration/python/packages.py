"""What an environment made of packages has."""

import importlib.metadata
import sys


def version_of(package):
    return [importlib.metadata.version(package), sys.prefix]
