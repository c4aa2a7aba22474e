"""Finds the Python function or class that a call names: ``python:<module or file>:<name>``.

A file ends in ``.py``, and is imported as ``python file.py`` would import what lies beside it; anything else is a dotted module, found as
``python -m`` finds it, or with a folder and a slash before it one that lies in this folder. What is not there is an error that names the interpreter and how to mend it. Each module is imported once per worker.
"""

import importlib
import importlib.util
import os
import sys

PREFIX = "python:"


class EnvironmentFault(Exception):
    """The environment lacks what a call needs. ``hint`` says what to do."""

    def __init__(self, text, hint):
        Exception.__init__(self, text)
        self.hint = hint


class Targets:
    def __init__(self, places):
        #: Folders of the driver and where they are here.
        self._places = places
        self._found = {}
        #: The files that were named, by the module that each is here; and the folders that were added for them, as the driver names them.
        self._files = {}
        self._folders = {}

    def place_of(self, module):
        """How another worker finds a module of this one."""
        name = module.__name__
        if name in self._files:
            return self._files[name]
        file = getattr(module, "__file__", None)
        if file is not None:
            root = os.path.dirname(os.path.abspath(file))
            for _ in range(name.count(".") + (1 if hasattr(module, "__path__") else 0)):
                root = os.path.dirname(root)
            if root in self._folders:
                return "%s/%s" % (self._folders[root] or ".", name)
        return name

    def load(self, target):
        found = self._found.get(target)
        if found is None:
            if not target.startswith(PREFIX):
                raise ValueError("%s is code of JavaScript, and this is a worker of Python" % target)
            place, _, name = target[len(PREFIX) :].rpartition(":")
            found = self._attribute(self._module(place), place, name)
            self._found[target] = found
        return found

    def find(self, place, name):
        """The function or class of a place as ``place_of`` gives it."""
        return self.load("%s%s:%s" % (PREFIX, place, name))

    def _attribute(self, module, place, name):
        found = module
        for part in name.split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                import difflib

                near = difflib.get_close_matches(part, [known for known in dir(found) if not known.startswith("_")], 3)
                also = ": did you mean %s?" % " or ".join(near) if near else ""
                file = getattr(module, "__file__", "a package without a file")
                which = "" if file == place else "; it is %s" % file
                raise AttributeError("%s has no %s%s%s" % (place, name, also, which)) from None
        return getattr(found, "__shoal_function__", found)

    def _module(self, place):
        if place.endswith(".py") or ("/" in place and os.path.isfile(self._here(place))):
            return self._file(place)
        folder, slash, name = place.rpartition("/")
        if slash:
            if not all(part.isidentifier() for part in name.split(".")):
                return self._file(place)
            self._add(os.path.abspath(self._here(folder)), folder)
            place = name
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise missing_module(error, place) from error

    def _here(self, path):
        for there, here in self._places:
            if path == there or path.startswith(there.rstrip("/") + "/"):
                return here + path[len(there.rstrip("/")) :]
        return path

    def _add(self, folder, named):
        self._folders.setdefault(folder, named)
        if folder not in sys.path:
            sys.path.append(folder)

    def _file(self, place):
        path = os.path.abspath(self._here(place))
        if not os.path.isfile(path):
            where = "; a relative path is one of the working directory, %s, and new URL(...) names a file beside the caller" % os.getcwd()
            raise FileNotFoundError("there is no file %s%s" % (path, "" if os.path.isabs(place) else where))
        folder, file = os.path.split(path)
        name = file[:-3] if file.endswith(".py") else file
        known = sys.modules.get(name)
        # What imports a module of the standard library gets that, whatever the file is called (which Python lists since 3.10).
        if known is not None or name in getattr(sys, "stdlib_module_names", ()):
            if getattr(known, "__file__", None) == path:
                self._files.setdefault(name, place)
                return known
            name = "shoal_file_%s" % path.replace("/", "_").replace(".", "_")
            if name in sys.modules:
                return sys.modules[name]
        self._add(folder, os.path.dirname(place))
        self._files[name] = place
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError("%s is no Python file: name one that ends in .py" % path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except ModuleNotFoundError as error:
            del sys.modules[name]
            raise missing_module(error, place) from error
        except BaseException:
            del sys.modules[name]
            raise
        return module


def missing_module(error, place):
    version = ".".join(map(str, sys.version_info[:3]))
    name = error.name or place
    text = "Python %s at %s has no module %s, which %s needs" % (version, sys.executable, name, place)
    if name == place or place.startswith(name + "."):
        text = "Python %s at %s finds no module %s" % (version, sys.executable, name)
    hint = "Install it there (%s -m pip install %s), name another environment with runtimeEnv: { python: ... }, or make it importable from %s." % (
        sys.executable,
        name.split(".")[0],
        os.getcwd(),
    )
    return EnvironmentFault(text, hint)
