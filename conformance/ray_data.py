"""
The steps of data-steps.ts on ray.data: the same names, functions and arguments. Called by ray_twin.py.

Ray gives rows in any order unless it is told otherwise, while ours keep theirs, so it is told.
"""
import datetime, math, operator, os, re, shutil
import numpy as np
import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, DataContext, Dataset, SaveMode, aggregate
from ray.data.datatype import DataType
from ray.data.expressions import Expr, col


class AppError(Exception):
    pass


class AddConstant:
    def __init__(self, by):
        self.by = by

    def __call__(self, batch):
        return {"id": batch["id"] + self.by}


class FailsToStart:
    def __init__(self):
        raise AppError("no start")

    def __call__(self, batch):
        return batch


def fail_at_three(row):
    if row["id"] == 3:
        raise AppError("three")
    return row


def halves(batch):
    ids = batch["id"]
    yield {"id": ids[:2], "half": np.ones(len(ids[:2]), int)}
    yield {"id": ids[2:], "half": np.full(len(ids[2:]), 2)}


FUNCTIONS = {
    "square": lambda row: {"id": row["id"], "square": row["id"] ** 2},
    "twice": lambda row: [row, row],
    "asMany": lambda row: [{"id": row["id"]}] * row["id"],
    "isEven": lambda row: row["id"] % 2 == 0,
    "never": lambda row: False,
    "hasText": lambda row: row["value"] is not None,
    "residue": lambda row: {"id": row["id"], "residue": row["id"] % 3},
    "failAtThree": fail_at_three,
    "sizeOf": lambda batch: {"size": np.array([len(batch["id"])])},
    "double": lambda batch: {"double": batch["id"] * 2},
    "halves": halves,
    "uneven": lambda batch: {"a": np.array([1, 2]), "b": np.array([1])},
    "noRow": lambda row: 7,
    "noBatch": lambda batch: 7,
    "rowsOfBatch": lambda batch: {"id": batch["id"], "text": np.array([f"row {x}" for x in batch["id"]])},
    "nullAtThree": lambda row: {"id": row["id"], "value": None if row["id"] == 3 else row["id"] / 2},
    "keyOfFour": lambda row: {"id": row["id"], "key": None if row["id"] % 4 == 3 else f"k{row['id'] % 4}", "value": None if row["id"] % 5 == 0 else row["id"]},
    "largest": lambda batch: {"key": batch["key"][:1], "largest": np.array([batch["value"].max()])},
    "groupSize": lambda batch: {"key": batch["key"][:1], "size": np.array([len(batch["value"])])},
    "AddConstant": AddConstant,
    "FailsToStart": FailsToStart,
}
AGGREGATES = {
    "count": "Count", "sum": "Sum", "min": "Min", "max": "Max", "mean": "Mean", "std": "Std", "absMax": "AbsMax", "quantile": "Quantile", "unique": "Unique",
    "countDistinct": "CountDistinct", "asList": "AsList", "missingValuePercentage": "MissingValuePercentage", "zeroPercentage": "ZeroPercentage",
    "valueCounter": "ValueCounter", "approxQuantile": "ApproximateQuantile", "approxTopK": "ApproximateTopK",
}
OPTIONS = {"ignoreNulls": "ignore_nulls", "ddof": "ddof"}
MODES = {"append": SaveMode.APPEND, "overwrite": SaveMode.OVERWRITE, "error": SaveMode.ERROR, "create": SaveMode.CREATE, "ignore": SaveMode.IGNORE}
JOINS = {
    "inner": "inner", "left": "left_outer", "right": "right_outer", "full": "full_outer",
    "leftSemi": "left_semi", "rightSemi": "right_semi", "leftAnti": "left_anti", "rightAnti": "right_anti",
}
STATISTIC_NAMES = {"missing_pct": "missingPct", "zero_pct": "zeroPct", "approx_quantile": "approxQuantile", "approx_topk": "approxTopK"}
STATISTICS = re.compile("|".join(STATISTIC_NAMES))
# pyarrow's names of types, where ours are others.
TYPES = {"double": "float64", "float": "float32", "date32[day]": "date"}
# Ray's names of functions of expressions, where they are not ours in snake case.
EXPRESSION_METHODS = {
    "length": "len", "byteLength": "byte_len", "swapCase": "swapcase", "matchLike": "match", "trim": "strip", "trimStart": "lstrip", "trimEnd": "rstrip",
    "padStart": "lpad", "padEnd": "rpad",
}
COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
ORDERS = {False: "ascending", True: "descending"}
ENDS = {"first": "start", "last": "end"}
HERE = os.path.dirname(os.path.abspath(__file__))


