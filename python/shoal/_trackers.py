"""MLflow, Weights & Biases, Comet and Aim for runs: the actors behind ``MLflowLoggerCallback``, ``WandbLoggerCallback``, ``CometLoggerCallback`` and ``AimLoggerCallback`` of TypeScript
(``src/runs/trackers/python/mlflow-tracker.ts`` and its neighbours).

An actor follows all runs, or trials, of its tracker by their ids. It stands on the libraries' own clients, so whatever they read from the environment (addresses, credentials, offline
modes) counts here.
"""

import importlib
import os
import re
import sys

_PARAM_LENGTH = 500
_BATCH = 1000


def library(name, needed_by):
    """:raises ImportError: that says how to install it into this interpreter"""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        raise ImportError(
            "%s needs %s, which this Python lacks: %s -m pip install %s (or name an environment that has it: { runtimeEnv: { python: '...' } })"
            % (needed_by, name, sys.executable, name)
        ) from error


def allow_folder(uri):
    """MLflow asks by a variable whether a folder is really meant."""
    if uri is not None and ("://" not in uri or uri.startswith("file:")):
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")


def experiment_id_of(client, name, artifact_location=None):
    """The id of MLflow's experiment of this name, which is made where there is none."""
    found = client.get_experiment_by_name(name)
    if found is not None:
        return found.experiment_id
    try:
        return client.create_experiment(name, artifact_location=artifact_location)
    except Exception:
        # Some other process may have created the experiment in between.
        found = client.get_experiment_by_name(name)
        if found is None:
            raise
        return found.experiment_id


class MlflowRuns:
    def __init__(self, options):
        uri = options.get("trackingUri")
        allow_folder(uri)
        mlflow = library("mlflow", "MLflowLoggerCallback")
        from mlflow.entities import Metric, Param, RunTag

        self._metric, self._param, self._tag = Metric, Param, RunTag
        self._client = mlflow.MlflowClient(tracking_uri=uri, registry_uri=options.get("registryUri"))
        self._options = options
        self._saves_artifacts = options["saveArtifact"]
        #: By our ids, theirs and the folders.
        self._runs = {}

    def open(self, run):
        experiment_id = experiment_id_of(self._client, self._options.get("experimentName") or run["experimentName"])
        tags = {"mlflow.runName": run["name"], "shoal.run_id": run["id"], "trial_name": run["name"], **self._options["tags"]}
        found = self._earlier(experiment_id, run["id"]) if run["isResumed"] else None
        if found is None:
            found = self._client.create_run(experiment_id, tags=tags, run_name=run["name"]).info.run_id
        else:
            self._client.update_run(found, status="RUNNING")
        self._runs[run["id"]] = (found, run["folder"])
        params = [self._param(name, value) for name, value in mlflow_params(run["config"]).items()]
        # A parameter cannot be changed: one that a resumed run has already is logged again with the same value.
        for at in range(0, len(params), 100):
            self._client.log_batch(found, params=params[at : at + 100])
        return found

    def log(self, id_, rows):
        run_id, _ = self._runs[id_]
        metrics = [
            self._metric(_mlflow_name(name), float(value), int(row["timestampMs"]), row["step"])
            for row in rows
            for name, value in row["values"].items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        ]
        for at in range(0, len(metrics), _BATCH):
            self._client.log_batch(run_id, metrics=metrics[at : at + _BATCH])

    def close(self, id_, state):
        run_id, folder = self._runs.pop(id_)
        try:
            if self._saves_artifacts and "://" not in folder:
                self._client.log_artifacts(run_id, local_dir=folder)
        finally:
            self._client.set_terminated(run_id, status="FINISHED" if state == "finished" else "FAILED")

    def _earlier(self, experiment_id, id_):
        runs = self._client.search_runs([experiment_id], "tags.`shoal.run_id` = '%s'" % id_.replace("'", ""), max_results=1)
        return runs[0].info.run_id if runs else None


def mlflow_params(flat):
    """Parameters as MLflow takes them, of a configuration without dictionaries in it."""
    return {_mlflow_name(name): str(value)[:_PARAM_LENGTH] for name, value in flat.items()}


def _mlflow_name(name):
    """Names of MLflow have letters, digits, and few other characters; none leads out of its folder."""
    return re.sub(r"[^\w\-./ :]|^[./ ]+|(?<=/)\.+", "_", name, flags=re.ASCII).replace("//", "/_/").rstrip("/") or "_"


