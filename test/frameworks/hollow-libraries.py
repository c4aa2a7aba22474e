"""Makes ``import torch`` work where torch was installed without the packages of CUDA, which are 2.4 GB that a CPU never calls.

For each shared library that torch is linked with and that is not there, one is written into ``torch/lib`` that has every symbol torch wants of it. All of them are one function, which
returns 1: an error, to whoever calls it. No compiler is needed, and a second run finds nothing to do. For Linux on x86-64; elsewhere PyPI's torch has no CUDA.
"""

import ctypes
import importlib.util
import os
import struct
import sys

_DYNSYM, _DYNAMIC, _VERSION_NEEDS, _VERSION_OF_SYMBOL = 11, 6, 0x6FFFFFFE, 0x6FFFFFFF
_NEEDED = 1


class Library:
    """What a shared object is linked with and which symbols it wants, by its sections."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self._data = file.read()
        (at,) = struct.unpack_from("<Q", self._data, 40)
        size, count = struct.unpack_from("<HH", self._data, 58)
        self._sections = [struct.unpack_from("<IIQQQQIIQQ", self._data, at + index * size) for index in range(count)]
        self.needed = [
            self._text(section, value) for section, tag, value in self._entries(_DYNAMIC, "<qQ") if tag == _NEEDED
        ]

    def _entries(self, kind, form):
        for section in self._sections:
            if section[1] == kind:
                start, length = section[4], section[5]
                for entry in struct.iter_unpack(form, self._data[start : start + length]):
                    yield (section, *entry)

    def _text(self, section, at):
        start = self._sections[section[6]][4] + at
        return self._data[start : self._data.index(b"\0", start)].decode()

    def _versions(self):
        """By the number of a version, the library that has it and its name."""
        found = {}
        for section in self._sections:
            if section[1] != _VERSION_NEEDS:
                continue
            at = section[4]
            for _ in range(section[7]):
                _, count, file, first, following = struct.unpack_from("<HHIII", self._data, at)
                entry = at + first
                for _ in range(count):
                    _, _, number, name, step = struct.unpack_from("<IHHII", self._data, entry)
                    found[number & 0x7FFF] = (self._text(section, file), self._text(section, name))
                    entry += step
                at += following
        return found

    def symbols(self):
        """Tuples of a name, whether it is defined here, whether it may be missing, and the library and version that it is wanted of."""
        versions = self._versions()
        numbers = [number for _, number in self._entries(_VERSION_OF_SYMBOL, "<H")]
        for index, (section, name, info, _, place, _, _) in enumerate(self._entries(_DYNSYM, "<IBBHQQ")):
            if name:
                yield self._text(section, name), place != 0, info >> 4 == 2, versions.get(numbers[index] & 0x7FFF if numbers else 0)


def hash_of(name):
    """Of System V, as the tables of symbols and of versions have it."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & 0x0FFFFFFF
    return value


class Texts:
    def __init__(self):
        self.data = b"\0"
        self._places = {}

    def place(self, text):
        if text not in self._places:
            self._places[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._places[text]


def hollow(name, symbols):
    """The bytes of a shared object. ``symbols``: pairs of a name and a version, which may be None."""
    texts = Texts()
    symbols = sorted(symbols, key=lambda pair: (pair[0], pair[1] or ""))
    versions = [name, *sorted({version for _, version in symbols if version is not None})]
    names = [texts.place(symbol) for symbol, _ in symbols]
    soname = texts.place(name)
    definitions = b"".join(
        struct.pack("<HHHHIIIII", 1, index == 0, index + 1, 1, hash_of(version), 20, 28 * (index + 1 < len(versions)), texts.place(version), 0)
        for index, version in enumerate(versions)
    )
    numbers = struct.pack("<%dH" % (len(symbols) + 1), 0, *(1 if version is None else versions.index(version) + 1 for _, version in symbols))
    # A single chain with all symbols is enough for so few.
    chain = struct.pack("<3I", 1, len(symbols) + 1, 1 if symbols else 0) + struct.pack("<%dI" % (len(symbols) + 1), 0, *range(2, len(symbols) + 1), *([0] if symbols else []))
    function = b"\xb8\x01\x00\x00\x00\xc3"  # mov eax, 1; ret
    parts, end = {}, 64 + 4 * 56
    for part, size in (("function", 16), ("chain", len(chain)), ("symbols", 24 * (len(symbols) + 1)), ("numbers", len(numbers)), ("definitions", len(definitions)), ("texts", len(texts.data))):
        parts[part] = end = (end + 15) & ~15
        end += size
    dynamic = (end + 4095) & ~4095
    table = bytes(24) + b"".join(struct.pack("<IBBHQQ", at, 0x12, 0, 1, parts["function"], len(function)) for at in names)
    tags = (
        (14, soname), (4, parts["chain"]), (5, parts["texts"]), (10, len(texts.data)), (6, parts["symbols"]), (11, 24),
        (0x6FFFFFF0, parts["numbers"]), (0x6FFFFFFC, parts["definitions"]), (0x6FFFFFFD, len(versions)), (0, 0),
    )  # fmt: skip
    tags = b"".join(struct.pack("<qQ", *tag) for tag in tags)
    segments = ((1, 5, 0, end), (1, 6, dynamic, len(tags)), (2, 6, dynamic, len(tags)), (0x6474E551, 6, 0, 0))
    image = bytearray(dynamic + len(tags))
    for at, data in (
        (0, b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, len(segments), 64, 0, 0)),
        (64, b"".join(struct.pack("<IIQQQQQQ", kind, flags, start, start, start, size, size, 4096 if kind == 1 else 8) for kind, flags, start, size in segments)),
        (parts["function"], function), (parts["chain"], chain), (parts["symbols"], table), (parts["numbers"], numbers),
        (parts["definitions"], definitions), (parts["texts"], texts.data), (dynamic, tags),
    ):  # fmt: skip
        image[at : at + len(data)] = data
    return bytes(image)


def main():
    folder = os.path.join(importlib.util.find_spec("torch").submodule_search_locations[0], "lib")
    if not os.path.exists(os.path.join(folder, "libtorch_cuda.so")):
        return
    libraries = [Library(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if ".so" in name and name.startswith(("libtorch", "libc10", "libcaffe2"))]
    packages = os.path.join(os.path.dirname(os.path.dirname(folder)), "nvidia")
    there = set(os.listdir(folder)).union(*(names for _, _, names in os.walk(packages)))
    missing = {name: set() for library in libraries for name in library.needed if name not in there and not can_load(name)}
    defined, unclaimed = set(), {}
    for library in libraries:
        for name, is_defined, may_be_missing, wanted in library.symbols():
            if is_defined:
                defined.add(name)
            elif wanted is not None and wanted[0] in missing:
                missing[wanted[0]].add((name, wanted[1]))
            elif wanted is None and not may_be_missing:
                unclaimed.setdefault(name, [needed for needed in library.needed if needed in missing])
    of_python = ctypes.CDLL(None)
    for name, places in unclaimed.items():
        if name not in defined and not hasattr(of_python, name):
            # No table says which library has the symbol.
            for place in places:
                missing[place].add((name, None))
    for name, symbols in missing.items():
        path = os.path.join(folder, name)
        with open("%s.%d" % (path, os.getpid()), "wb") as file:
            file.write(hollow(name, symbols))
        os.replace(file.name, path)


def can_load(name):
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
