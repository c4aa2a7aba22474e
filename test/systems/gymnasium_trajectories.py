"""Records trajectories of Gymnasium's environments as JSON: first state, actions, and everything that each step returned.

Usage: gymnasium_trajectories.py SEED. `test/vectors/rl/gymnasium.json` is the output for seed 1.
"""

import json
import sys

import gymnasium
import numpy as np


def balance(observation, random):
    """Keeps the pole of CartPole up, so that its time limit is met."""
    return int(observation[2] + 0.5 * observation[3] > 0)


def by_chance(space):
    return lambda observation, random: space.sample()


def plain(value):
    """float32 with as few digits as name it."""
    if isinstance(value, np.ndarray):
        return [plain(element) for element in value]
    if isinstance(value, np.float32):
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value


def trajectory(identifier, seed, policy_name, kwargs):
    env = gymnasium.make(identifier, **kwargs)
    env.action_space.seed(seed)
    policy = balance if policy_name == "balance" else by_chance(env.action_space)
    random = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    state = [float(part) for part in env.unwrapped.state]
    steps = []
    ended = False
    while not ended:
        action = policy(observation, random)
        observation, reward, terminated, truncated, _ = env.step(action)
        ended = terminated or truncated
        steps.append([plain(action), plain(observation), float(reward), bool(terminated), bool(truncated)])
    return {"id": identifier, "kwargs": kwargs, "state": state, "steps": steps}


def main():
    seed = int(sys.argv[1])
    wanted = [
        ("CartPole-v1", "chance", {}),
        ("CartPole-v1", "chance", {"sutton_barto_reward": True}),
        ("CartPole-v1", "balance", {}),
    ]
    print(json.dumps([trajectory(name, seed + index, policy, kwargs) for index, (name, policy, kwargs) in enumerate(wanted)]))


if __name__ == "__main__":
    main()
