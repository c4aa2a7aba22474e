"""As-of joins, pivots and descriptions of random rows with nulls, by Polars 2.1.0 and pandas 3.1.1: `rows.json` is the vector of `test/integration/data-tables.test.ts`."""

import itertools
import json
import os

import numpy
import pandas
import polars

random = numpy.random.default_rng(11)


def some(values, share):
    return [None if hit else value for value, hit in zip(values, random.random(len(values)) < share)]


left_count, right_count = 240, 160
left = polars.DataFrame(
    {
        "id": list(range(left_count)),
        "at": some([int(v) for v in random.integers(0, 120, left_count)], 0.08),
        "ticker": some([["a", "b", "c"][i] for i in random.integers(0, 3, left_count)], 0.08),
        "venue": [int(v) for v in random.integers(0, 2, left_count)],
    }
)
right = polars.DataFrame(
    {
        "at": some([int(v) for v in random.integers(0, 120, right_count)], 0.08),
        "ticker": [["a", "b", "d"][i] for i in random.integers(0, 3, right_count)],
        "venue": [int(v) for v in random.integers(0, 2, right_count)],
        "quote": list(range(right_count)),
    }
)


def by_polars(strategy, by, tolerance, exact):
    joined = left.sort("at", nulls_last=True, maintain_order=True).join_asof(
        right.sort("at", nulls_last=True, maintain_order=True),
        on="at",
        by=by or None,
        strategy=strategy,
        tolerance=tolerance,
        allow_exact_matches=exact,
        check_sortedness=False,
        coalesce=True,
    )
    return joined.sort("id")["quote"].to_list()


def by_pandas(strategy, by, tolerance, exact):
    own = left.to_pandas().dropna(subset=["at"]).astype({"at": "int64"}).sort_values(["at", "id"], kind="stable")
    other = right.to_pandas().dropna(subset=["at"]).astype({"at": "int64"}).sort_values("at", kind="stable")
    if by:
        own = own.dropna(subset=by)
    joined = pandas.merge_asof(own, other[["at", *by, "quote"]], on="at", by=by or None, direction=strategy, tolerance=tolerance, allow_exact_matches=exact)
    quotes = {int(i): None if pandas.isna(q) else int(q) for i, q in zip(joined["id"], joined["quote"])}
    return [quotes.get(i) for i in range(left_count)]


cases = []
for strategy, by, tolerance, exact in itertools.product(["backward", "forward", "nearest"], [[], ["ticker"], ["ticker", "venue"]], [None, 4], [True, False]):
    quotes = by_pandas(strategy, by, tolerance, exact)
    # Of two rows at equal distances pandas takes the earlier one, and Polars the later one.
    assert strategy == "nearest" or quotes == by_polars(strategy, by, tolerance, exact)
    cases.append({"strategy": strategy, "by": by, "tolerance": tolerance, "allowExactMatches": exact, "quotes": quotes})

count = 300
long = polars.DataFrame(
    {
        "city": some([["x", "y", "z"][i] for i in random.integers(0, 3, count)], 0.1),
        "year": [int(v) for v in random.integers(0, 4, count)],
        "month": some([["jan", "feb", "mar", "apr"][i] for i in random.integers(0, 4, count)], 0.05),
        "sales": some([float(v) for v in random.integers(0, 50, count)], 0.1),
        "name": some([["pear", "fig", "äpfel"][i] for i in random.integers(0, 3, count)], 0.1),
        "open": some([bool(v) for v in random.integers(0, 2, count)], 0.1),
    }
)
months = ["jan", "feb", "mar"]
kept = long.filter(polars.col("month").is_in(months))
rows_of = long.select("city", "year").unique()


def pivoted(aggregate, values):
    wide = kept.pivot("month", index=["city", "year"], values=values, aggregate_function=aggregate)
    return rows_of.join(wide, on=["city", "year"], how="left", nulls_equal=True).to_dicts()


described = long.select("year", "sales").describe(interpolation="linear")
pandas_frame = long.select("year", "sales").to_pandas()
answer = {
    "left": left.to_dicts(),
    "right": right.to_dicts(),
    "asof": cases,
    "long": long.to_dicts(),
    "months": months,
    "pivotMax": pivoted("max", "sales"),
    "pivotMean": pivoted("mean", "sales"),
    "pivotSeveral": pivoted(polars.element().max(), ["sales", "name"]),
    "describe": {
        "polars": {name: dict(zip(described["statistic"], described[name])) for name in ["year", "sales"]},
        "pandas": {name: {key: float(value) for key, value in pandas_frame[name].describe().items()} for name in ["year", "sales"]},
        "texts": dict(zip(*[long.select("name").describe()[c] for c in ["statistic", "name"]])),
    },
}
with open(os.path.join(os.path.dirname(__file__), "rows.json"), "w") as file:
    json.dump(answer, file, separators=(",", ":"))
    file.write("\n")
