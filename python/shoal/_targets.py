"""Finds the Python function or class that a call names: ``python:<module or file>:<name>``.

A file ends in ``.py``, and is imported as ``python file.py`` would import what lies beside it; anything else is a dotted module, found as
``python -m`` finds it, or with a folder and a slash before it one that lies in this folder. What is not there is an error that names the interpreter and how to mend it. Each module is imported once per worker; where two
folders have modules of one name, code of each folder gets its own.
"""

import importlib
import importlib.util
import os
import sys
import sysconfig

from ._kept_texts import UsersModules

PREFIX = "python:"


def _is_of_library(entry):
    return os.path.abspath(entry) in _LIBRARY or os.path.basename(entry) == "lib-dynload" or entry.endswith(_LIBRARY_ARCHIVE)


_LIBRARY = frozenset(os.path.abspath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
_LIBRARY_ARCHIVE = "python%d%d.zip" % sys.version_info[:2]


def order_path():
    """The standard library first, so that no file of the user's hides a part of it; then the working directory, in the place of the folder of the program."""
    others = sys.path[1:]
    sys.path[:] = [*filter(_is_of_library, others), os.getcwd(), *(entry for entry in others if not _is_of_library(entry))]


def _put_first(folder):
    """In front of all that is the user's."""
    if folder in sys.path:
        sys.path.remove(folder)
    place = max((place + 1 for place, entry in enumerate(sys.path) if _is_of_library(entry)), default=0)
    sys.path.insert(place, folder)


def _root_of(module, file):
    """The folder in which a module is found by its name."""
    root = os.path.dirname(os.path.abspath(file))
    for _ in range(module.__name__.count(".") + (1 if hasattr(module, "__path__") else 0)):
        root = os.path.dirname(root)
    return root


class EnvironmentFault(Exception):
    """The environment lacks what a call needs. ``hint`` says what to do."""

    def __init__(self, text, hint):
        Exception.__init__(self, text)
        self.hint = hint


class Targets:
    def __init__(self, places, texts=None):
        #: Loads the user's files; None: as Python does.
        self._modules = UsersModules(texts, self._is_of_user) if texts is not None else None
        #: Folders of the driver and where they are here.
        self._places = places
        #: Where relative places start, also once code of the user's works in another folder.
        self._home = os.getcwd()
        self._found = {}
        #: The files that were named, by the module that each is here; and the folders that were added for them, as the driver names them.
        self._files = {}
        self._folders = {}
        #: By folder, the names of the modules in it; and modules of theirs that are put aside while code of another folder runs.
        self._names = {}
        self._aside = {}
        #: The folder whose code runs, and those of what has been loaded.
        self._active = None
        self._roots = {}

    def place_of(self, module):
        """How another worker finds a module of this one."""
        name = module.__name__
        if module in self._files:
            return self._files[module]
        file = getattr(module, "__file__", None)
        if file is not None:
            root = _root_of(module, file)
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
            self._roots[target] = self._active
        else:
            self.enter(target)
        return found

    def _is_of_user(self, folder):
        if "site-packages" in folder or _is_of_library(folder):
            return False
        return any(folder == known or folder.startswith(known.rstrip("/") + "/") for known in self._names)

    def enter(self, target):
        """Code that has been loaded is about to run: what it imports meanwhile is of its folder."""
        self._activate(self._roots[target])

    def find(self, place, name):
        """The function or class of a place as ``place_of`` gives it."""
        active = self._active
        try:
            return self.load("%s%s:%s" % (PREFIX, place, name))
        finally:
            self._activate(active)

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
        if place.endswith(".py") or ("/" in place and os.path.isfile(self._absolute(place))):
            return self._file(place)
        folder, slash, name = place.rpartition("/")
        if slash:
            if not all(part.isidentifier() for part in name.split(".")):
                return self._file(place)
            self._add(self._absolute(folder), folder)
            place = name
        else:
            self._activate(self._home)
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise missing_module(error, place) from error

    def _absolute(self, path):
        return os.path.abspath(os.path.join(self._home, self._here(path)))

    def _here(self, path):
        for there, here in self._places:
            if path == there or path.startswith(there.rstrip("/") + "/"):
                return here + path[len(there.rstrip("/")) :]
        return path

    def _add(self, folder, named):
        self._folders.setdefault(folder, named)
        self._activate(folder)

    def _activate(self, folder):
        """From now on modules are found in this folder first, and modules of other folders that have one of its names are put aside."""
        if folder is None or folder == self._active:
            return
        self._active = folder
        names = self._names.get(folder)
        had_names = names is not None
        if not had_names:
            names = self._names[folder] = _names_in(folder)
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) if name.partition(".")[0] in names else None
            root = None if file is None else _root_of(module, file)
            if root != folder and root in self._names:
                self._aside.setdefault(root, {})[name] = sys.modules.pop(name)
        sys.modules.update(self._aside.pop(folder, {}))
        # A finder that was made before the folder was known to be the user's.
        if self._modules is not None and not had_names:
            sys.path_importer_cache.pop(folder, None)
        _put_first(folder)

    def _file(self, place):
        path = self._absolute(place)
        if not os.path.isfile(path):
            where = "; a relative path is one of the working directory, %s, and new URL(...) names a file beside the caller" % self._home
            raise FileNotFoundError("there is no file %s%s" % (path, "" if os.path.isabs(place) else where))
        folder, file = os.path.split(path)
        name = file[:-3] if file.endswith(".py") else file
        self._add(folder, os.path.dirname(place))
        known = sys.modules.get(name)
        # `import NAME` of a module of the standard library gets that module, not a file of the same name (Python lists the names since
        # 3.10).
        if known is not None or name in getattr(sys, "stdlib_module_names", ()):
            if getattr(known, "__file__", None) == path:
                self._files.setdefault(known, place)
                return known
            name = "shoal_file_%s" % path.replace("/", "_").replace(".", "_")
            if name in sys.modules:
                return sys.modules[name]
        loader = self._modules.loader(name, path) if self._modules is not None and path.endswith(".py") else None
        spec = importlib.util.spec_from_file_location(name, path, loader=loader)
        if spec is None or spec.loader is None:
            raise ImportError("%s is no Python file: name one that ends in .py" % path)
        module = importlib.util.module_from_spec(spec)
        self._files[module] = place
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


def _names_in(folder):
    try:
        return {name.partition(".")[0] for name in os.listdir(folder)}
    except OSError:
        return set()


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
