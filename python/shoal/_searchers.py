"""Searchers of Python libraries for shoal/tune: each is an actor's class that is asked for points and told losses.

A space comes as a list of axes: `name`, `kind` (float, int or choice), bounds or the number of options, `log`, `step`, and `condition` (the index of another axis, and the
option that it must have). A point is a dict of numbers by name, of the axes that count; a choice is the index of its option. Losses are smaller for better.
`replay` repeats a log of asks and tells, which is how a search goes on in another process: nothing is ever unpickled.
"""

import importlib
import math
import random
import sys


def library(name, searcher, install):
    """A library that the user has to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != name.split(".")[0]:
            raise
        raise ImportError(
            f"Cannot search with {searcher}: this Python has no {name}: {sys.executable} -m pip install {install}"
            " (or name an environment that has it: { runtimeEnv: { python: '...' } })"
        ) from error


class Searcher:
    """Base of all adapters: keeps the running trials by our ids, and replays a log."""

    def __init__(self, axes, options):
        self.axes = axes
        self.options = options
        self.seed = options["seed"]
        #: The library's handles of running trials, by our ids.
        self.running = {}
        #: Points of running trials that differ from the library's proposals, by our ids.
        self.foreign = {}
        self.begin()

    def begin(self):
        """Makes the library's object."""

    def propose(self):
        """Returns the library's handle and the proposed point."""
        raise NotImplementedError

    def learn(self, handle, losses):
        """Tells the library of the losses of a proposed point; None is a failure."""
        raise NotImplementedError

    def observe(self, point, losses):
        """Tells the library of a point that it has not proposed."""
        raise NotImplementedError

    def ask(self, trial_id):
        handle, point = self.propose()
        self.running[trial_id] = handle
        return point

    def tell(self, trial_id, losses):
        if trial_id not in self.running:
            return
        handle = self.running.pop(trial_id)
        point = self.foreign.pop(trial_id, None)
        if point is None:
            self.learn(handle, losses)
            return
        if handle is not None:
            self.learn(handle, None)
        if losses is not None:
            self.observe(point, losses)

    def give(self, trial_id, point, axes=None):
        """A trial runs at a point that the user gave."""
        self.running[trial_id] = None
        self.foreign[trial_id] = point

    def replay(self, log):
        """Repeats asks, given points and tells. The same seed makes the library propose the same points; where another version proposes others, the logged points count."""
        for call, trial_id, value, *axes in log:
            if call == "ask":
                if self.ask(trial_id, *axes) != value:
                    self.foreign[trial_id] = value
            elif call == "give":
                self.give(trial_id, value, *axes)
            elif call == "observe":
                self.observe(value["point"], value["losses"])
            else:
                self.tell(trial_id, value)

    def counts(self, axis, point):
        condition = axis.get("condition")
        return condition is None or point.get(self.axes[condition["axis"]]["name"]) == condition["option"]

    def plain(self, searcher):
        """Refuses conditions and choices for libraries that have neither."""
        for axis in self.axes:
            if axis.get("condition") is not None:
                raise ValueError(f"Cannot search {axis['name']!r} with {searcher}: it has no conditional places: use OptunaSearch or TPESearch")


