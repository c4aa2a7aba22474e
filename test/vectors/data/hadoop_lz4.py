"""Writes hadoop-lz4.parquet: two columns whose pages are LZ4 in the frames of Hadoop (codec LZ4, which Parquet has deprecated), as programs on Hadoop wrote them. Needs pyarrow.

A frame is the size of the bytes in it, the size of its block, each as four bytes with the highest first, and the block. The page of the texts has three frames."""

import struct
import sys

import pyarrow

ROWS = 300
INT64, BYTE_ARRAY, LZ4 = 2, 6, 5
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def number(value):
    return varint(value << 1)


def text(value):
    return varint(len(value)) + value.encode()


def sequence(kind, items):
    return bytes([len(items) << 4 | kind]) + b"".join(items)


def struct_of(*fields):
    """Thrift's compact form of fields: their number, their kind and their bytes."""
    out, last = b"", 0
    for field, kind, value in fields:
        out += bytes([field - last << 4 | kind]) + value
        last = field
    return out + b"\0"


def frames(page, size):
    out = b""
    for at in range(0, len(page), size):
        piece = page[at : at + size]
        block = pyarrow.Codec("lz4_raw").compress(piece, asbytes=True)
        out += struct.pack(">II", len(piece), len(block)) + block
    return out


def page_of(values, size):
    framed = frames(values, size)
    header = struct_of((1, I32, number(ROWS)), (2, I32, number(0)), (3, I32, number(3)), (4, I32, number(3)))
    return struct_of((1, I32, number(0)), (2, I32, number(len(values))), (3, I32, number(len(framed))), (5, STRUCT, header)) + framed


ids = b"".join(struct.pack("<q", row) for row in range(ROWS))
texts = b"".join(struct.pack("<I", len(name)) + name.encode() for name in (f"row {row % 7}" for row in range(ROWS)))
out, columns = b"PAR1", []
for name, kind, values, size in [("id", INT64, ids, 1 << 20), ("text", BYTE_ARRAY, texts, 1200)]:
    page = page_of(values, size)
    facts = struct_of(
        (1, I32, number(kind)),
        (2, LIST, sequence(I32, [number(0)])),
        (3, LIST, sequence(BINARY, [text(name)])),
        (4, I32, number(LZ4)),
        (5, I64, number(ROWS)),
        (6, I64, number(len(values))),
        (7, I64, number(len(page))),
        (9, I64, number(len(out))),
    )
    columns.append(struct_of((2, I64, number(len(out))), (3, STRUCT, facts)))
    out += page
schema = [
    struct_of((4, BINARY, text("schema")), (5, I32, number(2))),
    struct_of((1, I32, number(INT64)), (3, I32, number(0)), (4, BINARY, text("id"))),
    struct_of((1, I32, number(BYTE_ARRAY)), (3, I32, number(0)), (4, BINARY, text("text")), (6, I32, number(0))),
]
group = struct_of((1, LIST, sequence(STRUCT, columns)), (2, I64, number(len(out) - 4)), (3, I64, number(ROWS)))
footer = struct_of((1, I32, number(1)), (2, LIST, sequence(STRUCT, schema)), (3, I64, number(ROWS)), (4, LIST, sequence(STRUCT, [group])))
with open(sys.argv[1], "wb") as file:
    file.write(out + footer + struct.pack("<I", len(footer)) + b"PAR1")
