"""Records what Ray's schedulers decide, as tables that ours are held against: prints them as JSON.

Each table is a run of one scheduler over trials with known results: the order of results and the metrics come from a seeded generator, and a small controller
applies the decisions. Everything that the scheduler is told and asked is an event with Ray's answer. Draws of population based training are recorded too,
so that ours can be given the same. Needs ray[tune]==2.60.0 and scikit-learn. `tune-schedulers.test.ts` compares the output with `test/vectors/tune/schedulers.json`.
"""

import json
import logging
import math
import os
import random
import sys
import tempfile
import types
import warnings

os.environ.setdefault("RAY_LOG_TO_DRIVER", "0")
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import numpy as np  # noqa: E402
from ray.tune import schedulers as S  # noqa: E402
from ray.tune.execution.placement_groups import PlacementGroupFactory  # noqa: E402
from ray.tune.experiment import Trial  # noqa: E402
from ray.tune.schedulers import pbt as pbt_module  # noqa: E402
from ray.tune.schedulers import resource_changing_scheduler as R  # noqa: E402
from ray.tune.schedulers.pb2 import PB2  # noqa: E402

STATUS = {
    Trial.PENDING: "pending",
    Trial.RUNNING: "running",
    Trial.PAUSED: "paused",
    Trial.TERMINATED: "terminated",
    Trial.ERROR: "errored",
}


class MockTrial:
    """The attributes and methods of a trial that schedulers use."""

    def __init__(self, number, config, folder):
        self.trial_id = f"t{number}"
        self.status = Trial.PENDING
        self.config = config
        self.experiment_tag = self.trial_id
        self.is_saving = False
        self.last_result = {}
        self.evaluated_params = {}
        self.checkpoint = "checkpoint"
        self.temporary_state = types.SimpleNamespace(saving_to=None)
        manager = types.SimpleNamespace(checkpoint_config=types.SimpleNamespace(num_to_keep=None), _latest_checkpoint_result=None)
        self.run_metadata = types.SimpleNamespace(checkpoint_manager=manager)
        self.local_dir = self.local_experiment_path = folder
        self.placement_group_factory = None
        self.steps = 0

    def is_finished(self):
        return self.status in (Trial.TERMINATED, Trial.ERROR)

    def set_config(self, config):
        self.config = config

    def set_experiment_tag(self, tag):
        self.experiment_tag = tag

    def update_resources(self, resources):
        self.placement_group_factory = resources

    def __str__(self):
        return self.trial_id

    __repr__ = __str__


class Controller:
    """A loop over mock trials that applies what a scheduler decides, and records it."""

    def __init__(self, scheduler, cpus=0, gpus=0):
        self.scheduler = scheduler
        self.trials = []
        self.events = []
        self.draws = []
        self.now = None
        nothing = types.SimpleNamespace(on_pause=lambda _: None, on_unpause=lambda _: None)
        self.search_alg = types.SimpleNamespace(searcher=nothing)
        self._resource_updater = types.SimpleNamespace(get_num_cpus=lambda: cpus, get_num_gpus=lambda: gpus)

    def get_trials(self):
        return self.trials

    def get_live_trials(self):
        return [trial for trial in self.trials if not trial.is_finished()]

    def stop_trial(self, trial):
        self.now["stops"].append(trial.trial_id)
        was = trial.status
        trial.status = Trial.TERMINATED
        if was in (Trial.PENDING, Trial.PAUSED):
            self.scheduler.on_trial_remove(self, trial)

    def pause_trial(self, trial, should_checkpoint=True):
        trial.status = Trial.PAUSED

    def _schedule_trial_save(self, trial, result=None, storage=None):
        self.now["checkpoints"].append(trial.trial_id)
        return types.SimpleNamespace(resolve=lambda: "checkpoint")

    def record(self, event):
        self.now = {**event, "stops": [], "checkpoints": [], "draws": [], "exploits": []}
        self.events.append(self.now)
        return self.now


def clean(events):
    """Without empty lists; JSON has no NaN."""
    for event in events:
        if "result" in event and math.isnan(event["result"].get("score", 0)):
            event["result"]["score"] = "NaN"
        for key in ("stops", "checkpoints", "draws", "exploits"):
            if key in event and not event[key]:
                del event[key]
    return events


