"""The options of tasks and actors that Python code submits: those of TypeScript in snake case, with what is allowed, the defaults, and the errors for anything else."""

import difflib
import math

from ._limits import AMOUNT_MAX, NAME_LENGTH_MAX


def _amount(value):
    return _is_number(value) and 0 <= value <= AMOUNT_MAX and abs(value * 10000 - round(value * 10000)) < 1e-6 + value * 1e-11


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _whole(least):
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _text(value):
    return isinstance(value, str) and 1 <= len(value) <= NAME_LENGTH_MAX


def _num_returns(value):
    return value == "streaming" or (_whole(0)(value) and value <= 1000)


def _resources(value):
    return isinstance(value, dict) and all(_text(name) and "," not in name and name.lower() not in ("cpu", "gpu", "memory") and _amount(amount) for name, amount in value.items())


def _labels(value):
    return isinstance(value, dict) and all(isinstance(part, str) for pair in value.items() for part in pair)


def _fallbacks(value):
    return isinstance(value, (list, tuple)) and all(
        isinstance(item, dict) and list(item) == ["label_selector"] and _labels(item["label_selector"]) for item in value
    )


def _errors(value):
    return isinstance(value, bool) or (
        isinstance(value, (list, tuple)) and all(isinstance(one, type) and issubclass(one, BaseException) for one in value)
    )


def _groups(value):
    return isinstance(value, dict) and all(_text(name) and name != "default" and _whole(1)(limit) for name, limit in value.items())


_AMOUNT = "a number from 0 in steps of 0.0001"
_COUNT = "a whole number from -1 (-1: without end)"
_PLACED = {
    "num_gpus": (_amount, 0, _AMOUNT),
    "memory_bytes": (_whole(0), 0, "a whole number of bytes"),
    "resources": (_resources, {}, 'a dict of names and amounts, such as {"tpu": 1}'),
    "scheduling_strategy": (lambda value: value in ("default", "spread"), "default", '"default" or "spread"'),
    "label_selector": (_labels, {}, 'a dict of labels and conditions, such as {"region": "in(eu,us)"}'),
    "fallback_strategy": (_fallbacks, [], 'a list such as [{"label_selector": {"region": "us"}}]'),
    "name": (_text, None, "text of 1 to 1000 characters"),
}
_RETRIED = {
    "num_returns": (_num_returns, 1, 'a whole number from 0 to 1000 or "streaming"'),
    "high_water_mark": (_whole(1), None, "a whole number from 1"),
    "retry_on": (_errors, False, "True, False or a list of exception classes"),
}
_TASK = {
    "num_cpus": (_amount, 1, _AMOUNT),
    **_PLACED,
    **_RETRIED,
    "max_retries": (_whole(-1), 3, _COUNT),
    "retry_delay_ms": (lambda value: _is_number(value) and value >= 0, 0, "a number of milliseconds from 0"),
    "max_calls": (_whole(0), None, "a whole number from 0 (0: without limit)"),
}
_METHOD = {
    **_RETRIED,
    "max_task_retries": (_whole(-1), None, _COUNT),
    "name": _PLACED["name"],
    "concurrency_group": (_text, None, "the name of a group"),
}
_ACTOR = {
    # Without a value an actor needs a CPU to be placed and holds none while it lives.
    "num_cpus": (_amount, None, _AMOUNT),
    **_PLACED,
    "namespace": (_text, None, "text of 1 to 1000 characters"),
    "get_if_exists": (lambda value: isinstance(value, bool), False, "True or False"),
    "lifetime": (lambda value: value in ("detached", "non_detached"), "non_detached", '"detached" or "non_detached"'),
    "max_restarts": (_whole(-1), 0, _COUNT),
    "max_task_retries": (_whole(-1), 0, _COUNT),
    "max_concurrency": (_whole(1), 1, "a whole number from 1"),
    "concurrency_groups": (_groups, {}, 'a dict of names and limits, such as {"io": 2}'),
}
#: TypeScript's names of the options of tasks.
SNAKE = {
    "numCpus": "num_cpus",
    "numGpus": "num_gpus",
    "memoryBytes": "memory_bytes",
    "resources": "resources",
    "labelSelector": "label_selector",
    "fallbackStrategy": "fallback_strategy",
    "schedulingStrategy": "scheduling_strategy",
    "name": "name",
    "numReturns": "num_returns",
    "highWaterMark": "high_water_mark",
    "maxRetries": "max_retries",
    "retryOn": "retry_on",
    "retryDelayMs": "retry_delay_ms",
    "maxCalls": "max_calls",
}
_CAMEL = {snake: camel for camel, snake in SNAKE.items()}
#: Ray's names, and what is no option here.
_OTHERS = {
    "memory": "it is memory_bytes",
    "retry_exceptions": "it is retry_on",
    "runtime_env": "what Python submits runs in the environment of its caller",
    "max_calls": "it is an option of tasks, whose workers are used again",
}


def task_options(given):
    return _checked(given, _TASK, "a task")


def method_options(given):
    return _checked(given, _METHOD, "an actor's method")


def actor_options(given):
    options = _checked(given, _ACTOR, "an actor")
    if options["name"] is None and (options["get_if_exists"] or options["lifetime"] == "detached"):
        which = "get_if_exists" if options["get_if_exists"] else 'lifetime="detached"'
        raise TypeError("Cannot set %s of an actor: it needs the option name, by which the actor is found" % which)
    return options


def camel_case(options):
    """Options by the names that they have in TypeScript."""
    found = {_CAMEL[name]: value for name, value in options.items() if value is not None}
    if "fallbackStrategy" in found:
        found["fallbackStrategy"] = [{"labelSelector": item["label_selector"]} for item in found["fallbackStrategy"]]
    return found


def _checked(given, table, of):
    options = {name: row[1] for name, row in table.items()}
    for name, value in given.items():
        row = table.get(name)
        if row is None:
            near = difflib.get_close_matches(name, table, 2)
            also = _OTHERS.get(name) or ("did you mean %s?" % " or ".join(near) if near else "there are %s" % ", ".join(table))
            raise TypeError("Cannot set options of %s: there is no option %r: %s" % (of, name, also))
        if value is None:
            continue
        if not row[0](value):
            error_class = ValueError if _is_number(value) or isinstance(value, str) else TypeError
            raise error_class("Cannot set %s of %s: %s is needed: received %r" % (name, of, row[2], value))
        options[name] = value
    return options
