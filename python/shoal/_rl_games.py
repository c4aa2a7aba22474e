"""Plays games of PettingZoo for ``shoal/rl``. ``src/rl/environments/python`` is the only caller.

One actor holds the games of a runner: ``open``, then ``reset`` and ``step`` by the place of a game. Parallel environments move all agents at once; those that take turns
(AEC) move one agent a step, and dead agents leave without an action. Spaces and values travel as in ``_rl_environments``.
"""

import importlib

from ._rl_environments import _described, _Form, _library, _plain, _reward


class GamesActor:
    def __init__(self, recipe):
        self._recipe = recipe
        self._games = []

    def open(self, count, is_checked, env_config):
        """Makes the games. Returns the agents, and the spaces of each."""
        self._games = [_Game(*_make(self._recipe, env_config), 100 if is_checked else 0) for _ in range(count)]
        first = self._games[0]
        return {"agents": first.agents, "spaces": [[forms[0].json, forms[1].json] for forms in first.forms.values()]}

    def reset(self, index, seed, options):
        return self._games[index].reset(seed, options)

    def step(self, index, actions):
        return self._games[index].step(actions)

    def close(self):
        for game in self._games:
            game.env.close()
        self._games = []


def _make(recipe, env_config):
    """Returns an environment, and whether its agents move at once."""
    name = recipe["id"]
    if "/" in name:
        _library("pettingzoo", "pettingzoo")
        name = "pettingzoo." + name.replace("/", ".")
    module = importlib.import_module(name)
    options = {**recipe["kwargs"], **env_config}
    for maker, is_parallel in (("parallel_env", True), ("env", False)):
        if hasattr(module, maker):
            return getattr(module, maker)(**options), is_parallel
    raise TypeError("a module of PettingZoo has parallel_env() or env(): %s has neither" % name)


class _Game:
    def __init__(self, env, is_parallel, checks):
        self.env = env
        self.agents = [str(agent) for agent in env.possible_agents]
        self._is_parallel = is_parallel
        self._checks_left = checks
        self.forms = {agent: self._forms_of(agent) for agent in env.possible_agents}

    def _forms_of(self, agent):
        observations = _Form(self.env.observation_space(agent), "the observation space of %s" % agent, is_observation=True)
        return observations, _Form(self.env.action_space(agent), "the action space of %s" % agent, is_observation=False)

    def reset(self, seed, options):
        outcome = self.env.reset(seed=seed, options=options)
        if not self._is_parallel:
            agent = self.env.agent_selection
            observation, _, terminated, truncated, info = self.env.last()
            if terminated or truncated:
                raise RuntimeError("reset() begins a game: %s has ended already" % agent)
            return {"observations": {agent: self._shown(agent, observation)}, "infos": {agent: _plain(info)}}
        if not isinstance(outcome, tuple) or len(outcome) != 2:
            raise TypeError("reset() returns (observations, infos): received %s" % _described(outcome))
        observations, infos = outcome
        shown = {agent: self._shown(agent, observation) for agent, observation in observations.items()}
        return {"observations": shown, "infos": {agent: _plain(infos.get(agent, {})) for agent in shown}}

    def step(self, actions):
        self._checks_left -= 1
        given = {agent: self.forms[agent][1].given(action) for agent, action in actions.items()}
        return self._step_all(given) if self._is_parallel else self._step_one(given)

    def _step_all(self, actions):
        before = list(self.env.agents)
        outcome = self.env.step(actions)
        if not isinstance(outcome, tuple) or len(outcome) != 5:
            raise TypeError("step() returns (observations, rewards, terminations, truncations, infos): received %s" % _described(outcome))
        observations, rewards, terminations, truncations, infos = outcome
        moved = _Moves()
        # Some environments go on reporting agents that have ended.
        for agent in dict.fromkeys([*before, *self.env.agents]):
            if agent in observations:
                moved.observations[agent] = self._shown(agent, observations[agent])
            moved.rewards[agent] = _reward(rewards.get(agent, 0))
            moved.end(agent, terminations.get(agent, False), truncations.get(agent, False))
            moved.infos[agent] = _plain(infos.get(agent, {}))
        return moved.result(not self.env.agents)

    def _step_one(self, actions):
        if list(actions) != [self.env.agent_selection]:
            raise RuntimeError("%s moves next: received actions of %s" % (self.env.agent_selection, ", ".join(actions) or "nobody"))
        self.env.step(actions[self.env.agent_selection])
        moved = _Moves()
        while self.env.agents:
            agent = self.env.agent_selection
            # The reward since the agent's last move.
            observation, reward, terminated, truncated, info = self.env.last()
            moved.observations[agent] = self._shown(agent, observation)
            moved.rewards[agent] = _reward(reward)
            moved.end(agent, terminated, truncated)
            moved.infos[agent] = _plain(info)
            if not (terminated or truncated):
                break
            self.env.step(None)
        return moved.result(not self.env.agents)

    def _shown(self, agent, observation):
        form = self.forms[agent][0]
        space = self.env.observation_space(agent)
        if self._checks_left > 0 and not space.contains(observation):
            raise ValueError("the observation of %s is not in %s: received %s" % (agent, space, _described(observation)))
        return form.value(observation)


class _Moves:
    """The outcome of a step, by agent."""

    def __init__(self):
        self.observations = {}
        self.rewards = {}
        self.infos = {}
        self._terminateds = {}
        self._truncateds = {}

    def end(self, agent, terminated, truncated):
        self._terminateds[agent] = bool(terminated)
        self._truncateds[agent] = bool(truncated) and not terminated

    def result(self, is_over):
        is_cut = any(self._truncateds.values())
        return {
            "observations": self.observations,
            "rewards": self.rewards,
            "terminateds": {**self._terminateds, "__all__": is_over and not is_cut},
            "truncateds": {**self._truncateds, "__all__": is_over and is_cut},
            "infos": self.infos,
        }