def steer(controller):
    """Records the draws of population based training."""
    source = random.Random(7)

    def draw():
        value = source.random()
        controller.now["draws"].append(value)
        return value

    def choice(items):
        index = source.randrange(len(items))
        kind = "donors" if items and isinstance(items[0], MockTrial) else "of"
        controller.now["draws"].append({"index": index, kind: [t.trial_id for t in items] if kind == "donors" else len(items)})
        return items[index]

    pbt_module.random = types.SimpleNamespace(random=draw, choice=choice)
    original = type(controller.scheduler)._exploit

    def exploit(self, tune_controller, trial, trial_to_clone):
        original(self, tune_controller, trial, trial_to_clone)
        controller.now["exploits"].append({"trial": trial.trial_id, "donor": trial_to_clone.trial_id, "config": trial.config})

    controller.scheduler._exploit = types.MethodType(exploit, controller.scheduler)


def run(scheduler, *, trials, slots, steps, seed=0, configs=None, time_step=1.0, fails=(), ends=None, nan=0.0, missing=0.0, ties=False,
        resources=None, cpus=0, gpus=0, population=False, limit=2000, late=0):
    controller = Controller(scheduler, cpus, gpus)
    source = random.Random(seed)
    folder = tempfile.mkdtemp()
    if population:
        steer(controller)
    qualities = [source.random() for _ in range(trials)]

    def add(number):
        trial = MockTrial(number, dict(configs(number)) if configs else {}, folder)
        if resources:
            trial.placement_group_factory = PlacementGroupFactory([dict(each) for each in resources])
        controller.trials.append(trial)
        event = controller.record({"type": "add", "trial": trial.trial_id, "config": json.loads(json.dumps(trial.config))})
        scheduler.on_trial_add(controller, trial)
        if isinstance(scheduler, S.AsyncHyperBandScheduler):
            event["bracket"] = scheduler._brackets.index(scheduler._trial_info[trial.trial_id])

    for number in range(trials - late):
        add(number)
    added = trials - late
    while len(controller.events) < limit:
        while sum(t.status == Trial.RUNNING for t in controller.trials) < slots:
            if added < trials and source.random() < 0.3:
                add(added)
                added += 1
            event = controller.record({"type": "choose"})
            chosen = scheduler.choose_trial_to_run(controller)
            event["trial"] = chosen.trial_id if chosen else None
            if chosen is None:
                if added < trials:
                    add(added)
                    added += 1
                    continue
                break
            chosen.status = Trial.RUNNING
            if resources:
                event["resources"] = [dict(b) for b in chosen.placement_group_factory.bundles]
        running = [t for t in controller.trials if t.status == Trial.RUNNING]
        if not running:
            break
        trial = source.choice(running)
        trial.steps += 1
        number = int(trial.trial_id[1:])
        value = qualities[number] * (1 - math.exp(-trial.steps / 4)) + 0.15 * (source.random() - 0.5)
        value = round(value * 4) / 4 if ties else round(value, 4)
        if source.random() < nan:
            value = float("nan")
        time = trial.steps * (time_step if not callable(time_step) else time_step(number))
        result = {"training_iteration": trial.steps, "score": value, "progress": time}
        if source.random() < missing:
            del result["score"]
        if (number, trial.steps) in fails:
            event = controller.record({"type": "error", "trial": trial.trial_id})
            trial.status = Trial.ERROR
            scheduler.on_trial_error(controller, trial)
            continue
        if trial.steps >= (ends(number) if ends else steps):
            event = controller.record({"type": "complete", "trial": trial.trial_id, "result": dict(result)})
            trial.last_result = result
            scheduler.on_trial_complete(controller, trial, result)
            trial.status = Trial.TERMINATED
            continue
        event = controller.record({"type": "result", "trial": trial.trial_id, "result": dict(result)})
        decision = scheduler.on_trial_result(controller, trial, result)
        trial.last_result = result
        event["decision"] = decision.lower()
        if decision == "STOP":
            trial.status = Trial.TERMINATED
        elif decision == "PAUSE":
            trial.status = Trial.PAUSED
        if resources:
            pending = getattr(scheduler, "_trials_to_reallocate", {}).get(trial)
            if pending is not None:
                event["resources"] = [dict(b) for b in pending.bundles]
    return clean(controller.events)


