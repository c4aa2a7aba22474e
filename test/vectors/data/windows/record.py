"""Window columns of random rows with nulls, by pandas 3.1.1: `rows.json` is the vector of `test/integration/data-windows.test.ts`."""

import json
import os

import numpy
import pandas

random = numpy.random.default_rng(7)
count = 400
frame = pandas.DataFrame(
    {
        "id": range(count),
        "group": [[None, "a", "b", "c"][i] for i in random.integers(0, 4, count)],
        "order": [None if i % 11 == 0 else int(i) for i in random.integers(0, 30, count)],
        "value": [None if i % 7 == 0 else float(round(v, 3)) for i, v in zip(random.integers(0, 50, count), random.normal(0, 100, count))],
    }
)
frame["group"] = frame["group"].astype(object)
ordered = frame.sort_values(["order", "id"], na_position="last", kind="stable").reset_index(drop=True)
groups = ordered.groupby("group", dropna=False, sort=False)
key = ordered["order"].fillna(10**6)
by_key = key.groupby(ordered["group"].fillna("null"))
ordered["rank"] = by_key.rank(method="min").astype(int)
ordered["denseRank"] = by_key.rank(method="dense").astype(int)
ordered["rowNumber"] = groups.cumcount() + 1
values = ordered["value"].groupby(ordered["group"].fillna("null"))
ordered["lag"] = values.shift(2)
ordered["lead"] = values.shift(-1)
for statistic in ["sum", "mean", "min", "max"]:
    ordered[f"running_{statistic}"] = getattr(values.expanding(1), statistic)().reset_index(level=0, drop=True)
    ordered[f"rolling_{statistic}"] = getattr(values.rolling(5, min_periods=3), statistic)().reset_index(level=0, drop=True)
    ordered[f"full_{statistic}"] = getattr(values.rolling(4), statistic)().reset_index(level=0, drop=True)

rows = [{name: None if pandas.isna(value) else value for name, value in row.items()} for row in ordered.astype(object).to_dict("records")]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rows.json"), "w") as out:
    out.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