class WandbRuns:
    def __init__(self, options):
        # W&B's summaries are for people at a terminal; the driver has its own lines.
        os.environ.setdefault("WANDB_SILENT", "true")
        self._wandb = library("wandb", "WandbLoggerCallback")
        self._options = options
        self._runs = {}

    def open(self, run):
        options = self._options
        given = {name: options[name] for name in ("entity", "mode", "dir", "tags") if options[name] is not None}
        # "create_new": several runs at a time in one process.
        self._runs[run["id"]] = self._wandb.init(
            project=options.get("project") or run["experimentName"],
            group=options.get("group"),
            name=run["name"],
            id=re.sub(r"[^\w\-]", "_", run["id"], flags=re.ASCII),
            resume="allow" if run["isResumed"] else None,
            config=run["config"],
            settings=self._wandb.Settings(console="off"),
            reinit="create_new",
            **given,
        )

    def log(self, id_, rows):
        run = self._runs[id_]
        for row in rows:
            run.log({**row["values"], "timestamp": row["timestampMs"] / 1000}, step=row["step"])

    def close(self, id_, state):
        self._runs.pop(id_).finish(exit_code=0 if state == "finished" else 1)


class CometRuns:
    #: What Comet would look for by itself: the actor's own code, arguments and machine say nothing of a run.
    _QUIET = {
        "auto_metric_logging": False,
        "auto_output_logging": False,
        "auto_param_logging": False,
        "display_summary_level": 0,
        "log_code": False,
        "log_env_details": False,
        "log_git_metadata": False,
        "log_git_patch": False,
        "log_graph": False,
        "parse_args": False,
    }

    def __init__(self, options):
        os.environ.setdefault("COMET_LOGGING_CONSOLE", "ERROR")
        self._comet = library("comet_ml", "CometLoggerCallback")
        self._options = options
        self._runs = {}

    def open(self, run):
        options = self._options
        given = {"workspace": options["workspace"], "project_name": options["projectName"] or run["experimentName"]}
        if options["online"]:
            experiment = self._comet.Experiment(**given, **self._QUIET)
        else:
            experiment = self._comet.OfflineExperiment(offline_directory=options["offlineDirectory"], **given, **self._QUIET)
        # Comet ends the experiment that a process has when another one begins.
        self._comet.config.set_global_experiment(None)
        experiment.set_name(run["name"])
        experiment.add_tags(options["tags"])
        experiment.log_others({"Created from": "Shoal", "shoal.run_id": run["id"]})
        experiment.log_parameters(run["config"])
        self._runs[run["id"]] = experiment

    def log(self, id_, rows):
        experiment = self._runs[id_]
        for row in rows:
            numbers = {name: value for name, value in row["values"].items() if isinstance(value, (int, float))}
            experiment.log_metrics(numbers, step=row["step"])
            experiment.log_others({name: value for name, value in row["values"].items() if isinstance(value, str)})

    def close(self, id_, state):
        experiment = self._runs.pop(id_)
        experiment.log_other("state", state)
        experiment.end()


class AimRuns:
    #: Aim would measure the actor's own system and output, which say nothing of a run.
    _QUIET = {"system_tracking_interval": None, "log_system_params": False, "capture_terminal_logs": False}

    def __init__(self, options):
        self._aim = library("aim", "AimLoggerCallback")
        self._options = options
        self._runs = {}

    def open(self, run):
        options = self._options
        given = {"repo": options["repo"], "experiment": options["experimentName"] or run["experimentName"], **self._QUIET}
        mark = "Shoal run %s" % run["id"]
        earlier = self._earlier(mark) if run["isResumed"] else None
        # A process that died has left its lock.
        followed = self._aim.Run(**given) if earlier is None else self._aim.Run(earlier, force_resume=True, **given)
        followed.name = run["name"]
        followed.description = mark
        followed["hparams"] = run["config"]
        self._runs[run["id"]] = followed

    def log(self, id_, rows):
        run = self._runs[id_]
        names = self._options["metrics"]
        for row in rows:
            for name, value in row["values"].items():
                if names is not None and name not in names:
                    continue
                if isinstance(value, str):
                    run.track(self._aim.Text(value), name=name, step=row["step"], epoch=row["step"])
                elif isinstance(value, (int, float)) and not isinstance(value, bool):
                    run.track(float(value), name=name, step=row["step"], epoch=row["step"])

    def close(self, id_, state):
        run = self._runs.pop(id_)
        run["state"] = state
        run.close()

    def _earlier(self, mark):
        """The run that has this description: Aim's database has it even of a run whose process died."""
        repo = self._aim.Repo.from_path(self._options["repo"] or self._aim.Repo.default_repo_path(), init=True)
        return next((one.hash for one in repo.structured_db.runs() if one.description == mark), None)