TABLES = []


def table(name, scheduler, options, make, **how):
    scheduler_object = make()
    TABLES.append(
        {"name": name, "scheduler": scheduler, "options": options, "events": run(scheduler_object, **how), **({"cluster": {"CPU": how.get("cpus", 0), "GPU": how.get("gpus", 0)}, "resources": how["resources"]} if how.get("resources") else {})}
    )


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def simple(name, kind, cls, given, **how):
    given = {"metric": "score", "mode": "max", "time_attr": "progress", **given}
    table(name, kind, {camel(key): value for key, value in given.items()}, lambda: cls(**given), **how)


def asha():
    def each(name, given, **how):
        simple(f"asha: {name}", "asha", S.ASHAScheduler, given, **{"trials": 14, "slots": 4, "steps": 30, **how})

    np.random.seed(3)
    each("defaults", {"max_t": 30})
    each("reduction 3", {"max_t": 27, "reduction_factor": 3}, seed=1)
    each("reduction 2, smaller is better", {"max_t": 16, "reduction_factor": 2, "mode": "min"}, seed=2)
    each("grace of 3", {"max_t": 24, "grace_period": 3, "reduction_factor": 2}, seed=3)
    each("three brackets", {"max_t": 27, "reduction_factor": 3, "brackets": 3}, trials=24, slots=6, seed=4)
    each("last trials go on", {"max_t": 9, "reduction_factor": 3, "stop_last_trials": False}, steps=14, seed=5)
    each("brackets, last trials go on", {"max_t": 9, "reduction_factor": 3, "brackets": 2, "stop_last_trials": False}, steps=12, seed=6)
    each("steps that pass rungs", {"max_t": 40, "reduction_factor": 2}, time_step=3, seed=7)
    each("not a number", {"max_t": 16, "reduction_factor": 2}, nan=0.2, seed=8)
    each("results without the metric", {"max_t": 16, "reduction_factor": 2}, missing=0.25, seed=9)
    each("ties", {"max_t": 16, "reduction_factor": 2}, ties=True, seed=10)
    each("early ends and failures", {"max_t": 16, "reduction_factor": 2}, ends=lambda n: 3 + n, fails={(2, 2), (5, 1)}, seed=11)
    each("a fraction as reduction", {"max_t": 20, "reduction_factor": 2.5, "grace_period": 1.5}, time_step=0.5, seed=12)


def median():
    def each(name, given, **how):
        simple(f"median: {name}", "median_stopping_rule", S.MedianStoppingRule, given, **{"trials": 8, "slots": 8, "steps": 12, **how})

    each("grace of 3, two samples", {"grace_period": 3, "min_samples_required": 2})
    each("smaller is better", {"grace_period": 2, "min_samples_required": 2, "mode": "min"}, seed=1)
    each("few run at once", {"grace_period": 2, "min_samples_required": 3}, slots=3, seed=2)
    each("time slices", {"grace_period": 2, "min_samples_required": 4, "min_time_slice": 3}, slots=3, seed=3)
    each("soft stop", {"grace_period": 2, "min_samples_required": 2, "hard_stop": False}, seed=4)
    each("not a number", {"grace_period": 1, "min_samples_required": 2}, nan=0.15, seed=5)
    each("clocks of different speed", {"grace_period": 4, "min_samples_required": 2}, time_step=lambda n: 1 + n % 3, seed=6)
    each("early ends", {"grace_period": 2, "min_samples_required": 3}, ends=lambda n: 3 + n, trials=10, slots=5, seed=7)


def hyperband():
    def each(name, given, **how):
        simple(f"hyperband: {name}", "hyperband", S.HyperBandScheduler, given, **{"trials": 20, "slots": 4, "steps": 100, "limit": 900, **how})

    each("to 9 by 3", {"max_t": 9, "reduction_factor": 3})
    each("to 16 by 2, smaller is better", {"max_t": 16, "reduction_factor": 2, "mode": "min"}, trials=30, seed=1)
    each("to 81 by 3", {"max_t": 81, "reduction_factor": 3}, trials=10, seed=2, time_step=3)
    each("last trials go on", {"max_t": 9, "reduction_factor": 3, "stop_last_trials": False}, steps=14, seed=3)
    each("failures and early ends", {"max_t": 9, "reduction_factor": 3}, fails={(1, 1), (4, 2), (9, 1)}, ends=lambda n: 100 if n % 3 else 4, seed=4)
    each("trials that come late", {"max_t": 8, "reduction_factor": 2}, late=8, seed=5)
    each("ties", {"max_t": 9, "reduction_factor": 3}, ties=True, seed=6)
    each("to 20 by 4", {"max_t": 20, "reduction_factor": 4}, trials=25, seed=7)


