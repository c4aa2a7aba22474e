"""
Writes files with Spark, and reads files of others with it. Run as a program: the name of a function, then its arguments.

`write_vectors` has made the files beside this one; `test/frameworks/data-spark.test.ts` runs all of it. Needs pyspark, and Java by JAVA_HOME.
"""
import json
import os
import shutil
import sys

from pyspark.sql import SparkSession

# The values of the first rows, by column. All others are null.
PLAIN = {
    "tiny": ["127Y", "-128Y"],
    "short": ["32767S", "-32768S"],
    "whole": ["2147483647", "-2147483647 - 1"],
    "wide": ["9007199254740991L", "-9007199254740991L"],
    "single": ["1.5F", "cast('NaN' as float)", "cast('-Infinity' as float)"],
    "double": ["0.1D", "-0.0D", "cast('Infinity' as double)"],
    "flag": ["true", "false"],
    "text": ["'Zürich 東京 😀'", "''", "'say \"hi\", twice\\n'"],
    "city": ["'Rome'", "'Oslo'", "'Rome'"],
    "bytes": ["X'00FF0A'", "X''"],
    "cents": ["1234567.89BD", "-0.01BD"],
    "price": ["cast('12345678901234.5678' as decimal(18, 4))", "cast('-0.0001' as decimal(18, 4))"],
    "digits": ["cast('1234567890123456789012345678.0123456789' as decimal(38, 10))", "cast('-1' as decimal(38, 10))"],
    "day": ["date'2024-02-29'", "date'1969-12-31'", "date'9999-12-31'"],
    "at": ["timestamp'2026-01-31 10:00:00.123456'", "timestamp'1969-12-31 23:59:59.999999'", "timestamp'9999-12-31 23:59:59'"],
    "wall": ["timestamp_ntz'2026-01-31 10:00:00.123456'", "timestamp_ntz'1900-01-01 00:00:00'"],
    "months": ["interval '1-2' year to month"],
    "took": ["interval '1 02:03:04.5' day to second"],
}
NESTED = {
    "tags": ["array('a', '', null)", "cast(array() as array<string>)"],
    "sure": ["array(1, 2)", "array(3)"],
    "grid": ["array(array(1, 2), array())", "array(array(3))"],
    "pairs": ["array(named_struct('x', 1))", "array()"],
    "place": [
        "named_struct('city', 'Rome', 'at', named_struct('x', 0.5D, 'y', cast(null as boolean)))",
        "named_struct('city', cast(null as string), 'at', null)",
    ],
    "legs": ["array(named_struct('km', 1.5D, 'to', 'Bern'), null)", "cast(array() as array<struct<km: double, to: string>>)"],
    "codes": ["map('x', 1, 'y', null)", "cast(map() as map<string, int>)"],
    "deep": ["map('k', array(map(1, timestamp'9999-12-31 23:59:59')))"],
}
ROWS = 4

