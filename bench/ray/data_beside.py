"""
The pipelines of data_pipelines.py in one process, without Ray: data_beside.py LIBRARY PIPELINE INPUT OUTPUT, the library duckdb or polars.

What is a function there is an expression here. Prints the milliseconds, the peak of memory, and the facts of the result.
"""

import json
import os
import resource
import sys
import time


def duckdb_pipeline(pipeline, folder, output):
    import duckdb

    db = duckdb.connect()
    table = f"read_parquet('{folder}/parquet/*.parquet')"
    grouped = f"create table made as select {{key}}, count(*) n, sum(x) x, avg(y) y from {table} group by {{key}}"

    def one(sql):
        names = [column[0] for column in db.execute(sql).description]
        return dict(zip(names, map(float, db.fetchone())))

    def totals():
        return one("select count(*) groups, sum(n) n, sum(x) x, sum(y) y from made")

    def run():
        if pipeline == "csv-to-parquet":
            db.execute(f"copy (select *, x + y z from read_csv('{folder}/csv/*.csv')) to '{output}/made.parquet'")
            return lambda: one(f"select count(*) \"rows\", sum(id) id, sum(z) z from '{output}/made.parquet'")
        if pipeline == "groups-1k":
            db.execute(grouped.format(key="small"))
            return totals
        if pipeline == "groups-1m":
            db.execute(grouped.format(key="large"))
            return totals
        if pipeline == "sort":
            db.execute(f"create table made as from {table} order by x")
            return lambda: one("select count(*) \"rows\", (select x from made limit 1) \"first\", (select x from made limit 1 offset 1) \"second\", sum(y) y from made")
        if pipeline == "shuffle":
            db.execute(f"create table made as from {table} order by random()")
            return lambda: one("select count(*) \"rows\", sum(id) id, sum(y) y from made")
        if pipeline == "join":
            db.execute(f"create table made as from {table} join '{folder}/keys/*.parquet' using (large)")
            return lambda: one("select count(*) \"rows\", sum(id) id, sum(weight) weight from made")
        rows = sum(len(batch) for batch in db.sql(f"select *, 2 * x z from {table}").to_arrow_reader(4096))
        return lambda: {"rows": rows}

    return run


def polars_pipeline(pipeline, folder, output):
    import polars as pl

    table = pl.scan_parquet(f"{folder}/parquet/*.parquet")

    def grouped(key):
        groups = table.group_by(key).agg(n=pl.len(), x=pl.col("x").sum(), y=pl.col("y").mean()).collect()
        return lambda: {"groups": len(groups), **{name: float(groups[name].sum()) for name in ("n", "x", "y")}}

    def sums(frame, *names):
        return lambda: {"rows": len(frame), **{name: float(frame[name].sum()) for name in names}}

    def run():
        if pipeline == "csv-to-parquet":
            pl.scan_csv(f"{folder}/csv/*.csv").with_columns(z=pl.col("x") + pl.col("y")).sink_parquet(f"{output}/made.parquet")
            return lambda: sums(pl.read_parquet(f"{output}/made.parquet", columns=["id", "z"]), "id", "z")()
        if pipeline == "groups-1k":
            return grouped("small")
        if pipeline == "groups-1m":
            return grouped("large")
        if pipeline == "sort":
            made = table.sort("x").collect()
            return lambda: {**sums(made, "y")(), "first": made["x"][0], "second": made["x"][1]}
        if pipeline == "shuffle":
            return sums(table.collect().sample(fraction=1, shuffle=True, seed=1), "id", "y")
        if pipeline == "join":
            return sums(table.join(pl.scan_parquet(f"{folder}/keys/*.parquet"), on="large").collect(), "id", "weight")
        rows = sum(len(batch) for batch in table.with_columns(z=2 * pl.col("x")).collect().iter_slices(4096))
        return lambda: {"rows": rows}

    return run


def main():
    library, pipeline, folder, output = sys.argv[1:5]
    os.makedirs(output, exist_ok=True)
    run = {"duckdb": duckdb_pipeline, "polars": polars_pipeline}[library](pipeline, folder, output)
    begun = time.perf_counter()
    tell = run()
    took = (time.perf_counter() - begun) * 1000
    # In kilobytes, on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"facts {json.dumps({'ms': took, 'peakMegabytes': peak, 'facts': tell()})}", flush=True)


main()
