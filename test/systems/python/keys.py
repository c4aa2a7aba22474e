"""
Writes tables with a column of keys for each type, and has DuckDB group and join them. Arguments: a folder, and a seed.

Rows have numbers, so a group is known by how many rows it has and by the sum of their numbers, whatever its key looks like.
"""
import datetime
import decimal
import json
import math
import os
import random
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

DAY = datetime.date(2026, 1, 31)
MOMENTS = [datetime.datetime(2026, 1, 31, 10), datetime.datetime(1900, 1, 1), datetime.datetime(1970, 1, 1)]
TIMES = [datetime.time(0), datetime.time(23, 59, 59)]
SPANS = [datetime.timedelta(0), datetime.timedelta(days=-3), datetime.timedelta(seconds=5)]
FLOATS = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -1.0]


def whole(bits, signed):
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return [least, most, most - 1, 0, 1, 2, 3]


POOLS = {
    **{f"int{bits}": (getattr(pa, f"int{bits}")(), whole(bits, True)) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (getattr(pa, f"uint{bits}")(), whole(bits, False)) for bits in (8, 16, 32, 64)},
    "float32": (pa.float32(), FLOATS),
    "float64": (pa.float64(), FLOATS + [5e-324, 2.0**60]),
    "bool": (pa.bool_(), [True, False]),
    "string": (pa.string(), ["", "a", "b", "é", "a\0", "zz"]),
    "words": (pa.dictionary(pa.int32(), pa.string()), ["", "a", "b", "é", "zz"]),
    "binary": (pa.binary(), [b"", b"\0", b"\0\0", b"a"]),
    "date": (pa.date32(), [DAY, datetime.date(1970, 1, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
    **{f"timestamp_{unit}": (pa.timestamp(unit), MOMENTS) for unit in ("ms", "us", "ns")},
    "zoned": (pa.timestamp("us", "Europe/Zurich"), MOMENTS),
    "time32": (pa.time32("ms"), TIMES),
    "time64": (pa.time64("us"), TIMES + [datetime.time(1, 2, 3, 4)]),
    "duration": (pa.duration("us"), SPANS),
    "decimal": (pa.decimal128(9, 2), [decimal.Decimal(text) for text in ("0.00", "1.10", "-1.10", "9999999.99")]),
    "wide_decimal": (pa.decimal128(38, 4), [decimal.Decimal(text) for text in ("0", "1.1000", "-123456789012345678901234567890.5")]),
}


def write(folder, seed):
    chance = random.Random(seed)
    row = 0
    for number in range(chance.randint(1, 4)):
        count = chance.randint(1, 60)
        null_share = chance.choice([0, 0.3, 0.9, 1])
        columns = {"i": pa.array(range(row, row + count), pa.int64())}
        for name, (kind, pool) in POOLS.items():
            values = [None if chance.random() < null_share else chance.choice(pool) for _ in range(count)]
            columns[name] = pa.array(values, kind)
        row += count
        pq.write_table(pa.table(columns), os.path.join(folder, f"{number}.parquet"), row_group_size=chance.randint(1, 40))


def answers(folder):
    files = f"read_parquet('{folder}/*.parquet')"
    pairs = [[name] for name in POOLS] + [[a, b] for a, b in zip(POOLS, list(POOLS)[1:])]
    result = []
    for keys in pairs:
        names = ", ".join(f'"{key}"' for key in keys)
        groups = f"select count(*) n, sum(i)::bigint s, min(i) f, max(i) l from {files} group by {names}"
        matches = " and ".join(f'a."{key}" = b."{key}"' for key in keys)
        joined = f"select count(*) n, sum(a.i * 1000 + b.i)::bigint s from {files} a join {files} b on {matches}"
        distinct = f'select count(distinct "{keys[0]}") from {files}'
        result.append(
            {
                "keys": keys,
                "groups": sorted(duckdb.sql(groups).fetchall()),
                "joined": [value or 0 for value in duckdb.sql(joined).fetchall()[0]],
                "distinct": duckdb.sql(distinct).fetchall()[0][0],
            }
        )
    return result


if __name__ == "__main__":
    write(*sys.argv[1:])
    print(json.dumps(answers(sys.argv[1])))