def bohb():
    def each(name, given, **how):
        simple(f"bohb: {name}", "hb_bohb", S.HyperBandForBOHB, given, **{"trials": 16, "slots": 4, "steps": 100, "limit": 900, **how})

    each("to 9 by 3", {"max_t": 9, "reduction_factor": 3})
    each("to 16 by 4, smaller is better", {"max_t": 16, "reduction_factor": 4, "mode": "min"}, trials=24, seed=1)
    each("trials that come late", {"max_t": 9, "reduction_factor": 3}, late=10, seed=2)
    each("one at a time", {"max_t": 8, "reduction_factor": 2}, slots=1, seed=3)


def population():
    def each(name, given, configs=None, **how):
        base = {"metric": "score", "mode": "max", "time_attr": "progress", "perturbation_interval": 2, "log_config": False}
        given = {**base, **given}
        options = {camel(key): value for key, value in given.items()}
        python = dict(given)
        python["hyperparam_mutations"] = {
            key: (lambda fixed=value["constant"]: fixed) if isinstance(value, dict) and "constant" in value else value
            for key, value in given["hyperparam_mutations"].items()
        }
        table(
            f"pbt: {name}", "pbt", options, lambda: S.PopulationBasedTraining(**python),
            **{"trials": 8, "slots": 8, "steps": 16, "population": True, "configs": configs or (lambda n: {"lr": 0.01, "momentum": 0.5 + n / 100}), **how},
        )

    lists = {"lr": [0.001, 0.01, 0.1, 1.0], "momentum": {"constant": 0.9}}
    each("all at once", {"hyperparam_mutations": lists})
    each("fewer slots than trials", {"hyperparam_mutations": lists}, slots=3, seed=1)
    each("synchronously", {"hyperparam_mutations": lists, "synch": True}, slots=3, seed=2)
    each("synchronously, all at once", {"hyperparam_mutations": lists, "synch": True, "mode": "min"}, seed=3)
    each("burn-in", {"hyperparam_mutations": lists, "burn_in_period": 6}, seed=4)
    each("halves of the population", {"hyperparam_mutations": lists, "quantile_fraction": 0.5, "mode": "min"}, trials=7, slots=7, seed=5)
    each("nothing is exploited", {"hyperparam_mutations": lists, "quantile_fraction": 0}, seed=6)
    each("other factors, no resampling", {"hyperparam_mutations": lists, "perturbation_factors": [2, 0.5, 1.1], "resample_probability": 0}, seed=7)
    each("always resampled", {"hyperparam_mutations": lists, "resample_probability": 1}, seed=8)
    each(
        "whole numbers, truth and nesting",
        {"hyperparam_mutations": {"batch": {"constant": 17}, "flag": {"constant": True}, "model": {"depth": [1, 2, 3, 4], "act": ["relu", "tanh"]}}},
        configs=lambda n: {"batch": 5 + n, "flag": n % 2 == 0, "model": {"depth": 2, "act": "relu", "fixed": 9}, "other": "kept"},
        seed=9,
    )
    each("values outside of the list", {"hyperparam_mutations": {"lr": [1, 2, 4]}}, configs=lambda n: {"lr": 3}, seed=10)
    each("failures, early ends and not a number", {"hyperparam_mutations": lists}, fails={(0, 5), (3, 7)}, ends=lambda n: 10 + n, nan=0.1, seed=11)


