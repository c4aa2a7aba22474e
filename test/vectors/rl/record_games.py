"""Records games of RLlib 2.60 for `games.test.ts`: pip install "ray[rllib]==2.60.0", then

    python test/vectors/rl/record_games.py > test/vectors/rl/games.json

Plays each game with random actions. An episode has its first observations and, for each step, the actions, observations, rewards and the two flags of the whole game. Agents are named as Shoal names them.
"""

import json
import random

import numpy as np
from ray.rllib.examples.envs.classes.multi_agent.rock_paper_scissors import RockPaperScissors
from ray.rllib.examples.envs.classes.multi_agent.tic_tac_toe import TicTacToe
from ray.rllib.examples.envs.classes.multi_agent.two_step_game import TwoStepGame

NAMES = {0: "agent1", 1: "agent2"}


def plain(by_agent):
    def value(given):
        # Adding 0 turns -0.0 into 0.0.
        return (given + 0).tolist() if isinstance(given, (np.ndarray, np.generic)) else given

    return {NAMES.get(agent, agent): value(given) for agent, given in by_agent.items()}


def episode(env, draw):
    observations, _ = env.reset()
    steps = []
    first, over = observations, False
    while not over:
        actions = {agent: draw() for agent in observations}
        observations, rewards, terminateds, truncateds, _ = env.step(actions)
        terminated, truncated = bool(terminateds.get("__all__")), bool(truncateds.get("__all__"))
        over = terminated or truncated
        steps.append([plain(actions), plain(observations), plain(rewards), terminated, truncated])
    return {"first": plain(first), "steps": steps}


def record(game, env, options, count, draw):
    return {"game": game, "options": options, "episodes": [episode(env, draw) for _ in range(count)]}


random.seed(1)
print(
    json.dumps(
        [
            record("TicTacToe", TicTacToe(), {}, 40, lambda: random.randrange(9)),
            # Few fields, so that games last until they are truncated.
            record("TicTacToe", TicTacToe(), {}, 4, lambda: random.randrange(2)),
            record("RockPaperScissors", RockPaperScissors({}), {}, 3, lambda: random.randrange(3)),
            record("RockPaperScissors", RockPaperScissors({"sheldon_cooper_mode": True}), {"sheldonCooperMode": True}, 6, lambda: random.randrange(5)),
            record("TwoStepGame", TwoStepGame({}), {}, 12, lambda: random.randrange(2)),
            record("TwoStepGame", TwoStepGame({"one_hot_state_encoding": True}), {"oneHotStateEncoding": True}, 12, lambda: random.randrange(2)),
        ]
    )
)
