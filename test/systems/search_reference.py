"""Asks the reference searchers for the problems of `search-problems.ts`: Optuna's samplers and bayesian-optimization.

Usage: search_reference.py SEARCHER PROBLEM TRIALS SEEDS [FIRST_SEED]. Prints one line of JSON: for each seed the best regret after TRIALS trials, or all losses for a problem
with two of them, and the mean milliseconds of an ask with its tell. The problems are written down twice, here and in TypeScript; the test compares both at some points
(PROBLEM `check`). Models that are trained are here alone: SEARCHER `serve` reads a point a line and prints its loss.
"""

import json
import math
import os
import sys
import threading
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")

HARTMANN_A = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])
HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
HARTMANN_ALPHA = np.array([1, 1.2, 3, 3.2])
HARTMANN_BEST = 3.3223680114155147
BRANIN_BEST = 0.39788735772973816


def branin(p):
    x, y = p["x"], p["y"]
    inner = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return inner**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10 - BRANIN_BEST


def hartmann6(p):
    x = np.array([p[f"x{i}"] for i in range(6)])
    return HARTMANN_BEST - float((HARTMANN_ALPHA * np.exp(-(HARTMANN_A * (x - HARTMANN_P) ** 2).sum(axis=1))).sum())


def rosenbrock8(p):
    x = [p[f"x{i}"] for i in range(8)]
    return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(7))


def mixed(p):
    return (p["x"] - 2) ** 2 + (math.log10(p["lr"]) + 3) ** 2 + {"a": 0, "b": 1, "c": 3}[p["c"]]


def zdt1(p):
    x = [p[f"x{i}"] for i in range(6)]
    g = 1 + 9 * sum(x[1:]) / 5
    return [x[0], g * (1 - math.sqrt(x[0] / g))]


def trade(p):
    x, lr = p["x"], math.log10(p["lr"])
    near, far = {"a": (0, 6), "b": (2, 3), "c": (8, 0)}[p["c"]]
    return [(x - 2) ** 2 + (lr + 3) ** 2 + near, (x + 2) ** 2 + (lr + 2) ** 2 + far]


def curve(p, part):
    """Mixed, trained to a part of its end: the best values move as the training goes on."""
    left = 1 - part
    return (p["x"] - 2 - left) ** 2 + (math.log10(p["lr"]) + 3 - left / 2) ** 2 + {"a": 0, "b": 1, "c": 3}[p["c"]] + 3 * (math.exp(-5 * part) - math.exp(-5))


def trained(name):
    def objective(p):
        import search_models

        return getattr(search_models, name)(p)

    return objective


# Each dimension: lower and upper bound, whether its logarithm is searched, and where it is whole True; or a list of choices.
PROBLEMS = {
    "branin": (branin, {"x": (-5.0, 10.0, False), "y": (0.0, 15.0, False)}),
    "hartmann6": (hartmann6, {f"x{i}": (0.0, 1.0, False) for i in range(6)}),
    "rosenbrock8": (rosenbrock8, {f"x{i}": (-2.0, 2.0, False) for i in range(8)}),
    "mixed": (mixed, {"x": (-5.0, 5.0, False), "lr": (1e-5, 1.0, True), "c": ["a", "b", "c"]}),
    "zdt1": (zdt1, {f"x{i}": (0.0, 1.0, False) for i in range(6)}),
    "trade": (trade, {"x": (-5.0, 5.0, False), "lr": (1e-5, 1.0, True), "c": ["a", "b", "c"]}),
    "curve": (curve, {"x": (-5.0, 5.0, False), "lr": (1e-5, 1.0, True), "c": ["a", "b", "c"]}),
    "xgboost": (
        trained("xgboost"),
        {
            "rounds": (10, 150, True, True),
            "depth": (1, 10, False, True),
            "eta": (1e-3, 1.0, True),
            "subsample": (0.3, 1.0, False),
            "columns": (0.3, 1.0, False),
            "weight": (0.1, 20.0, True),
            "lambda": (1e-4, 100.0, True),
        },
    ),
    "network": (
        trained("network"),
        {
            "rate": (1e-4, 0.3, True),
            "alpha": (1e-6, 10.0, True),
            "width": (4, 64, True, True),
            "batch": (8, 128, True, True),
            "momentum": (0.0, 0.99, False),
            "activation": ["relu", "tanh", "logistic"],
        },
    ),
}


