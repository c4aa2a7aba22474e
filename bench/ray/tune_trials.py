"""The twin of ../tune-trials.ts: trials of a function of one float that reports once, in shared actors or with a process each."""

import os
import tempfile
import time

os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "1")


def tune_trials(plan):
    return _trials_per_second(10 if plan["quick"] else 50, reuse_actors=True)


def tune_trial_processes(plan):
    return _trials_per_second(10 if plan["quick"] else 50, reuse_actors=False)


def _trials_per_second(trials, reuse_actors):
    from ray import tune

    def train(config):
        tune.report({"loss": config["x"] * config["x"]})

    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            train,
            param_space={"x": tune.uniform(-1, 1)},
            tune_config=tune.TuneConfig(metric="loss", mode="min", num_samples=trials, reuse_actors=reuse_actors),
            run_config=tune.RunConfig(storage_path=folder, name="trials", verbose=0),
        )
        started = time.monotonic()
        results = tuner.fit()
        elapsed = time.monotonic() - started
        assert len(results) == trials and results.num_errors == 0, (len(results), results.errors)
    return {"samples": [trials / elapsed]}


TUNE_FIGURES = {"tune-trials": tune_trials, "tune-trial-processes": tune_trial_processes}