def pb2():
    for name, given, how in [
        ("all at once", {}, {}),
        ("fewer slots than trials", {"quantile_fraction": 0.5}, {"slots": 3, "seed": 1}),
        ("synchronously", {"synch": True, "mode": "min"}, {"seed": 2}),
    ]:
        base = {"metric": "score", "mode": "max", "time_attr": "progress", "perturbation_interval": 2, "log_config": False}
        given = {**base, "hyperparam_bounds": {"lr": [0.001, 0.1], "model": {"width": [8, 64]}}, **given}
        np.random.seed(1)
        table(
            f"pb2: {name}", "pb2", {camel(key): value for key, value in given.items()}, lambda: PB2(**given),
            **{"trials": 6, "slots": 6, "steps": 12, "population": True, "configs": lambda n: {"lr": 0.01 + n / 1000, "model": {"width": 10 + n}}, **how},
        )


def resources():
    for name, function, given, how in [
        ("one CPU each", R.DistributeResources, {}, {"resources": [{"CPU": 1}], "cpus": 8}),
        ("by two, three times", R.DistributeResources, {"increase_by": {"CPU": 2}, "increase_by_times": 3}, {"resources": [{"CPU": 1}], "cpus": 20}),
        ("more bundles", R.DistributeResources, {"add_bundles": True}, {"resources": [{"CPU": 1}, {"CPU": 1}], "cpus": 12}),
        ("GPUs", R.DistributeResources, {}, {"resources": [{"CPU": 1, "GPU": 1}], "cpus": 16, "gpus": 6}),
        ("some are kept", R.DistributeResources, {"reserve_resources": {"CPU": 3}}, {"resources": [{"CPU": 1}], "cpus": 10}),
        ("to the best", R.DistributeResourcesToTopJob, {"metric": "score", "mode": "max"}, {"resources": [{"CPU": 1}], "cpus": 8}),
        ("to the best, at most two", R.DistributeResourcesToTopJob, {"increase_by": {"CPU": 1}, "increase_by_times": 2, "metric": "score", "mode": "min"}, {"resources": [{"CPU": 1}], "cpus": 10}),
        ("bundles to the best", R.DistributeResourcesToTopJob, {"add_bundles": True, "metric": "score", "mode": "max"}, {"resources": [{"CPU": 1}], "cpus": 9}),
    ]:
        options = {"function": "distributeResourcesToTopJob" if "TopJob" in function.__name__ else "distributeResources", "options": {camel(k): v for k, v in given.items()}}
        table(
            f"resources: {name}", "resource_changing", options,
            lambda: S.ResourceChangingScheduler(S.FIFOScheduler(), function(**given)),
            **{"trials": 4, "slots": 4, "steps": 6, "ends": lambda n: 4 + 2 * n, **how},
        )


def shapes():
    """Rungs and sizes of brackets, without a run."""
    rungs = []
    for max_t, grace, factor in [(100, 1, 4), (81, 1, 3), (27, 1, 3), (9, 1, 3), (243, 1, 3), (16, 1, 2), (1000, 1, 10), (64, 1, 4), (50, 5, 2), (10, 10, 3), (7, 2, 1.5), (125, 1, 5)]:
        for skipped in range(3):
            bracket = S.async_hyperband._Bracket(grace, max_t, factor, skipped)
            rungs.append({"maxT": max_t, "gracePeriod": grace, "reductionFactor": factor, "skipped": skipped, "milestones": [float(m) for m, _ in bracket._rungs]})
    brackets = []
    for cls, kind in [(S.HyperBandScheduler, "hyperband"), (S.HyperBandForBOHB, "hb_bohb")]:
        for max_t, factor in [(81, 3), (27, 3), (9, 3), (16, 2), (20, 4), (100, 3), (64, 4), (7, 2)]:
            scheduler = cls(metric="score", mode="max", max_t=max_t, reduction_factor=factor)
            sizes = []
            last = None
            for number in range(400):
                scheduler.on_trial_add(Controller(scheduler), MockTrial(number, {}, ""))
                bracket = scheduler._state["bracket"]
                if bracket is not last:
                    sizes.append([bracket._n0, bracket._r0, bracket._halves])
                    last = bracket
            brackets.append({"scheduler": kind, "maxT": max_t, "reductionFactor": factor, "trials": 400, "brackets": sizes[:-1]})
    return {"rungs": rungs, "brackets": brackets}


def main():
    for part in (asha, median, hyperband, bohb, population, pb2, resources):
        part()
    output = {"ray": "2.60.0", **shapes(), "tables": TABLES}
    json.dump(output, sys.stdout, separators=(",", ":"), default=float)


main()
