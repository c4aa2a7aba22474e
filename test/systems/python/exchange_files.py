"""
Reads files by DuckDB, Polars and pyarrow, and writes them by each. Run as a program: the name of a function, then its arguments.

What they have read is printed as JSON, column by column. Values that JSON does not have are objects that name them, with all their digits.
"""
import decimal
import glob
import json
import math
import os
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.json
import pyarrow.parquet as pq

NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def query(sql):
    return duckdb.sql(sql).to_arrow_table()


def plain(scalar):
    type_ = scalar.type
    if not scalar.is_valid:
        return None
    if isinstance(type_, pa.BaseExtensionType) or pa.types.is_dictionary(type_):
        return plain(scalar.value if isinstance(scalar.value, pa.Scalar) else pa.scalar(scalar.value))
    for name, is_type in (("at", pa.types.is_timestamp), ("time", pa.types.is_time), ("duration", pa.types.is_duration)):
        if is_type(type_):
            return {name: scalar.value * NANOSECONDS[type_.unit]}
    if pa.types.is_struct(type_):
        return {field.name: plain(scalar[field.name]) for field in type_}
    if pa.types.is_nested(type_):
        return [plain(element) for element in scalar.values]
    value = scalar.as_py()
    if pa.types.is_date(type_):
        return {"day": value.isoformat()}
    if isinstance(value, decimal.Decimal):
        # DuckDB gives its whole numbers of 128 bits so, which it takes the widest of JSON for.
        return {"decimal": format(value, "f")} if type_.scale > 0 else int(value)
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def show(tables):
    columns = lambda table: {name: [plain(scalar) for scalar in table.column(name)] for name in table.column_names}
    print(json.dumps({name: columns(table) for name, table in tables.items()}))


def read_parquet(folder):
    found = {}
    for codec in sorted(os.listdir(folder)):
        files = f"{folder}/{codec}/*.parquet"
        found[f"duckdb {codec}"] = query(f"from read_parquet('{files}')")
        found[f"polars {codec}"] = pl.read_parquet(files).to_arrow()
        found[f"pyarrow {codec}"] = pq.read_table(f"{folder}/{codec}")
    show(found)


def read_partitions(folder):
    found = {
        "duckdb": query(f"from read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"),
        "polars": pl.read_parquet(folder, hive_partitioning=True).to_arrow(),
        "pyarrow": pa.dataset.dataset(folder, format="parquet", partitioning="hive").to_table(),
    }
    show({name: table.sort_by("row") for name, table in found.items()})


def read_csv(folder):
    [file] = glob.glob(f"{folder}/*.csv")
    convert = pa.csv.ConvertOptions(null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False)
    show(
        {
            "duckdb": query(f"from read_csv('{file}', allow_quoted_nulls = false)"),
            "polars": pl.read_csv(file, try_parse_dates=True, infer_schema_length=None).to_arrow(),
            "pyarrow": pa.csv.read_csv(file, parse_options=pa.csv.ParseOptions(newlines_in_values=True), convert_options=convert),
        }
    )


def read_json(folder):
    [file] = glob.glob(f"{folder}/*.jsonl.gz")
    with pa.input_stream(file) as stream:
        arrow = pa.json.read_json(stream)
    show(
        {
            "duckdb": query(f"from read_json('{file}', format = 'newline_delimited', sample_size = -1)"),
            "polars": pl.read_ndjson(file, infer_schema_length=None).to_arrow(),
            "pyarrow": arrow,
        }
    )


