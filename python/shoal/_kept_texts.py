"""One text of each of the user's files in a session, though a file is edited meanwhile.

Each worker loads a file when it needs that file first, so an edit would run in some workers only. The first worker that loads a file keeps the text in a folder, which the workers of
the session share on their node. The other workers load this text. The first worker that finds a different text on the disk prints a warning. Without a usable folder a worker loads the
text on the disk.
"""

import fcntl
import os
import sys
import zlib
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader, SourcelessFileLoader


class KeptTexts:
    def __init__(self, folder):
        self._folder = folder

    def text_of(self, path):
        """The text that the session loaded first, where the disk has another one now; else None."""
        try:
            with open(path, "rb") as file:
                text = file.read()
            kept, is_new = self._kept(os.fsencode(path).hex().encode(), text)
        except OSError:
            return None
        if kept == text:
            return None
        if is_new:
            sys.stderr.write(
                "Warning: %s was edited during this session, which runs the text that it loaded first. Start the session again to run the new one.\n" % path
            )
        return kept

    def _kept(self, name, text):
        """The text that was loaded first, and whether this one was not seen before."""
        os.makedirs(self._folder, 0o700, exist_ok=True)
        digest = b"%08x-%x" % (zlib.crc32(text), len(text))
        with open(os.path.join(self._folder, "index"), "a+b") as index:
            fcntl.flock(index, fcntl.LOCK_EX)
            index.seek(0)
            lines = [line.split() for line in index]
            own = [(number, line[1]) for number, line in enumerate(lines) if line[0] == name]
            first = own[0][0] if own else len(lines)
            place = os.path.join(self._folder, str(first))
            if not own:
                with open(place, "wb") as file:
                    file.write(text)
            is_new = all(known != digest for _, known in own)
            if is_new:
                index.write(b"%s %s\n" % (name, digest))
        if not own:
            return text, False
        with open(place, "rb") as file:
            return file.read(), is_new


def kept_texts_of(configuration):
    """The texts of a worker's job. Each version of a Serve deployment's code has other texts."""
    version = os.environ.get("SHOAL_SERVE_CODE", "")
    return KeptTexts(os.path.join(os.path.dirname(configuration["address"]), "python-files-%s%s" % (configuration["jobId"], version and "-" + version)))


class _Loader(SourceFileLoader):
    def __init__(self, name, path, texts):
        SourceFileLoader.__init__(self, name, path)
        self._texts = texts

    def get_code(self, fullname):
        text = self._texts.text_of(self.path)
        return SourceFileLoader.get_code(self, fullname) if text is None else self.source_to_code(text, self.path)


class UsersModules:
    """Finds the modules in the user's folders: with the texts that the session keeps."""

    def __init__(self, texts, is_of_user):
        self._texts = texts
        self._is_of_user = is_of_user
        sys.path_hooks.insert(0, self._finder)

    def loader(self, name, path):
        return _Loader(name, path, self._texts)

    def _finder(self, folder):
        if not self._is_of_user(folder):
            raise ImportError("it is no folder of the user's")
        return FileFinder(folder, (ExtensionFileLoader, EXTENSION_SUFFIXES), (self.loader, SOURCE_SUFFIXES), (SourcelessFileLoader, BYTECODE_SUFFIXES))
