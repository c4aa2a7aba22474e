"""Files of the packages tfrecord, webdataset and fastavro, for the tests of their readers. Run with the packages that `test/systems/format-libraries.ts` installs."""

import datetime
import decimal
import os
import sys

import fastavro
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

PLAIN = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
SCHEMA = {
    "type": "record",
    "name": "shoal.Row",
    "fields": [
        *({"name": name, "type": name} for name in PLAIN),
        {"name": "wide", "type": "long"},
        {"name": "maybe", "type": ["null", "string"]},
        {"name": "late", "type": ["long", "null"]},
        {"name": "number", "type": ["null", "int", "double"]},
        {"name": "either", "type": ["null", "string", "long"]},
        {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}},
        {"name": "other", "type": "Color"},
        {"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 3}},
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "place", "type": {"type": "record", "name": "Place", "fields": [{"name": "x", "type": "double"}, {"name": "on", "type": {"type": "int", "logicalType": "date"}}]}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "time", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "fine", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "exact", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "share", "type": {"type": "fixed", "name": "Share", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 4}},
        {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
    ],
}


def avro_row(i):
    utc = datetime.timezone.utc
    return {
        "null": None,
        "boolean": i % 2 == 0,
        "int": i * (-1) ** i,
        "long": (i - 2) * 2**40,
        "float": i / 4,
        "double": i / 3,
        "bytes": bytes([i, 255]),
        "string": f"row {i} é",
        "wide": [0, 1, 2**63 - 1, -(2**63), 2**53 + 1][i],
        "maybe": None if i == 1 else f"maybe {i}",
        "late": None if i == 2 else i,
        "number": [None, 1, 2.5, 3, 0.5][i],
        "either": [None, "a", 5, "b", -1][i],
        "color": ["RED", "BLUE"][i % 2],
        "other": ["BLUE", "RED"][i % 2],
        "digest": bytes([i, i, i]),
        "tags": [None, "a", "b"][: i % 4],
        "counts": {f"k{j}": j for j in range(i % 3)},
        "place": {"x": i + 0.5, "on": datetime.date(2026, 1, 1 + i)},
        "day": datetime.date(1969, 12, 30 + i) if i < 2 else datetime.date(2026, 1, i),
        "time": datetime.time(23, 59, i, 1000),
        "fine": datetime.time(0, i, 0, 123456),
        "at": datetime.datetime(2026, 1, 1 + i, 10, tzinfo=utc),
        "exact": None if i == 3 else datetime.datetime(1960, 1, 1, 0, 0, i, 1, tzinfo=utc),
        "local": datetime.datetime(2026, 6, 1 + i, 12),
        "price": decimal.Decimal(i * 100 - 250) / 100,
        "share": decimal.Decimal(i - 2) / 10000,
        "key": f"00000000-0000-4000-8000-00000000000{i}",
    }


for codec in ["null", "deflate", "snappy", "zstandard", "bzip2"]:
    with open(place(f"{codec}.avro"), "wb") as out:
        fastavro.writer(out, SCHEMA, [avro_row(i) for i in range(5)], codec=codec, sync_marker=bytes(range(16)))