class OptunaSearcher(Searcher):
    """Optuna's study, asked define-by-run, so that conditional places are its own conditional parameters."""

    def begin(self):
        self.optuna = optuna = library("optuna", "OptunaSearch", '"optuna>=4"')
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        samplers = {
            "tpe": "TPESampler", "gp": "GPSampler", "cmaes": "CmaEsSampler", "random": "RandomSampler", "qmc": "QMCSampler", "nsgaii": "NSGAIISampler", "nsgaiii": "NSGAIIISampler",
        }
        sampler = getattr(optuna.samplers, samplers[self.options["sampler"]])(seed=self.seed, **self.options["samplerOptions"])
        self.storage = self.options.get("storage")
        name = self.options.get("studyName")
        self.study = optuna.create_study(
            storage=self.storage, study_name=name, sampler=sampler, directions=["minimize"] * self.options["objectives"], load_if_exists=name is not None
        )

    def ask(self, trial_id):
        known = self._stored(trial_id)
        if known is None:
            return super().ask(trial_id)
        # A study in a storage outlives a driver that was killed after it asked.
        self.running[trial_id] = known.number
        return {name: float(value) for name, value in known.params.items()}

    def propose(self):
        trial = self.study.ask()
        point = {}
        for axis in self.axes:
            if self.counts(axis, point):
                point[axis["name"]] = self._suggest(trial, axis)
        return trial.number, point

    def _suggest(self, trial, axis):
        name = axis["name"]
        if axis["kind"] == "choice":
            return trial.suggest_categorical(name, list(range(axis["count"])))
        if axis["kind"] == "int":
            return trial.suggest_int(name, int(axis["low"]), int(axis["high"]), **({"log": True} if axis["log"] else {"step": int(axis["step"])}))
        step = axis.get("step")
        return trial.suggest_float(name, axis["low"], axis["high"], **({"log": True} if axis["log"] else {"step": step} if step else {}))

    def _stored(self, trial_id):
        if self.storage is None:
            return None
        return next((each for each in self.study.get_trials(deepcopy=False) if each.user_attrs.get("shoal_trial_id") == trial_id), None)

    def mark(self, trial_id):
        """Writes our id to a trial in a storage, so that it is found again."""
        if self.storage is not None and self.running.get(trial_id) is not None:
            trial = self.study.get_trials(deepcopy=False)[self.running[trial_id]]
            self.study._storage.set_trial_user_attr(trial._trial_id, "shoal_trial_id", trial_id)

    def learn(self, handle, losses):
        state = self.optuna.trial.TrialState
        if losses is None:
            self.study.tell(handle, state=state.FAIL, skip_if_finished=True)
        else:
            self.study.tell(handle, losses, skip_if_finished=True)

    def observe(self, point, losses):
        distributions = {axis["name"]: self._distribution(axis) for axis in self.axes if axis["name"] in point}
        values = {name: int(value) if not isinstance(distributions[name], self.optuna.distributions.FloatDistribution) else value for name, value in point.items()}
        self.study.add_trial(self.optuna.trial.create_trial(params=values, distributions=distributions, values=losses))

    def _distribution(self, axis):
        kinds = self.optuna.distributions
        if axis["kind"] == "choice":
            return kinds.CategoricalDistribution(list(range(axis["count"])))
        if axis["kind"] == "int":
            return kinds.IntDistribution(int(axis["low"]), int(axis["high"]), log=axis["log"], step=1 if axis["log"] else int(axis["step"]))
        return kinds.FloatDistribution(axis["low"], axis["high"], log=axis["log"], step=None if axis["log"] else axis.get("step"))


class OptunaByFunctionSearcher(OptunaSearcher):
    """Optuna's study where a function of the driver's asks for one value after another, so that each trial has axes of its own."""

    def begin(self):
        super().begin()
        #: Optuna's trials that run, and their axes, by our ids.
        self.asked = {}
        self.suggested = {}

    def ask(self, trial_id, axes=()):
        known = self._stored(trial_id)
        if known is None:
            trial = self.study.ask()
        else:
            # Optuna gives the values again that this trial has.
            trial = self.optuna.trial.Trial(self.study, known._trial_id)
        self.running[trial_id] = trial.number
        self.asked[trial_id] = trial
        self.suggested[trial_id] = []
        self.mark(trial_id)
        return {axis["name"]: self.suggest(trial_id, axis) for axis in axes}

    def suggest(self, trial_id, axis):
        self.suggested[trial_id].append(axis)
        return self._suggest(self.asked[trial_id], axis)

    def give(self, trial_id, point, axes=None):
        super().give(trial_id, point)
        self.suggested[trial_id] = axes

    def tell(self, trial_id, losses):
        self.asked.pop(trial_id, None)
        self.axes = self.suggested.pop(trial_id, [])
        super().tell(trial_id, losses)