def optuna_sampler(name, seed, dimensions):
    from optuna import samplers

    if name == "tpe":
        return samplers.TPESampler(seed=seed)
    if name == "tpe-univariate":
        return samplers.TPESampler(seed=seed, multivariate=False)
    if name == "gp":
        return samplers.GPSampler(seed=seed, deterministic_objective=True)
    if name == "cmaes":
        return samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    return samplers.RandomSampler(seed=seed)


def suggest(trial, dimensions):
    def one(key, d):
        if isinstance(d, list):
            return trial.suggest_categorical(key, d)
        return trial.suggest_int(key, d[0], d[1], log=d[2]) if len(d) > 3 else trial.suggest_float(key, d[0], d[1], log=d[2])

    return {key: one(key, d) for key, d in dimensions.items()}


def with_optuna(name, problem, trials, seed):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    objective, dimensions = PROBLEMS[problem]
    directions = ["minimize"] * (2 if problem in ("zdt1", "trade") else 1)
    study = optuna.create_study(sampler=optuna_sampler(name, seed, dimensions), directions=directions)
    study.optimize(lambda trial: objective(suggest(trial, dimensions)), n_trials=trials)
    return study.best_value if len(directions) == 1 else [trial.values for trial in study.trials]


def with_hyperband(problem, trials, seed):
    """Optuna's TPE with its HyperBand, for as many steps as some trials have that run to their ends."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    objective, dimensions = PROBLEMS[problem]
    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=STEPS, reduction_factor=3)
    # The study's name says which trial is in which bracket.
    study = optuna.create_study(study_name=f"seed {seed}", sampler=optuna_sampler("tpe", seed, dimensions), pruner=pruner)
    left = trials * STEPS
    best = math.inf

    def run(trial):
        nonlocal left, best
        point = suggest(trial, dimensions)
        for step in range(1, STEPS + 1):
            left -= 1
            value = objective(point, step / STEPS)
            if step == STEPS:
                best = min(best, value)
            trial.report(value, step)
            if left <= 0 or (step < STEPS and trial.should_prune()):
                raise optuna.TrialPruned
        return value

    while left > 0:
        study.optimize(run, n_trials=1)
    return best


def with_bayes_opt(problem, trials, seed):
    from bayes_opt import BayesianOptimization

    objective, dimensions = PROBLEMS[problem]
    bounds = {
        key: (0.0, float(len(d))) if isinstance(d, list) else (math.log(d[0]), math.log(d[1])) if d[2] else d[:2]
        for key, d in dimensions.items()
    }

    def value(**point):
        config = {
            key: d[min(int(point[key]), len(d) - 1)] if isinstance(d, list) else math.exp(point[key]) if d[2] else point[key]
            for key, d in dimensions.items()
        }
        return -objective(config)

    search = BayesianOptimization(value, bounds, random_state=seed, verbose=0, allow_duplicate_points=True)
    search.maximize(init_points=5, n_iter=trials - 5)
    return -search.max["target"]


#: How many steps a trial of `curve` has.
STEPS = 27


def run(searcher, problem, trials, seed):
    if searcher == "bayes-opt":
        return with_bayes_opt(problem, trials, seed)
    return with_hyperband(problem, trials, seed) if searcher == "hyperband" else with_optuna(searcher, problem, trials, seed)


def die_with(parent):
    """A test that is interrupted waits for nobody: a search for it would go on for minutes."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main():
    threading.Thread(target=die_with, args=(os.getppid(),), daemon=True).start()
    searcher, problem, trials, seeds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if problem == "check":
        points = json.loads(sys.stdin.read())
        print(json.dumps([PROBLEMS[name][0](*point) if isinstance(point, list) else PROBLEMS[name][0](point) for name, point in points]))
        return
    if searcher == "serve":
        for line in sys.stdin:
            print(json.dumps(PROBLEMS[problem][0](json.loads(line))), flush=True)
        return
    first = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    began = time.process_time()
    results = [run(searcher, problem, trials, seed) for seed in range(first, first + seeds)]
    print(json.dumps({"results": results, "ms": 1000 * (time.process_time() - began) / (trials * seeds)}))


main()
