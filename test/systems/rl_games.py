"""A parallel game for rl-pettingzoo.test.ts: ``a`` dies at once and is still reported, ``c`` comes later, ``b`` is cut."""

import numpy
from gymnasium import spaces


class Game:
    possible_agents = ["a", "b", "c"]

    def observation_space(self, agent):
        return spaces.Box(0, 9, (1,), numpy.float32)

    def action_space(self, agent):
        return spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.at = 0
        self.agents = ["a", "b"]
        return {agent: self._look() for agent in self.agents}, {}

    def _look(self):
        return numpy.array([self.at], dtype=numpy.float32)

    def step(self, actions):
        self.at += 1
        shown = {1: ["a", "b"], 2: ["a", "b", "c"], 3: ["b", "c"]}[self.at]
        self.agents = {1: ["b"], 2: ["b", "c"], 3: []}[self.at]
        ends = {agent: agent == "a" or (agent == "c" and self.at == 3) for agent in shown}
        cuts = {agent: self.at == 3 for agent in shown}
        return {agent: self._look() for agent in shown}, {agent: 1 for agent in shown}, ends, cuts, {}

    def close(self):
        pass


def parallel_env():
    return Game()
