"""Writes ray.json: what the preprocessors of Ray 2.60 give for these rows. Run by hand: `python record.py` with ray[data]==2.60.0 and pandas."""

import json, warnings
warnings.filterwarnings("ignore")
import numpy as np, pandas as pd, ray
from ray.data.preprocessors import *
ray.init(num_cpus=1, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
rows = {
 "x": [1.0, 2.0, 4.0, 8.0, -3.0, 0.5], "y": [10.0, 10.0, 10.0, 10.0, 10.0, 10.0], "n": [1.0, None, 3.0, None, 3.0, 8.0],
 "c": ["b", "a", "é", "b", "Z", "a"], "k": [3, 1, 3, 2, 10, 1], "l": [["a","b"],["b"],[],["c","b"],["a"],["a","a"]],
 "t": ["a b a", "b", "the cat", "", "a  b", "cat the the"],
}
df = pd.DataFrame(rows)
ds = ray.data.from_pandas(df)
fresh = pd.DataFrame({"x":[5.0,-100.0,8.0],"y":[10.0,11.0,9.0],"n":[None,1.0,2.0],"c":["a","new","Z"],"k":[2,99,10],"l":[["a","z"],["b","b"],[]],"t":["a new text","cat","the a a"]})
out = {}
def clean(v):
    if isinstance(v, (list, np.ndarray, tuple)): return [clean(x) for x in v]
    if v is None or v is pd.NA or (isinstance(v, float) and np.isnan(v)): return None
    if isinstance(v, np.generic): return v.item()
    return v
def run(name, p, cols):
    try:
        p.fit(ds)
    except Exception as e:
        if "Stateless" not in str(e) and "not need" not in str(e) and "fit" not in str(e): raise
    res = {}
    for part, frame in (("fit", df), ("fresh", fresh)):
        b = p.transform_batch(frame[cols].copy())
        res[part] = {c: [clean(v) for v in b[c].tolist()] for c in b.columns}
    out[name] = res
run("StandardScaler", StandardScaler(columns=["x","y"]), ["x","y"])
run("MinMaxScaler", MinMaxScaler(columns=["x","y"]), ["x","y"])
run("MaxAbsScaler", MaxAbsScaler(columns=["x","y"]), ["x","y"])
run("Normalizer l2", Normalizer(columns=["x","y"]), ["x","y"])
run("Normalizer l1", Normalizer(columns=["x","y"], norm="l1"), ["x","y"])
run("Normalizer max", Normalizer(columns=["x","y"], norm="max"), ["x","y"])
run("PowerTransformer yeo", PowerTransformer(columns=["x"], power=0.5), ["x"])
run("PowerTransformer yeo 2", PowerTransformer(columns=["x"], power=2), ["x"])
run("PowerTransformer box", PowerTransformer(columns=["y"], power=0.5, method="box-cox"), ["y"])
run("SimpleImputer mean", SimpleImputer(columns=["n"]), ["n"])
run("SimpleImputer most_frequent", SimpleImputer(columns=["n"], strategy="most_frequent"), ["n"])
run("SimpleImputer constant", SimpleImputer(columns=["n"], strategy="constant", fill_value=-1.0), ["n"])
run("OrdinalEncoder", OrdinalEncoder(columns=["c","k"]), ["c","k"])
run("OrdinalEncoder lists", OrdinalEncoder(columns=["l"]), ["l"])
run("OneHotEncoder", OneHotEncoder(columns=["c","k"]), ["c","k"])
run("OneHotEncoder max", OneHotEncoder(columns=["k"], max_categories={"k":2}), ["k"])
run("MultiHotEncoder", MultiHotEncoder(columns=["l"]), ["l"])
run("LabelEncoder", LabelEncoder(label_column="c"), ["c"])
run("UniformKBins", UniformKBinsDiscretizer(columns=["x"], bins=4), ["x"])
run("UniformKBins left", UniformKBinsDiscretizer(columns=["x"], bins=4, right=False), ["x"])
run("CustomKBins", CustomKBinsDiscretizer(columns=["x"], bins=[-3,0,1,4,8]), ["x"])
run("CustomKBins lowest", CustomKBinsDiscretizer(columns=["x"], bins=[-3,0,1,4,8], include_lowest=True), ["x"])
run("CustomKBins left", CustomKBinsDiscretizer(columns=["x"], bins=[-3,0,1,4,8], right=False), ["x"])
run("Concatenator", Concatenator(columns=["x","y"]), ["x","y","c"])
run("Tokenizer", Tokenizer(columns=["t"]), ["t"])
run("CountVectorizer", CountVectorizer(columns=["t"]), ["t"])
run("CountVectorizer max", CountVectorizer(columns=["t"], max_features=2), ["t"])
run("HashingVectorizer", HashingVectorizer(columns=["t"], num_features=8), ["t"])
run("FeatureHasher", FeatureHasher(columns=["x","k"], num_features=4, output_column="h"), ["x","k"])
run("Chain", Chain(SimpleImputer(columns=["n"]), StandardScaler(columns=["n"])), ["n"])
json.dump({"columns": rows, "fresh": {c: [clean(v) for v in fresh[c].tolist()] for c in fresh.columns}, "results": out}, open("ray.json", "w"), ensure_ascii=False)