DUCKDB_PARQUET = {
    **{codec: f"compression {codec}" for codec in ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"]},
    "v2": "parquet_version v2",
}
POLARS_CODECS = ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4"]


def write_parquet(source, target):
    """The rows of ours, with the type for few values that each library has."""
    duckdb.sql(f"create table made as select * replace (city::enum('Rome', 'Oslo') as city) from read_parquet('{source}/*.parquet')")
    for name, options in DUCKDB_PARQUET.items():
        duckdb.sql(f"copy made to '{target}/duckdb-{name}.parquet' (format parquet, {options})")
    frame = pl.read_parquet(f"{source}/*.parquet").with_columns(pl.col("city").cast(pl.Categorical))
    for codec in POLARS_CODECS:
        frame.write_parquet(f"{target}/polars-{codec}.parquet", compression=codec, row_group_size=400)


def write_partitions(source, target):
    """The rows of ours in folders by city and size."""
    table = pa.dataset.dataset(source, format="parquet", partitioning="hive").to_table()
    duckdb.from_arrow(table).create("parted")
    duckdb.sql(f"copy parted to '{target}/duckdb' (format parquet, partition_by (city, size))")
    pl.from_arrow(table).write_parquet(f"{target}/polars", partition_by=["city", "size"], mkdir=True)
    pa.dataset.write_dataset(table, f"{target}/pyarrow", format="parquet", partitioning=["city", "size"], partitioning_flavor="hive")


def write_text(source, target, csv_columns, json_columns):
    """The rows of ours as CSV and JSON, as each library writes it when it is not told how."""
    for_csv, for_json = csv_columns.split(","), json_columns.split(",")
    duckdb.sql(f"create table made as from read_parquet('{source}/*.parquet')")
    duckdb.sql(f"copy (select {csv_columns} from made) to '{target}/duckdb.csv'")
    duckdb.sql(f"copy (select {json_columns} from made) to '{target}/duckdb.jsonl' (format json)")
    duckdb.sql(f"copy (select {json_columns} from made) to '{target}/duckdb.json' (format json, array true)")
    frame = pl.read_parquet(f"{source}/*.parquet")
    frame.select(for_csv).write_csv(f"{target}/polars.csv")
    frame.select(for_json).write_ndjson(f"{target}/polars.jsonl")
    frame.select(for_json).write_json(f"{target}/polars.json")
    pa.csv.write_csv(pq.read_table(source, columns=for_csv), f"{target}/pyarrow.csv")


# For each column, the encoding that must be asked for by name, as dictionaries would be written otherwise.
ENCODINGS = {
    "delta": {"i": "DELTA_BINARY_PACKED", "small": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "double": "BYTE_STREAM_SPLIT", "single": "BYTE_STREAM_SPLIT", "flag": "RLE"},
    "lengths": {"i": "BYTE_STREAM_SPLIT", "small": "BYTE_STREAM_SPLIT", "text": "DELTA_LENGTH_BYTE_ARRAY", "double": "PLAIN", "single": "PLAIN", "flag": "PLAIN"},
}


def write_encodings(target, rows):
    """The same rows in each encoding, in pages of both versions. Prints the encodings that the files have."""
    numbers = range(int(rows))
    table = pa.table(
        {
            "i": pa.array(numbers, pa.int64()),
            "small": pa.array([x % 97 for x in numbers], pa.int32()),
            "double": pa.array([None if x % 7 == 0 else x / 7 for x in numbers]),
            "single": pa.array([x / 4 for x in numbers], pa.float32()),
            "text": pa.array([None if x % 5 == 0 else f"text {x}" for x in numbers]),
            "flag": pa.array([x % 3 == 0 for x in numbers]),
        }
    )
    found = set()
    for name, encodings in ENCODINGS.items():
        for version in ["1.0", "2.0"]:
            path = f"{target}/{name}-{version}.parquet"
            pq.write_table(table, path, use_dictionary=False, column_encoding=encodings, data_page_version=version, row_group_size=1000)
            group = pq.ParquetFile(path).metadata.row_group(0)
            found.update(encoding for column in range(group.num_columns) for encoding in group.column(column).encodings)
    print(json.dumps(sorted(found)))


def write_as_spark(source, target):
    """The forms that Spark writes: times as INT96, lists of the older kind, decimals of fixed length, and files beside the data."""
    table = pq.read_table(source)
    name = "part-00000-0c94c4a5-6a4b-4bd6-8a2d-c000.snappy.parquet"
    legacy = {"use_deprecated_int96_timestamps": True, "use_compliant_nested_type": False, "store_schema": False}
    pq.write_table(table, f"{target}/{name}", flavor="spark", version="1.0", **legacy)
    for beside in ["_SUCCESS", f".{name}.crc"]:
        with open(f"{target}/{beside}", "wb"):
            pass


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