def map_options(options):
    given = {}
    if "batchSize" in options:
        given["batch_size"] = options["batchSize"]
    if "concurrency" in options:
        given |= {"fn_constructor_args": options.get("constructorArgs", ()), "compute": ActorPoolStrategy(size=options["concurrency"])}
    return given


def reader(read):
    def open_files(paths, options={}):
        given = {"partitioning": None} if options.get("partitioning") == "none" else {}
        if "columns" in options:
            given["columns"] = options["columns"]
        return read(paths, include_paths=options.get("includePaths", False), **given)

    return open_files


def writer(name):
    def write(ds, folder, options={}):
        given = {"mode": MODES[options["mode"]]} if "mode" in options else {}
        if "partitionBy" in options:
            given["partition_cols"] = options["partitionBy"]
        getattr(ds, name)(folder, **given)

    return write


def named(aggregates):
    made = []
    for alias, (kind, *args) in aggregates.items():
        options = args.pop() if args and isinstance(args[-1], dict) else {}
        keyword = {"alias_name": alias} | {OPTIONS[name]: value for name, value in options.items()}
        if kind == "quantile":
            keyword["q"] = args.pop()
        made.append(getattr(aggregate, AGGREGATES[kind])(*args, **keyword))
    return made


def batches(ds, options):
    found = ds.iter_batches(batch_size=options["batchSize"], drop_last=options.get("dropLast", False))
    return [{name: list(column) for name, column in batch.items()} for batch in found]


def sort(ds, keys, options={}):
    return ds.sort(keys, descending=options.get("descending", False), boundaries=options.get("boundaries"))


def summary(ds, options={}):
    """The statistics of each column that are no nulls, by our names. get_column_stats breaks on the frequent values of texts, so the tables are read."""
    told = ds.summary(columns=options.get("columns"))
    found = {column: {} for column in options.get("columns") or ds.schema().names}
    for table in (told._stats_matching_column_dtype, told._stats_mismatching_column_dtype):
        for row in table.to_pylist():
            statistic = STATISTICS.sub(lambda name: STATISTIC_NAMES[name[0]], row.pop("statistic"))
            for column, value in row.items():
                if value is not None and value == value:
                    found[column][statistic] = {"value": value[column], "count": value["count"]} if isinstance(value, dict) else value
    return found


def names(columns):
    return (columns,) if isinstance(columns, str) else tuple(columns)


def join(ds, other, options):
    right = {"right_on": names(options["rightOn"])} if "rightOn" in options else {}
    return ds.join(other, join_type=JOINS[options["type"]], num_partitions=2, on=names(options["on"]), **right,
                   right_suffix=options.get("rightSuffix"), left_suffix=options.get("leftSuffix"))


def train_test_split(ds, options):
    return ds.train_test_split(options["testSize"], shuffle=options.get("shuffle", False), seed=options.get("seed"), stratify=options.get("stratify"))


def expression(column, *calls):
    made = col(column)
    for path, *args in calls:
        *spaces, method = path.split(".")
        options = args.pop() if len(args) > 0 and isinstance(args[-1], dict) else {}
        keywords = {"order": ORDERS[options.get("descending", False)], "null_placement": f"at_{ENDS[options.get('nulls', 'last')]}"} if method == "sort" else {}
        if method == "cast":
            args = [DataType.from_arrow(pa.timestamp("ms"))]
        if method == "extract":
            args = [args[0].replace("(?<", "(?P<")]
        for space in spaces:
            made = getattr(made, space)
        if method in COMPARISONS:
            made = COMPARISONS[method](made, *args)
            continue
        made = getattr(made, EXPRESSION_METHODS.get(method) or re.sub("([A-Z])", r"_\1", method).lower())(*args, **keywords)
    return made


def type_name(type):
    name = str(type)
    return TYPES.get(name, name)


