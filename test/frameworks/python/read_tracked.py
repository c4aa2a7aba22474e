"""Reads what MLflow, Weights & Biases, Comet and Aim have stored, all but Comet with their own code, and prints it as JSON: ``mlflow FOLDER``, or ``wandb``, ``comet`` or ``aim``."""

import glob
import json
import os
import struct
import sys
import zipfile

#: Of the log format of LevelDB, in which wandb writes its records.
_BLOCK_BYTES = 32768


def mlflow_runs(folder):
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=folder)
    found = {}
    for experiment in client.search_experiments():
        for run in client.search_runs([experiment.experiment_id]):
            metrics = {name: [[one.step, one.value] for one in client.get_metric_history(run.info.run_id, name)] for name in run.data.metrics}
            found["%s/%s" % (experiment.name, run.info.run_name)] = {"params": run.data.params, "metrics": metrics, "status": run.info.status, "team": run.data.tags.get("team")}
    return found


def wandb_runs(folder):
    from wandb.proto import wandb_internal_pb2

    found = {}
    for path in glob.glob(os.path.join(folder, "wandb", "offline-run-*", "*.wandb")):
        run = {"history": [], "config": {}}
        for record in records(path):
            message = wandb_internal_pb2.Record.FromString(record)
            kind = message.WhichOneof("record_type")
            if kind == "run":
                run.update(project=message.run.project, name=message.run.display_name, group=message.run.run_group)
                run["config"].update({item.key: json.loads(item.value_json) for item in message.run.config.update})
            elif kind == "history":
                run["history"].append({"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in message.history.item})
            elif kind == "exit":
                run["exit"] = message.exit.exit_code
        found[run["name"]] = run
    return found


def comet_runs(folder):
    found = {}
    for path in glob.glob(os.path.join(folder, "*.zip")):
        with zipfile.ZipFile(path) as archive:
            experiment = json.loads(archive.read("experiment.json"))
            messages = [json.loads(line) for line in archive.read("messages.json").splitlines()]
        payloads = [message["payload"] for message in messages]
        params = {one["param"]["paramName"]: one["param"]["paramValue"] for one in payloads if one.get("param", {}).get("source") == "manual"}
        others = {message["payload"]["key"]: message["payload"]["value"] for message in messages if message["type"] == "log_other"}
        metrics = {}
        for one in payloads:
            if one.get("metric"):
                metrics.setdefault(one["metric"]["metricName"], []).append([one["metric"]["step"], one["metric"]["metricValue"]])
        found[others["Name"]] = {"project": experiment["project_name"], "tags": experiment["tags"], "params": params, "metrics": metrics, "others": others}
    return found


def aim_runs(folder):
    import aim
    from aim.sdk.index_manager import RepoIndexManager
    from aim.storage.context import Context

    repo = aim.Repo.from_path(folder)
    # As `aim up` does.
    for each in repo.list_all_runs():
        RepoIndexManager.get_index_manager(repo).index(each)
    found = {}
    for run in repo.iter_runs():
        metrics = {metric.name: [[step, value] for step, value in zip(*steps_and_values(metric))] for metric in run.metrics()}
        note = run.get_text_sequence("note", Context({}))
        texts = {"note": [[step, value.data] for step, value in zip(*steps_and_values(note))]} if note else {}
        found[run.name] = {"experiment": run.experiment, "params": run["hparams"], "state": run["state"], "metrics": metrics, "texts": texts}
    return found


def steps_and_values(sequence):
    steps, (values, *_) = sequence.data.items_list()
    return steps, values


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b":W&B":
        raise ValueError("%s is no file of wandb" % path)
    at, parts = 7, []
    while at + 7 <= len(data):
        left = _BLOCK_BYTES - at % _BLOCK_BYTES
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        parts.append(data[at + 7 : at + 7 + length])
        at += 7 + length
        # Whole, or the last part of one.
        if kind in (1, 4):
            yield b"".join(parts)
            parts = []


print(json.dumps({"mlflow": mlflow_runs, "wandb": wandb_runs, "comet": comet_runs, "aim": aim_runs}[sys.argv[1]](sys.argv[2])))
