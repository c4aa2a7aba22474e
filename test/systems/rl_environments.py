"""User environments for rl-python.test.ts."""

import os
import signal

import numpy
from gymnasium import spaces


class Counter:
    """Counts to ``length``; the reward is the action. Shows the count, a picture and a text in a Dict with ``rich``."""

    def __init__(self, config):
        self.length = config.get("length", 3)
        self.rich = config.get("rich", False)
        self.action_space = spaces.Box(-2.0, 2.0, (1,), numpy.float32) if self.rich else spaces.Discrete(3, start=1)
        box = spaces.Box(0, 100, (2,), numpy.int64)
        self.observation_space = spaces.Dict({"at": spaces.Discrete(100), "pair": spaces.Tuple((box, spaces.MultiBinary(3)))}) if self.rich else box
        self.at = 0

    def _look(self):
        if self.rich:
            return {"at": self.at, "pair": (numpy.array([self.at, 1]), numpy.array([1, 0, 1], dtype=numpy.int8))}
        return numpy.array([self.at, self.at + 1])

    def reset(self, seed=None, options=None):
        self.at = 0 if seed is None else seed % 2
        return self._look(), {"seed": seed}

    def step(self, action):
        self.at += 1
        # An array of one number: some environments of others return it.
        return self._look(), numpy.array([numpy.sum(action)]), self.at >= self.length, False, {"at": self.at, "odd": object()}


class Failing(Counter):
    """Fails in the second step; ``how`` names the fault."""

    def __init__(self, config):
        if config["how"] == "constructor":
            raise RuntimeError("no display")
        super().__init__({"length": 100})
        self.how = config["how"]

    def reset(self, seed=None, options=None):
        if self.how == "reset":
            raise ValueError("no world")
        return super().reset(seed, options)

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        if self.at < 2:
            return observation, reward, terminated, truncated, info
        return self.fail(observation, reward, terminated, truncated, info)

    def fail(self, observation, reward, terminated, truncated, info):
        if self.how == "step":
            raise KeyError("no floor")
        if self.how == "shape":
            observation = numpy.array([1, 2, 3])
        if self.how == "reward":
            reward = float("nan")
        if self.how == "rewards":
            reward = numpy.array([1.0, 2.0])
        if self.how == "tuple":
            return observation, reward, terminated, info
        if self.how == "death":
            os.kill(os.getpid(), signal.SIGKILL)
        return observation, reward, terminated, truncated, info


class Dying(Counter):
    """Kills its process once, in the step that makes the file at ``path``."""

    def __init__(self, config):
        super().__init__({"length": 10})
        self.path = config["path"]

    def step(self, action):
        if self.at == 5 and not os.path.exists(self.path):
            open(self.path, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class Strange:
    observation_space = spaces.Sequence(spaces.Discrete(2))
    action_space = spaces.Discrete(2)

    def __init__(self, config):
        pass

    def reset(self, seed=None, options=None):
        return (0,), {}

    def step(self, action):
        return (0,), 0.0, False, False, {}