class HyperOptSearcher(Searcher):
    """Hyperopt's own TPE over its own nested space."""

    def begin(self):
        hyperopt = library("hyperopt", "HyperOptSearch", "hyperopt setuptools")
        import numpy

        self.hyperopt, self.numpy = hyperopt, numpy
        self.random = random.Random(self.seed)
        self.domain = hyperopt.Domain(lambda point: point, self._space(None))
        self.trials = hyperopt.Trials()

    def _space(self, condition):
        hp = self.hyperopt.hp
        space = {}
        for index, axis in enumerate(self.axes):
            if axis.get("condition") != condition:
                continue
            name, low, high = axis["name"], axis.get("low"), axis.get("high")
            if axis["kind"] == "choice":
                options = [{"option": option, **self._space({"axis": index, "option": option})} for option in range(axis["count"])]
                space[name] = hp.choice(name, options)
            elif axis["log"]:
                step = axis.get("step") or (1 if axis["kind"] == "int" else None)
                space[name] = hp.qloguniform(name, math.log(low), math.log(high), step) if step else hp.loguniform(name, math.log(low), math.log(high))
            elif axis.get("step"):
                space[name] = hp.quniform(name, low, high, axis["step"])
            else:
                space[name] = hp.uniform(name, low, high)
        return space

    def propose(self):
        identity = self.trials.new_trial_ids(1)
        self.trials.refresh()
        suggest = self.hyperopt.tpe.suggest
        [document] = suggest(
            identity, self.domain, self.trials, self.random.randrange(2**31 - 1),
            n_startup_jobs=self.options["nInitialPoints"], gamma=self.options["gamma"],
        )
        self.trials.insert_trial_docs([document])
        self.trials.refresh()
        drawn = {name: values[0] for name, values in document["misc"]["vals"].items() if len(values) > 0}
        point = {axis["name"]: self._value(axis, drawn[axis["name"]]) for axis in self.axes if axis["name"] in drawn}
        return identity[0], point

    def _value(self, axis, value):
        if axis["kind"] == "choice":
            return int(value)
        return min(axis["high"], max(axis["low"], float(value)))

    def learn(self, handle, losses):
        base = self.hyperopt.base
        document = next(each for each in self.trials._dynamic_trials if each["tid"] == handle)
        document["state"] = base.JOB_STATE_ERROR if losses is None else base.JOB_STATE_DONE
        document["result"] = {"status": base.STATUS_FAIL} if losses is None else {"status": base.STATUS_OK, "loss": losses[0]}
        self.trials.refresh()

    def observe(self, point, losses):
        base = self.hyperopt.base
        [identity] = self.trials.new_trial_ids(1)
        values = {axis["name"]: [point[axis["name"]]] if axis["name"] in point else [] for axis in self.axes}
        misc = {"tid": identity, "cmd": ("domain_attachment", "FMinIter_Domain"), "workdir": None, "vals": values}
        misc["idxs"] = {name: [identity] * len(each) for name, each in values.items()}
        [document] = self.trials.new_trial_docs([identity], [None], [{"status": base.STATUS_OK, "loss": losses[0]}], [misc])
        document["state"] = base.JOB_STATE_DONE
        self.trials.insert_trial_docs([document])
        self.trials.refresh()


class BayesianOptimizationSearcher(Searcher):
    """bayesian-optimization, over numbers; logarithms are taken here, as it knows none."""

    def begin(self):
        bayes_opt = library("bayes_opt", "BayesianOptimizationSearch", '"bayesian-optimization>=1.4"')
        self.plain("BayesianOptimizationSearch")
        for axis in self.axes:
            if axis["kind"] == "choice":
                raise ValueError(f"Cannot search {axis['name']!r} with BayesianOptimizationSearch: it has no choices: use OptunaSearch or BayesOptSearch")
        bounds = {axis["name"]: (self._inner(axis, axis["low"]), self._inner(axis, axis["high"])) for axis in self.axes}
        kind, kappa, xi = (self.options[name] for name in ("acquisition", "kappa", "xi"))
        chosen = {}
        self.utility = None
        if hasattr(bayes_opt, "acquisition"):
            functions = bayes_opt.acquisition
            make = {"ucb": lambda: functions.UpperConfidenceBound(kappa=kappa), "ei": lambda: functions.ExpectedImprovement(xi=xi), "poi": lambda: functions.ProbabilityOfImprovement(xi=xi)}
            chosen["acquisition_function"] = make[kind]()
        else:
            # Before version 2 each question names the function.
            self.utility = bayes_opt.UtilityFunction(kind=kind, kappa=kappa, xi=xi)
        self.optimizer = bayes_opt.BayesianOptimization(f=None, pbounds=bounds, random_state=self.seed, verbose=0, allow_duplicate_points=True, **chosen)
        self.random = random.Random(self.seed)
        self.asked = 0

    def _inner(self, axis, value):
        return math.log(value) if axis["log"] else value

    def propose(self):
        self.asked += 1
        if self.asked <= self.options["randomSearchSteps"] or len(self.optimizer.space) == 0:
            inner = {name: self.random.uniform(*bounds) for name, bounds in zip(self.optimizer.space.keys, self.optimizer.space.bounds.tolist())}
        else:
            inner = self.optimizer.suggest(self.utility) if self.utility is not None else self.optimizer.suggest()
        point = {}
        for axis in self.axes:
            value = math.exp(inner[axis["name"]]) if axis["log"] else float(inner[axis["name"]])
            point[axis["name"]] = min(axis["high"], max(axis["low"], value))
        return point, point

    def learn(self, handle, losses):
        if losses is not None:
            self.observe(handle, losses)

    def observe(self, point, losses):
        inner = {axis["name"]: self._inner(axis, point[axis["name"]]) for axis in self.axes}
        self.optimizer.register(params=inner, target=-losses[0])


