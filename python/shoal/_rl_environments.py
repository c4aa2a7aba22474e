"""Steps environments of Gymnasium and classes of users for ``shoal/rl``. ``src/rl/environments/python`` is the only caller.

One actor steps several environments in turn: ``open``, then ``reset`` and ``step`` with flat arrays, as the vector environments of TypeScript have them.
Spaces travel in the form that ``spaceFromJson`` reads. Exceptions of environments reach the caller with their traceback.
"""

import importlib
import math
import sys

from . import _runtime

#: A value of an info deeper than this is left out.
_DEEPEST = 4
_INT32 = (-(2**31), 2**31 - 1)


def _library(name, install):
    """A library that the user has to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != name.split(".")[0]:
            raise
        raise ImportError(
            "Cannot make the environment: this Python has no %s: %s -m pip install %s"
            " (or name a Python that has it: { runtimeEnv: { python: '...' } })" % (name, sys.executable, install)
        ) from error


class VectorEnvActor:
    def __init__(self, recipe):
        self._recipe = recipe
        self._envs = []

    def open(self, count, mode, is_checked, env_config):
        """Makes the environments. Returns their spaces."""
        self._mode = mode
        self._checks_left = 100 if is_checked else 0
        self._envs = [_make(self._recipe, env_config) for _ in range(count)]
        first = self._envs[0]
        for name in ("reset", "step", "observation_space", "action_space"):
            if not hasattr(first, name):
                raise TypeError("an environment has reset, step, observation_space and action_space: %s has no %s" % (type(first).__name__, name))
        self._observations = _Form(first.observation_space, "the observation space", is_observation=True)
        self._actions = _Form(first.action_space, "the action space", is_observation=False)
        self._ended = [False] * count
        return {"observation": self._observations.json, "action": self._actions.json}

    def reset(self, seed, options, which):
        """Resets the environments of ``which``, or all."""
        indices = range(len(self._envs)) if which is None else which
        if which is None:
            self._seen = [None] * len(self._envs)
        infos = {}
        for index in indices:
            self._begin(index, None if seed is None else seed + index, options, infos)
        return {"observations": self._column(), "infos": list(infos.items())}

    def step(self, actions):
        import numpy

        count = len(self._envs)
        rewards = numpy.zeros(count, dtype=numpy.float64)
        terminateds = numpy.zeros(count, dtype=numpy.uint8)
        truncateds = numpy.zeros(count, dtype=numpy.uint8)
        infos = {}
        for index, env in enumerate(self._envs):
            if self._ended[index]:
                if self._mode == "disabled":
                    raise RuntimeError("the episode of environment %d has ended: reset it first" % index)
                self._begin(index, None, None, infos)
                continue
            outcome = env.step(self._actions.read(actions, index, count))
            if not isinstance(outcome, tuple) or len(outcome) != 5:
                raise TypeError("step() returns (observation, reward, terminated, truncated, info): received %s" % _described(outcome))
            observation, reward, terminated, truncated, info = outcome
            self._check(observation, "step()")
            reward = _reward(reward)
            self._seen[index] = observation
            rewards[index] = reward
            terminateds[index] = bool(terminated)
            truncateds[index] = bool(truncated)
            if info:
                infos[index] = _plain(info)
            if not (terminated or truncated):
                continue
            if self._mode != "sameStep":
                self._ended[index] = True
                continue
            final = {"finalObservation": self._observations.value(observation), "finalInfo": infos.pop(index, {})}
            self._begin(index, None, None, infos)
            infos[index] = {**infos.get(index, {}), **final}
        self._checks_left -= 1
        return {
            "observations": self._column(),
            "rewards": rewards,
            "terminateds": terminateds,
            "truncateds": truncateds,
            "infos": list(infos.items()),
        }

    def close(self):
        for env in self._envs:
            close = getattr(env, "close", None)
            if close is not None:
                close()
        self._envs = []

    def _begin(self, index, seed, options, infos):
        outcome = self._envs[index].reset(seed=seed, options=options)
        if not isinstance(outcome, tuple) or len(outcome) != 2:
            raise TypeError("reset() returns (observation, info): received %s" % _described(outcome))
        observation, info = outcome
        self._check(observation, "reset()")
        self._seen[index] = observation
        self._ended[index] = False
        if info:
            infos[index] = _plain(info)

    def _check(self, observation, what):
        if self._checks_left <= 0:
            return
        space = self._envs[0].observation_space
        contains = getattr(space, "contains", None)
        if contains is not None and not contains(observation):
            raise ValueError("the observation of %s is not in %s: received %s" % (what, space, _described(observation)))

    def _column(self):
        return self._observations.column(self._seen)


def _make(recipe, env_config):
    if recipe["kind"] == "class":
        found = _runtime.require().targets.find(recipe["place"], recipe["name"])
        return found(env_config)
    gymnasium = _library("gymnasium", "gymnasium")
    options = {**recipe["kwargs"], **env_config}
    if recipe["wrappers"] == "atari":
        return _atari(gymnasium, recipe["id"], options)
    # Observations are checked here.
    return gymnasium.make(recipe["id"], disable_env_checker=True, **options)


def _atari(gymnasium, name, options):
    """Four frames a step, the larger of the last two, 84 x 84, grey; four steps side by side; signs of rewards; a life is an episode."""
    import numpy

    if name.startswith("ALE/"):
        gymnasium.register_envs(_library("ale_py", "ale-py opencv-python-headless"))
    env = gymnasium.make(name, frameskip=1, disable_env_checker=True, **options)
    wrappers = importlib.import_module("gymnasium.wrappers")
    env = wrappers.AtariPreprocessing(env, terminal_on_life_loss=True, grayscale_newaxis=False)
    env = wrappers.FrameStackObservation(env, 4)
    space = gymnasium.spaces.Box(0, 255, (84, 84, 4), numpy.uint8)
    env = wrappers.TransformObservation(env, lambda frames: numpy.ascontiguousarray(numpy.moveaxis(numpy.asarray(frames), 0, -1)), space)
    return wrappers.TransformReward(env, lambda reward: float(numpy.sign(reward)))


def _reward(given):
    """Reads a number, or an array of one, which environments return that compute with arrays."""
    try:
        reward = float(given.item() if hasattr(given, "item") else given)
    except (TypeError, ValueError):
        raise TypeError("the reward of step() is a number: received %s" % _described(given)) from None
    if not math.isfinite(reward):
        raise ValueError("the reward of step() is a finite number: received %r" % reward)
    return reward


class _Form:
    """Writes a space in JSON, and turns values into columns and back."""

    def __init__(self, space, what, is_observation):
        import numpy

        self._numpy = numpy
        self._space = space
        self._what = what
        self._is_observation = is_observation
        self.json = self._json_of(space, what)
        self._kind = self.json["type"]

    def _json_of(self, space, what):
        numpy = self._numpy
        kind = type(space).__name__
        if kind == "Box":
            low, high = numpy.asarray(space.low), numpy.asarray(space.high)
            bounds = [_bounds(low), _bounds(high)]
            return {"type": "Box", "low": bounds[0], "high": bounds[1], "shape": [int(side) for side in space.shape], "dtype": _dtype(space)}
        if kind == "Discrete":
            return {"type": "Discrete", "n": int(space.n), "start": int(getattr(space, "start", 0))}
        if kind == "MultiDiscrete":
            start = getattr(space, "start", None)
            if start is not None and numpy.any(numpy.asarray(start) != 0):
                raise TypeError("%s is a MultiDiscrete whose numbers begin at 0: received %s" % (what, space))
            return {"type": "MultiDiscrete", "counts": [int(count) for count in numpy.asarray(space.nvec).flatten()]}
        if kind == "MultiBinary":
            return {"type": "MultiBinary", "n": int(numpy.prod(space.shape))}
        if kind == "Text":
            charset = "".join(sorted(space.character_set))
            return {"type": "Text", "maxLength": int(space.max_length), "minLength": int(space.min_length), "charset": charset}
        if kind == "Dict":
            parts = [[_renamed(key, space), self._json_of(part, "%s, %s" % (what, key))] for key, part in space.spaces.items()]
            return {"type": "Dict", "spaces": parts}
        if kind == "Tuple":
            return {"type": "Tuple", "spaces": [self._json_of(part, "%s, part %d" % (what, at)) for at, part in enumerate(space.spaces)]}
        raise TypeError("%s is a Box, Discrete, MultiDiscrete, MultiBinary, Text, Dict or Tuple: received %s" % (what, space))

    def column(self, values):
        """Values of all environments side by side: flat where they are numbers, else a list."""
        if self._kind in ("Dict", "Tuple", "Text"):
            return [self.value(value) for value in values]
        if self._kind == "Discrete":
            return self._numpy.asarray([int(value) for value in values], dtype=self._numpy.int32)
        dtype = self._dtype_of(self.json)
        return self._numpy.concatenate([self._numpy.asarray(value).astype(dtype, copy=False).reshape(-1) for value in values])

    def value(self, value):
        return self._value(value, self._space, self.json)

    def _value(self, value, space, json):
        kind = json["type"]
        if kind == "Discrete":
            return int(value)
        if kind == "Text":
            return str(value)
        if kind == "Dict":
            return {name: self._value(value[key], space.spaces[key], part) for key, (name, part) in zip(space.spaces, json["spaces"])}
        if kind == "Tuple":
            return [self._value(each, part, form) for each, part, form in zip(value, space.spaces, json["spaces"])]
        return self._numpy.asarray(value).astype(self._dtype_of(json), copy=True).reshape(-1)

    def given(self, value):
        """Reads an action that stands alone."""
        return self._given(value, self._space, self.json)

    def read(self, column, index, count):
        """Reads the action of an environment."""
        if self._kind in ("Dict", "Tuple", "Text"):
            return self._given(column[index], self._space, self.json)
        if self._kind == "Discrete":
            return self._numpy.int64(column[index])
        width = len(column) // count
        return self._given(self._numpy.asarray(column[index * width : (index + 1) * width]), self._space, self.json)

    def _given(self, value, space, json):
        kind = json["type"]
        if kind == "Discrete":
            return self._numpy.int64(value)
        if kind == "Text":
            return value
        if kind == "Dict":
            return {key: self._given(value[name], space.spaces[key], part) for key, (name, part) in zip(space.spaces, json["spaces"])}
        if kind == "Tuple":
            return tuple(self._given(each, part, form) for each, part, form in zip(value, space.spaces, json["spaces"]))
        # A copy: the column may lie in shared memory, which environments must not write to.
        return self._numpy.array(value, dtype=space.dtype).reshape(space.shape)

    def _dtype_of(self, json):
        return {"Box": json.get("dtype"), "MultiDiscrete": "int32", "MultiBinary": "int8"}[json["type"]]


def _dtype(space):
    """Names the dtype of a Box in JavaScript. Types without a typed array become others that hold all values between the bounds."""
    name = str(space.dtype)
    if name in ("float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32"):
        return name
    if name == "bool":
        return "uint8"
    if name == "float16":
        return "float32"
    if name in ("int64", "uint64"):
        fits = int(space.low.min()) >= _INT32[0] and int(space.high.max()) <= _INT32[1]
        return "int32" if fits else "float64"
    raise TypeError("a Box has numbers: received %s" % space)


def _bounds(numbers):
    flat = [float(number) for number in numbers.flatten()]
    shown = [number if math.isfinite(number) else ("Infinity" if number > 0 else "-Infinity") for number in flat]
    return shown[0] if shown and all(number == shown[0] for number in shown) else shown


#: PettingZoo's names for observations with a mask of actions.
_MASKED = {"observation": "observations", "action_mask": "actionMask"}


def _renamed(key, space):
    keys = set(space.spaces)
    return _MASKED.get(key, key) if keys in ({"observation", "action_mask"}, {"observations", "action_mask"}) else key


def _plain(value, depth=0):
    """Keeps the plain values of an info."""
    import numpy

    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, depth + 1) for each in value]
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, numpy.ndarray):
        return value.copy() if value.dtype.kind in "iuf" else value.tolist() if value.dtype.kind in "bU" else None
    return value if value is None or isinstance(value, (bool, int, float, str)) else None


def _described(value):
    text = repr(value)
    return "%s %s" % (type(value).__name__, text if len(text) <= 200 else text[:200] + "...")