LEGACY = {"spark.sql.parquet.writeLegacyFormat": "true"}
PARQUET = {
    "snappy": ({}, {}),
    "gzip": ({}, {"compression": "gzip"}),
    "zstd": ({}, {"compression": "zstd"}),
    "lz4": ({}, {"compression": "lz4"}),
    "lz4-raw": ({}, {"compression": "lz4_raw"}),
    "uncompressed": ({}, {"compression": "uncompressed"}),
    "micros": ({"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}, {}),
    "millis": ({"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}, {}),
    "legacy": (LEGACY, {}),
    "v2": ({}, {"parquet.writer.version": "PARQUET_2_0", "compression": "zstd"}),
    "v2-micros": ({"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}, {"parquet.writer.version": "PARQUET_2_0", "parquet.enable.dictionary": "false"}),
    "bloom": ({}, {"parquet.bloom.filter.enabled#city": "true", "parquet.bloom.filter.expected.ndv#city": "10", "parquet.bloom.filter.enabled#wide": "true"}),
    "summary": ({}, {"parquet.summary.metadata.level": "ALL"}),
}
OLD_DAYS = ["date'0001-01-01'", "date'1500-03-01'", "date'1582-10-04'", "date'1582-10-15'", "date'1900-01-01'"]
OLD_TIMES = [f"timestamp'{day[5:-1]} 12:00:00'" for day in OLD_DAYS]
CITIES = ["'Rome'", "'a/b c'", "'é=ü'", "'100%'", "'x:y*?\"''{}[]^#'", "'東京'", "''"]

_session = None


def session():
    global _session
    if _session is None:
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "1",
            "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        }
        builder = SparkSession.builder.master("local[1]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        _session = builder.getOrCreate()
        _session.sparkContext.setLogLevel("ERROR")
    return _session


def frame(columns, rows=ROWS):
    """A row for each value of the columns, which are SQL; in one partition."""
    cases = [
        f"case id {' '.join(f'when {row} then {value}' for row, value in enumerate(values))} end as `{name}`"
        for name, values in columns.items()
    ]
    return session().range(0, rows, 1, 1).selectExpr("id", *cases)


class settings:
    """Settings of the session for the statements within."""

    def __init__(self, values):
        self.values = values

    def __enter__(self):
        for name, value in self.values.items():
            session().conf.set(name, value)

    def __exit__(self, *_):
        for name in self.values:
            session().conf.unset(name)


def write_parquet(target, names=None):
    """The same rows in each form."""
    everything = frame({**PLAIN, **NESTED})
    for name in names or PARQUET:
        conf, options = PARQUET[name]
        # Intervals have no older form, and lists of maps have one that not all programs read.
        kept = everything.drop("months", "took", "deep") if name == "legacy" else everything
        with settings(conf):
            kept.write.options(**options).parquet(f"{target}/{name}")


def write_odd(target):
    """What a folder of Spark may have beside plain rows."""
    rows = frame({"city": ["'Rome'", "'Oslo'"], "tags": ["array('a')"]})
    rows.limit(0).write.parquet(f"{target}/no-rows")
    # Three of four partitions have no row.
    rows.repartition(4, "city").filter("city = 'Rome'").write.parquet(f"{target}/empty-parts")
    frame({"a.b": ["1"], "a b": ["2"], "ä,;{}()=": ["3"], "A": ["4"]}, 1).write.parquet(f"{target}/names")
    with settings(LEGACY):
        frame({"maps": ["array(map('x', 1))"]}, 1).write.parquet(f"{target}/legacy-maps")
    for mode in ["LEGACY", "CORRECTED"]:
        conf = {"spark.sql.parquet.datetimeRebaseModeInWrite": mode, "spark.sql.parquet.int96RebaseModeInWrite": mode}
        old = frame({"day": OLD_DAYS, "at": OLD_TIMES}, len(OLD_DAYS))
        with settings(conf):
            old.write.parquet(f"{target}/old-{mode.lower()}")
        with settings({**conf, "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
            old.write.parquet(f"{target}/old-{mode.lower()}-micros")


def write_partitions(target):
    days = ["date'2026-01-31'"] * (len(CITIES) + 1)
    frame({"city": CITIES, "day": days}, len(CITIES) + 1).selectExpr("id", "id % 2 as half", "city", "day").write.partitionBy("city", "half", "day").parquet(target)


CSV = {name: PLAIN[name] for name in ["tiny", "wide", "double", "flag", "text", "city", "cents", "day", "at", "wall"]} | {
    "odd": [r"'a \\ b'", r"'ends, with \\'", r"'\\\"'", "' padded '"],
}
JSON = {**{name: PLAIN[name] for name in ["tiny", "wide", "double", "flag", "text", "digits", "day", "at", "wall", "bytes"]}, **NESTED}


def write_text(target):
    csv = frame(CSV)
    csv.write.csv(f"{target}/csv")
    csv.write.csv(f"{target}/csv-header", header=True, compression="gzip")
    csv.write.csv(f"{target}/csv-quotes", header=True, escape='"', sep=";", compression="deflate")
    csv.limit(0).write.csv(f"{target}/csv-no-rows", header=True)
    for compression in ["bzip2", "snappy", "lz4"]:
        csv.select("id").write.csv(f"{target}/csv-{compression}", header=True, compression=compression)
    rows = frame(JSON)
    rows.write.json(f"{target}/json", compression="gzip")
    rows.write.json(f"{target}/json-nulls", ignoreNullFields=False)
    rows.filter("id = 3").union(rows.filter("id = 0")).write.json(f"{target}/json-parts")
    frame({"text": ["'first'", "'second'", "''"]}, 3).select("text").write.text(f"{target}/text", compression="gzip")


# The files of others, as Spark reads them.


def shown(value):
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"float": str(value)}
    if isinstance(value, (bytes, bytearray)):
        return {"hex": value.hex()}
    if isinstance(value, dict):
        return {"map": [[shown(key), shown(one)] for key, one in value.items()]}
    if isinstance(value, list):
        return [shown(one) for one in value]
    if hasattr(value, "asDict"):
        return {name: shown(one) for name, one in value.asDict().items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def read(form, path, columns=(), schema="", options=None):
    """Prints the types of these columns, or of all, and the rows, sorted by the first one."""
    reader = session().read.options(**(options or {}))
    if schema:
        reader = reader.schema(schema)
    found = reader.format(form).load(path)
    if columns:
        found = found.select(*columns)
    rows = found.sort(found.columns[0]).collect()
    print(json.dumps({"types": [[field.name, field.dataType.simpleString()] for field in found.schema], "rows": [shown(row) for row in rows]}))


def read_all(jobs):
    """`read` for each of a list of its arguments, in one process: a line each, the error instead of rows where there is one."""
    for job in json.loads(jobs):
        try:
            read(**job)
        except Exception as error:
            print(json.dumps({"error": str(error).split("\n")[0]}))


def write_everything(target):
    write_parquet(f"{target}/parquet")
    write_odd(f"{target}/odd")
    write_partitions(f"{target}/partitions")
    write_text(f"{target}/text")


# The forms of `write_everything` that a vector is kept of.
VECTORS = ["parquet/snappy", "parquet/legacy", "parquet/v2-micros", "parquet/lz4", "odd/no-rows", "odd/old-legacy", "odd/old-corrected", "partitions", "text/csv", "text/csv-header", "text/json"]


def write_vectors(target):
    """The files beside this one."""
    write_everything(f"{target}/all")
    for name in VECTORS:
        shutil.copytree(f"{target}/all/{name}", f"{target}/{name.replace('/', '-')}")
    shutil.rmtree(f"{target}/all")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