SOURCES = {
    "range": ray.data.range,
    "fromItems": ray.data.from_items,
    "readCsv": reader(ray.data.read_csv),
    "readJson": reader(ray.data.read_json),
    "readParquet": reader(ray.data.read_parquet),
    "readText": reader(ray.data.read_text),
    "readBinaryFiles": reader(ray.data.read_binary_files),
}
METHODS = {
    "map": lambda ds, fn: ds.map(fn),
    "flatMap": lambda ds, fn: ds.flat_map(fn),
    "filter": lambda ds, fn: ds.filter(expr=fn) if isinstance(fn, Expr) else ds.filter(fn),
    "mapBatches": lambda ds, fn, options={}: ds.map_batches(fn, **map_options(options)),
    "selectColumns": lambda ds, names: ds.select_columns(names),
    "withColumn": lambda ds, name, made: ds.with_column(name, made),
    "dropColumns": lambda ds, names: ds.drop_columns(names),
    "renameColumns": lambda ds, names: ds.rename_columns(names),
    "limit": lambda ds, count: ds.limit(count),
    "union": lambda ds, *others: ds.union(*others),
    "sort": sort,
    "join": join,
    "groupBy": lambda ds, keys, options={}: ds.groupby(keys, num_partitions=options.get("numPartitions")),
    "aggregate": lambda ds, aggregates: ds.aggregate(*named(aggregates)),
    "mapGroups": lambda ds, fn: ds.map_groups(fn),
    "repartition": lambda ds, blocks: ds.repartition(blocks),
    "randomShuffle": lambda ds, options={}: ds.random_shuffle(seed=options.get("seed")),
    "zip": lambda ds, *others: ds.zip(*others),
    "randomSample": lambda ds, fraction, options={}: ds.random_sample(fraction, seed=options.get("seed")),
    "randomizeBlockOrder": lambda ds, options={}: ds.randomize_block_order(seed=options.get("seed")),
    "split": lambda ds, parts, options={}: ds.split(parts, equal=options.get("equal", False)),
    "splitAtIndices": lambda ds, indices: ds.split_at_indices(indices),
    "splitProportionately": lambda ds, fractions: ds.split_proportionately(fractions),
    "trainTestSplit": train_test_split,
    "each": lambda parts, name: [METHODS[name](part) if name in METHODS else getattr(part, name)() for part in parts],
    "summary": summary,
    "take": lambda ds, count: ds.take(count),
    "takeAll": lambda ds, options={}: ds.take_all(options.get("limit")),
    "takeBatch": lambda ds, count: {name: list(column) for name, column in ds.take_batch(count).items()},
    "iterBatches": batches,
    "schema": lambda ds: ds.schema().names,
    "types": lambda ds: [type_name(type) for type in ds.schema().types],
    "stats": lambda ds: len(ds.stats()) > 0,
    "writeCsv": writer("write_csv"),
    "writeJson": writer("write_json"),
    "writeParquet": writer("write_parquet"),
}


def run(steps, folder):
    current = None
    for name, *args in steps:
        if name in ("file", "fixture"):
            put_file(name, os.path.join(folder, args[0]), args[1])
            continue
        given = [decode(value, folder) for value in args]
        if current is None:
            current = SOURCES[name](*given)
        elif name in METHODS:
            current = METHODS[name](current, *given)
        else:  # count, sum, min, max, mean, std, unique, columns, materialize: the same names on both sides
            current = getattr(current, name)(*given)
        if name.startswith("write"):
            current = None
    return current


def put_file(kind, to, content):
    os.makedirs(os.path.dirname(to), exist_ok=True)
    if kind == "fixture":
        shutil.copyfile(os.path.join(HERE, "fixtures", content), to)
    else:
        with open(to, "w", newline="") as out:
            out.write(content)


def decode(value, folder):
    if isinstance(value, list):
        return [decode(inner, folder) for inner in value]
    if not isinstance(value, dict):
        return math.nan if value == "NaN" else value
    key, inner = next(iter(value.items()), (None, None))
    if key == "$fn":
        return FUNCTIONS[inner]
    if key == "$path":
        return os.path.join(folder, inner)
    if key == "$dataset":
        return run(inner, folder)
    if key == "$expression":
        return expression(*inner)
    if key == "$aggregate":
        return inner
    return {name: decode(one, folder) for name, one in value.items()}


def plain(value, folder):
    if isinstance(value, np.datetime64):
        value = None if np.isnat(value) else value.item()
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return "null"
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.12g}")
    if isinstance(value, int) and abs(value) > 2**53 - 1:
        return str(value)
    if isinstance(value, str):
        return value.replace(folder, "FOLDER")
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, (datetime.datetime, datetime.date)):
        return "null" if value != value else value.isoformat()[:19]
    if isinstance(value, dict):
        return {name: plain(inner, folder) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set, np.ndarray)):
        return [plain(inner, folder) for inner in value]
    return value


def cause_of(error):
    """What the user's code threw: Ray keeps its text alone, at the end of what it tells of where it was thrown."""
    found = re.findall(r"^(?:\w+\.)*AppError: (.*)$", str(error), re.MULTILINE)
    return found[-1] if found else None


def run_steps(steps, folder):
    DataContext.get_current().execution_options.preserve_order = True
    DataContext.get_current().enable_progress_bars = False
    try:
        result = run(steps, folder)
        return {"value": plain(result, folder)}
    except Exception as error:
        message = cause_of(error)
        return {"error": "error"} if message is None else {"error": "AppError", "message": message}
