"""Records trajectories of Gymnasium's environments as JSON: first state, actions, and everything that each step returned.

Usage: gymnasium_trajectories.py SEED. `test/vectors/rl/gymnasium.json` is the output for seed 1.
`gymnasium_trajectories.py tables` prints the transition tables of the toy text environments, which are in `toy-text.json`.
"""

import json
import sys

import gymnasium
import numpy as np


def balance(observation, random):
    """Keeps the pole of CartPole up, so that its time limit is met."""
    return int(observation[2] + 0.5 * observation[3] > 0)


def swing(observation, random):
    """Pushes the way that the car moves, so that its goal is met."""
    return 2 if observation[1] >= 0 else 0


def pump(observation, random):
    """The same for a force that varies, also beyond the bounds."""
    return np.array([random.uniform(0.5, 1.5) * (1 if observation[1] >= 0 else -1)], dtype=np.float32)


def spin(observation, random):
    """Turns the joint of Acrobot with the upper link's speed, so that its goal is met."""
    return 2 if observation[4] < 0 else 0


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
    policies = {"balance": balance, "swing": swing, "pump": pump, "spin": spin}
    policy = policies.get(policy_name) or by_chance(env.action_space)
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


def table(identifier, kwargs):
    """Outcomes by state and action, Taxi's action masks, and the states in which episodes begin."""
    env = gymnasium.make(identifier, **kwargs)
    world = env.unwrapped
    states = range(env.observation_space.n)
    outcomes = [
        [[[float(p), int(n), float(r), bool(t)] for p, n, r, t in world.P[state][action]] for action in range(env.action_space.n)]
        for state in states
    ]
    masks = [[int(entry) for entry in world.action_mask(state)] for state in states] if hasattr(world, "action_mask") else None
    starts = [int(state) for state in np.flatnonzero(world.initial_state_distrib)]
    limit = env.spec.max_episode_steps
    return {"id": identifier, "kwargs": kwargs, "limit": limit, "starts": starts, "masks": masks, "table": outcomes}


def tables():
    wanted = [
        ("FrozenLake-v1", {}),
        ("FrozenLake-v1", {"success_rate": 0.7, "reward_schedule": [10, -5, -1]}),
        ("FrozenLake-v1", {"desc": ["SFG", "HFS"], "is_slippery": False}),
        ("FrozenLake8x8-v1", {}),
        ("CliffWalking-v1", {}),
        ("CliffWalkingSlippery-v1", {}),
        ("Taxi-v4", {}),
        ("Taxi-v4", {"is_rainy": True}),
    ]
    print(json.dumps([table(name, kwargs) for name, kwargs in wanted], separators=(",", ":")))


def main():
    if sys.argv[1] == "tables":
        return tables()
    seed = int(sys.argv[1])
    wanted = [
        ("CartPole-v1", "chance", {}),
        ("CartPole-v1", "chance", {"sutton_barto_reward": True}),
        ("CartPole-v1", "balance", {}),
        ("MountainCar-v0", "chance", {}),
        ("MountainCar-v0", "swing", {}),
        ("MountainCar-v0", "swing", {"goal_velocity": 0.01}),
        ("MountainCarContinuous-v0", "pump", {}),
        ("MountainCarContinuous-v0", "pump", {"goal_velocity": 0.02}),
        ("Pendulum-v1", "chance", {}),
        ("Pendulum-v1", "chance", {"g": 9.81}),
        ("Acrobot-v1", "spin", {}),
        ("Acrobot-v1", "chance", {}),
    ]
    print(json.dumps([trajectory(name, seed + index, policy, kwargs) for index, (name, policy, kwargs) in enumerate(wanted)]))


if __name__ == "__main__":
    main()
