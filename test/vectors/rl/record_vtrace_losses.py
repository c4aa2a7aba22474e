"""Records what PyTorch computes for the losses of A2C, IMPALA and APPO on a fixed batch and fixed weights.

Prints JSON: python record_vtrace_losses.py > vtrace-losses.json. Weights are `[in, out]`, as in shoal/tensor. V-trace is written as the sum of its
definition, term by term, not as a recursion. Needs torch; written with torch 2.15.
"""

import json

import torch

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(2)
OBS, HIDDEN, GAMMA = 3, 5, 0.9
# Rows of the sequences, and whether the world ended.
SEQUENCES = [(3, True), (2, False), (1, False)]
ROWS = sum(length for length, _ in SEQUENCES)
SHAPES = [(OBS, HIDDEN), (HIDDEN, 2), (HIDDEN, 1)]
SIZE = sum(rows * columns + columns for rows, columns in SHAPES)


def numbers(count, low=-1.0, high=1.0):
    drawn = torch.rand(count, generator=generator) * (high - low) + low
    return torch.round(drawn * 256) / 256


def listed(tensor):
    return [float(f"{value:.8g}") for value in tensor.detach().flatten().tolist()]


def run(flat, obs):
    """The logits and values of a network of one layer with two heads."""
    parts, at = [], 0
    for rows, columns in SHAPES:
        weight = flat[at : at + rows * columns].reshape(rows, columns)
        at += rows * columns
        parts.append((weight, flat[at : at + columns]))
        at += columns
    features = torch.tanh(obs @ parts[0][0] + parts[0][1])
    return features @ parts[1][0] + parts[1][1], (features @ parts[2][0] + parts[2][1])[:, 0]


def places():
    """By row: its place among the observations, which have one more a sequence."""
    found, at = [], 0
    for length, _ in SEQUENCES:
        found += range(at, at + length)
        at += length + 1
    return torch.tensor(found)


def v_trace(rewards, ratios, values, clip, clip_pg):
    targets, advantages, at, row = [], [], 0, 0
    for length, ended in SEQUENCES:
        v = [float(values[at + step]) for step in range(length)] + [0.0 if ended else float(values[at + length])]
        r = [float(rewards[row + step]) for step in range(length)]
        rho = [float(ratios[row + step]) for step in range(length)]
        corrected = []
        for first in range(length):
            target, factor = v[first], 1.0
            for step in range(first, length):
                target += factor * min(clip, rho[step]) * (r[step] + GAMMA * v[step + 1] - v[step])
                factor *= GAMMA * min(1.0, rho[step])
            corrected.append(target)
        following = corrected[1:] + [v[length]]
        targets += corrected
        advantages += [min(clip_pg, rho[step]) * (r[step] + GAMMA * following[step] - v[step]) for step in range(length)]
        at, row = at + length + 1, row + length
    return torch.tensor(targets), torch.tensor(advantages)


def shown(flat, losses, loss, **others):
    loss.backward()
    all_losses = {**losses, "totalLoss": loss}
    return {
        "module": listed(flat),
        **{name: listed(each) for name, each in others.items()},
        "losses": {name: each.item() for name, each in all_losses.items()},
        "gradient": listed(flat.grad),
    }


obs = numbers((ROWS + len(SEQUENCES)) * OBS).reshape(-1, OBS)
actions = torch.tensor([0, 1, 1, 0, 1, 0])
rewards, logp, inputs = numbers(ROWS, -3, 3), numbers(ROWS, -2, -0.1), numbers(2 * ROWS).reshape(ROWS, 2)


def actor_critic(flat, advantages, targets):
    logits, values = run(flat, obs)
    policy = torch.distributions.Categorical(logits=logits[places()])
    losses = {
        "policyLoss": -(policy.log_prob(actions) * advantages).mean(),
        "vfLoss": ((values[places()] - targets) ** 2).mean() / 2,
        "entropy": policy.entropy().mean(),
    }
    return losses, losses["policyLoss"] + 0.5 * losses["vfLoss"] - 0.01 * losses["entropy"]


def a2c():
    flat = numbers(SIZE).requires_grad_()
    values = run(flat, obs)[1].detach()
    advantages, at, row = [], 0, 0
    for length, ended in SEQUENCES:
        v = values[at : at + length + 1].clone()
        if ended:
            v[length] = 0
        errors = rewards[row : row + length] + GAMMA * v[1:] - v[:-1]
        advantages += [sum((GAMMA * 0.8) ** (step - first) * errors[step] for step in range(first, length)) for first in range(length)]
        at, row = at + length + 1, row + length
    advantages = torch.stack(advantages)
    losses, loss = actor_critic(flat, advantages, advantages + values[places()])
    return shown(flat, losses, loss)


def impala():
    flat = numbers(SIZE).requires_grad_()
    logits, values = run(flat, obs)
    now = torch.distributions.Categorical(logits=logits[places()]).log_prob(actions).detach()
    targets, advantages = v_trace(rewards, (now - logp).exp(), values.detach(), 1.0, 0.8)
    losses, loss = actor_critic(flat, advantages, targets)
    return shown(flat, losses, loss)


def appo():
    flat, target = numbers(SIZE).requires_grad_(), numbers(SIZE, -2, 2)
    logits, values = run(flat, obs)
    new = torch.distributions.Categorical(logits=logits[places()])
    old = torch.distributions.Categorical(logits=run(target, obs)[0][places()])
    old_logp = old.log_prob(actions)
    targets, advantages = v_trace(rewards, (old_logp - logp).exp(), values.detach(), 1.0, 1.0)
    ratio = (logp - old_logp).exp().clamp(0, 2) * (new.log_prob(actions) - logp).exp()
    losses = {
        "policyLoss": -torch.minimum(ratio * advantages, ratio.clamp(0.6, 1.4) * advantages).mean(),
        "vfLoss": ((values[places()] - targets) ** 2).mean() / 2,
        "entropy": new.entropy().mean(),
        "meanKl": torch.distributions.kl_divergence(old, new).mean(),
    }
    loss = losses["policyLoss"] + 0.5 * losses["vfLoss"] - 0.01 * losses["entropy"] + 0.3 * losses["meanKl"]
    return shown(flat, losses, loss, target=target)


batch = {"obs": obs, "actions": actions, "rewards": rewards, "actionLogp": logp, "actionDistInputs": inputs}
print(json.dumps({"batch": {name: listed(each) for name, each in batch.items()}, "a2c": a2c(), "impala": impala(), "appo": appo()}))
