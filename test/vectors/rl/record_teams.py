"""Records what PyTorch computes for the losses of QMIX and MADDPG on fixed batches and weights.

Prints JSON: python record_teams.py > teams.json. Weights are `[in, out]`, as in shoal/tensor. Needs torch; written with torch 2.15.
"""

import json

import torch
from torch.nn import functional

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(2)
ROWS, HIDDEN, WIDTH = 4, 5, 3


def numbers(count, low=-1.0, high=1.0):
    drawn = torch.rand(count, generator=generator) * (high - low) + low
    return torch.round(drawn * 256) / 256


def listed(tensor):
    return [float(f"{value:.8g}") for value in tensor.detach().flatten().tolist()]


def size(shapes):
    return sum(rows * columns + columns for rows, columns in shapes)


def cut(flat, shapes):
    """Cuts a flat list of parameters into weights and biases."""
    parts, at = [], 0
    for rows, columns in shapes:
        weight = flat[at : at + rows * columns].reshape(rows, columns)
        at += rows * columns
        parts.append((weight, flat[at : at + columns]))
        at += columns
    assert at == flat.numel()
    return parts


def applied(layer, x):
    return x @ layer[0] + layer[1]


def mlp(flat, shapes, x, activation=torch.relu):
    *hidden, last = cut(flat, shapes)
    for layer in hidden:
        x = activation(applied(layer, x))
    return applied(last, x)


def batch(obs, actions):
    return {
        "obs": numbers(ROWS * obs).reshape(ROWS, obs),
        "actions": actions,
        "rewards": numbers(ROWS, -3, 3),
        "nextObs": numbers(ROWS * obs).reshape(ROWS, obs),
        "discounts": torch.tensor([0.9, 0.0, 0.81, 0.9]),
        "weights": torch.tensor([1.0, 0.5, 0.25, 0.75]),
    }


def shown(values):
    return {name: listed(value) for name, value in values.items()}


def qmix():
    agents, obs, choices = 2, 3, 2
    state = agents * obs
    agent_shapes = [(obs, HIDDEN), (HIDDEN, choices)]
    mixer_shapes = [(state, agents * WIDTH), (state, WIDTH), (state, WIDTH), (state, WIDTH), (WIDTH, 1)]

    def mix(flat, values, states):
        weights, last, biases, *bias = cut(flat, mixer_shapes)
        first = applied(weights, states).abs().reshape(-1, agents, WIDTH)
        hidden = functional.elu(torch.bmm(values[:, None, :], first)[:, 0] + applied(biases, states))
        constant = applied(bias[1], torch.relu(applied(bias[0], states)))
        return (hidden * applied(last, states).abs()).sum(1, keepdim=True) + constant

    def q_values(flat, joint):
        return mlp(flat, agent_shapes, joint.reshape(-1, obs)).reshape(ROWS, agents, choices)

    online, target = numbers(size(agent_shapes)).requires_grad_(), numbers(size(agent_shapes))
    mixer, target_mixer = numbers(size(mixer_shapes)).requires_grad_(), numbers(size(mixer_shapes))
    given = batch(state, torch.tensor([[0, 1], [1, 1], [1, 0], [0, 0]]))
    with torch.no_grad():
        best = q_values(online, given["nextObs"]).argmax(-1)
        following = q_values(target, given["nextObs"]).gather(2, best[..., None])[..., 0]
        mixed = mix(target_mixer, following, given["nextObs"])[:, 0]
        wanted = given["rewards"] + given["discounts"] * mixed
    chosen = q_values(online, given["obs"]).gather(2, given["actions"][..., None])[..., 0]
    errors = mix(mixer, chosen, given["obs"])[:, 0] - wanted
    loss = (given["weights"] * errors**2).mean()
    loss.backward()
    return {
        "module": listed(online),
        "networks": shown({"target": target, "mixer": mixer, "targetMixer": target_mixer}),
        "batch": shown(given),
        "loss": loss.item(),
        "gradient": listed(online.grad) + listed(mixer.grad),
        "priorities": listed(errors.abs()),
    }


def maddpg():
    """The update of the first of two agents."""
    obs, actions = [3, 2], [1, 2]
    actor_shapes = [[(o, HIDDEN), (HIDDEN, a)] for o, a in zip(obs, actions)]
    critic_shapes = [(sum(obs) + sum(actions), HIDDEN), (HIDDEN, 1)]
    actor = numbers(size(actor_shapes[0])).requires_grad_()
    targets = [numbers(size(shapes)) for shapes in actor_shapes]
    critic, target_critic = numbers(size(critic_shapes)).requires_grad_(), numbers(size(critic_shapes))
    given = batch(sum(obs), numbers(ROWS * sum(actions)).reshape(ROWS, sum(actions)))
    with torch.no_grad():
        seen = given["nextObs"].split(obs, 1)
        following = [torch.tanh(mlp(flat, shapes, x)) for flat, shapes, x in zip(targets, actor_shapes, seen)]
        value = mlp(target_critic, critic_shapes, torch.cat([given["nextObs"], *following], 1))[:, 0]
        wanted = given["rewards"] + given["discounts"] * value
    value = mlp(critic, critic_shapes, torch.cat([given["obs"], given["actions"]], 1))[:, 0]
    loss = (given["weights"] * (value - wanted) ** 2).mean()
    loss.backward()
    critic_gradient = listed(critic.grad)
    features = mlp(actor, actor_shapes[0], given["obs"][:, : obs[0]])
    joint = torch.cat([given["obs"], torch.tanh(features), given["actions"][:, actions[0] :]], 1)
    actor_loss = -mlp(critic.detach(), critic_shapes, joint).mean() + 0.01 * (features**2).mean()
    actor_loss.backward()
    return {
        "module": listed(actor),
        "targets": [listed(flat) for flat in targets],
        "critic": listed(critic),
        "targetCritic": listed(target_critic),
        "batch": shown(given),
        "losses": {"qfLoss": loss.item(), "policyLoss": actor_loss.item()},
        "gradients": {"critic": critic_gradient, "actor": listed(actor.grad)},
    }


print(json.dumps({"qmix": qmix(), "maddpg": maddpg()}))