class AxSearcher(Searcher):
    """Ax's client, whose choice of methods is its own."""

    def begin(self):
        library("ax", "AxSearch", '"ax-platform>=1"')
        from ax.api.client import Client
        from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

        parameters = []
        for index, axis in enumerate(self.axes):
            if axis["kind"] == "choice":
                options = list(range(axis["count"]))
                under = {option: [each["name"] for each in self.axes if each.get("condition") == {"axis": index, "option": option}] for option in options}
                dependents = {option: names for option, names in under.items() if names}
                parameters.append(
                    ChoiceParameterConfig(
                        name=axis["name"], parameter_type="int", values=options, is_ordered=False, **({"dependent_parameters": dependents} if dependents else {})
                    )
                )
                continue
            step = axis.get("step") if not axis["log"] else None
            kind = {"scaling": "log"} if axis["log"] else {"step_size": step} if step and axis["kind"] == "float" else {}
            numbers = "int" if axis["kind"] == "int" else "float"
            convert = int if axis["kind"] == "int" else float
            parameters.append(RangeParameterConfig(name=axis["name"], parameter_type=numbers, bounds=(convert(axis["low"]), convert(axis["high"])), **kind))
        self.client = Client(random_seed=self.seed)
        self.client.configure_experiment(parameters=parameters, parameter_constraints=self.options["parameterConstraints"] or None, name="shoal")
        losses = [f"loss{index}" for index in range(self.options["objectives"])]
        bounds = self.options["outcomeBounds"]
        #: Names in Ax of what is told of a trial: its losses, and then its constrained outcomes.
        self.told = losses + [f"outcome{index}" for index in range(len(bounds))]
        constraints = [f"outcome{index} {bound}" for index, bound in enumerate(bounds)]
        self.client.configure_optimization(objective=", ".join(f"-{name}" for name in losses), outcome_constraints=constraints or None)

    def propose(self):
        [(index, point)] = self.client.get_next_trials(max_trials=1).items()
        return index, {axis["name"]: float(point[axis["name"]]) for axis in self.axes if axis["name"] in point}

    def learn(self, handle, losses):
        if losses is None:
            self.client.mark_trial_failed(trial_index=handle)
        else:
            self.client.complete_trial(trial_index=handle, raw_data=dict(zip(self.told, losses)))

    def observe(self, point, losses):
        whole = {axis["name"] for axis in self.axes if axis["kind"] != "float"}
        index = self.client.attach_trial(parameters={name: int(value) if name in whole else value for name, value in point.items()})
        self.learn(index, losses)


class NevergradSearcher(Searcher):
    """An optimizer of Nevergrad, chosen by its name in Nevergrad."""

    def begin(self):
        ng = library("nevergrad", "NevergradSearch", "nevergrad")
        self.plain("NevergradSearch")
        parameters = {}
        for axis in self.axes:
            if axis["kind"] == "choice":
                parameters[axis["name"]] = ng.p.Choice(list(range(axis["count"])))
                continue
            scalar = ng.p.Log(lower=axis["low"], upper=axis["high"]) if axis["log"] else ng.p.Scalar(lower=axis["low"], upper=axis["high"])
            parameters[axis["name"]] = scalar.set_integer_casting() if axis["kind"] == "int" else scalar
        parametrization = ng.p.Dict(**parameters)
        parametrization.random_state.seed(self.seed % 2**32)
        name = self.options["optimizer"]
        if name not in ng.optimizers.registry:
            near = ", ".join(sorted(each for each in ng.optimizers.registry if name.lower() in each.lower())[:5])
            raise ValueError(f"Cannot search with NevergradSearch: it has no optimizer {name!r}: {f'near are {near}' if near else 'such as NGOpt, CMA, TwoPointsDE'}")
        self.optimizer = ng.optimizers.registry[name](parametrization=parametrization, budget=self.options.get("budget"))

    def propose(self):
        candidate = self.optimizer.ask()
        return candidate, {name: float(value) for name, value in candidate.value.items()}

    def learn(self, handle, losses):
        self.optimizer.tell(handle, math.inf if losses is None else losses[0] if len(losses) == 1 else losses)

    def observe(self, point, losses):
        whole = {axis["name"] for axis in self.axes if axis["kind"] != "float"}
        value = {name: int(each) if name in whole else each for name, each in point.items()}
        self.learn(self.optimizer.parametrization.spawn_child(new_value=value), losses)
