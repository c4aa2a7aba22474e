"""Files of the packages tfrecord and webdataset, for the tests of their readers. Run with the packages that `test/systems/format-libraries.ts` installs."""

import io
import json
import os
import sys

import numpy
import tfrecord
import webdataset

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))


def place(name):
    return os.path.join(folder, name)


writer = tfrecord.TFRecordWriter(place("examples.tfrecord"))
for i in range(5):
    writer.write(
        {
            "id": ((i - 2) * 10**15, "int"),
            "name": (f"name {i} é".encode(), "byte"),
            "score": (i / 4, "float"),
            "tags": ([i, -i, 7], "int"),
            "vector": ([0.5, i + 0.25], "float"),
        }
    )
writer.close()

with webdataset.TarWriter(place("samples.tar"), mtime=0) as sink:
    for i in range(4):
        array = numpy.arange(6, dtype=numpy.float32).reshape(2, 3) + i
        sample = {"__key__": f"train/{i:04d}", "txt": f"text {i} é", "cls": i, "json": {"a": i, "b": [i]}, "npy": array}
        sample["seg.bin"] = bytes([i, 255])
        if i == 2:
            del sample["cls"]
        sink.write(sample)
