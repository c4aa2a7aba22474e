"""Reads files by the packages of other programs, and prints their rows as JSON. Arguments: the format, and files."""

import base64
import json
import sys


def shown(value):
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if hasattr(value, "tolist"):
        return shown(value.tolist())
    if isinstance(value, list):
        return [shown(one) for one in value]
    if isinstance(value, dict):
        return {key: shown(one) for key, one in value.items()}
    return value


def tfrecords(path):
    import tfrecord

    types = {"id": "int", "name": "byte", "score": "float", "tags": "int"}
    return list(tfrecord.tfrecord_loader(path, None, types))


def samples(path):
    import webdataset

    dataset = webdataset.WebDataset(path, shardshuffle=False).decode()
    return [{key: value for key, value in sample.items() if key not in ("__url__", "__local_path__")} for sample in dataset]


rows = {"tfrecords": tfrecords, "webdataset": samples}[sys.argv[1]]
print(json.dumps([shown(row) for path in sys.argv[2:] for row in rows(path)]))
