"""Records the rows that RLlib 2.60 makes of games whose agents come, wait and go: pip install "ray[rllib]==2.60.0", then

    python test/vectors/rl/record_agent_episodes.py > test/vectors/rl/agent-episodes.json

Draws results of `reset` and `step`, gives them to RLlib's MultiAgentEpisode, and writes both: `script` for an environment, and by agent the observations, the rewards and the end of its
episode. Observations are numbers that never repeat. A reward before an agent's first action is in none of RLlib's rows.
"""

import json
import random

from ray.rllib.env.multi_agent_episode import MultiAgentEpisode

AGENTS = ["a", "b", "c"]
random.seed(1)
counter = 0


def seen():
    global counter
    counter += 1
    return counter


def game(steps):
    first = {agent: seen() for agent in AGENTS if random.random() < 0.5} or {"a": seen()}
    episode = MultiAgentEpisode()
    episode.add_env_reset(observations=first, infos={})
    acting, there, gone, script = set(first), set(first), set(), []
    for step in range(steps):
        is_last = step == steps - 1
        is_truncation = is_last and random.random() < 0.5
        live = [agent for agent in AGENTS if agent not in gone]
        leaving = {agent for agent in live if agent in there and random.random() < 0.1}
        observations = {agent: seen() for agent in live if random.random() < 0.5 or (is_truncation and agent in there)}
        rewards = {agent: random.randrange(-3, 4) for agent in live if agent in observations or random.random() < 0.5}
        terminateds = {**{agent: True for agent in leaving}, "__all__": is_last and not is_truncation}
        truncateds = {"__all__": is_truncation}
        episode.add_env_step(
            observations=observations,
            actions={agent: 0 for agent in acting},
            rewards=rewards,
            infos={},
            terminateds=terminateds,
            truncateds=truncateds,
        )
        script.append({"observations": observations, "rewards": rewards, "terminateds": terminateds, "truncateds": truncateds})
        gone |= leaving
        there |= set(observations)
        acting = {agent for agent in observations if agent not in gone}
        # Also where all agents have ended one by one.
        if episode.is_done:
            break
    rows = {}
    for agent, single in episode.agent_episodes.items():
        if len(single) == 0:
            continue
        rows[agent] = {
            "observations": list(single.get_observations()),
            "rewards": [float(reward) for reward in single.get_rewards()],
            "end": "terminated" if single.is_terminated else "truncated" if single.is_truncated else "open",
        }
    return {"first": first, "script": script, "rows": rows, "isOver": episode.is_done}


games = [game(random.randrange(2, 14)) for _ in range(200)]
print(json.dumps([each for each in games if each["isOver"]][:60]))
