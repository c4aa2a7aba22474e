"""Records what PyTorch computes for the losses of MARWIL, behaviour cloning, IQL and CQL on fixed batches and weights.

Prints JSON: python record_offline_losses.py > offline-losses.json. Weights are `[in, out]`, as in shoal/tensor. Needs torch; written with torch 2.15.
"""

import json

import torch

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(1)
OBS, HIDDEN, ACTIONS = 3, 5, 2
GAMMA = 0.9
# Rows of the episodes, and whether the world ended.
EPISODES = [(3, True), (2, False)]
# The draws of the learner's stream with seed 1: normal ones, of which the first four are for targets, and equally likely ones.
NOISE = [1.520568852308771, -1.3631564940268284, 0.8006049083258958, -0.11592717694725703, 1.3850246711865248, 0.005335677471303579, 1.8104926435400646, 1.0665989914813223, -0.5749704155264697, 0.7643460867101648, -1.8532920309731755, -0.5277235220581137, -1.0146866324311392, -1.0080508257169198, 0.7359597031894524, 1.2533376938286513, -0.4921795662925426, -0.5388983057281163, 0.20468476206399952, -0.12981099573082772]
UNIFORM = [0.7027267320081592, 0.04130695969797671, 0.16352635761722922, 0.4666137092281133, 0.9721855875104666, 0.18023458612151444, 0.9423948505427688, 0.6362832351587713]


def numbers(count, low=-1.0, high=1.0):
    drawn = torch.rand(count, generator=generator) * (high - low) + low
    return torch.round(drawn * 256) / 256


def listed(tensor):
    return [float(f"{value:.8g}") for value in tensor.detach().flatten().tolist()]


def layers(flat, shapes):
    parts, at = [], 0
    for rows, columns in shapes:
        weight = flat[at : at + rows * columns].reshape(rows, columns)
        at += rows * columns
        parts.append((weight, flat[at : at + columns]))
        at += columns
    assert at == flat.numel()
    return parts


def marwil(beta):
    shapes = [(OBS, HIDDEN), (HIDDEN, ACTIONS), (HIDDEN, 1)]
    flat = numbers(sum(rows * columns + columns for rows, columns in shapes)).requires_grad_()
    count = sum(length for length, _ in EPISODES)
    obs = numbers((count + len(EPISODES)) * OBS).reshape(-1, OBS)
    actions = torch.tensor([0, 1, 1, 0, 1])
    rewards = numbers(count, -3, 3)
    encoder, policy, value = layers(flat, shapes)
    features = torch.tanh(obs @ encoder[0] + encoder[1])
    logits = features @ policy[0] + policy[1]
    values = (features @ value[0] + value[1])[:, 0]
    kept, returns, at, row = [], [], 0, 0
    for length, ended in EPISODES:
        following = torch.tensor(0.0) if ended else values[at + length].detach()
        found = []
        for step in reversed(range(length)):
            following = rewards[row + step] + GAMMA * following
            found.insert(0, following)
        returns += found
        kept += range(at, at + length)
        at, row = at + length + 1, row + length
    logp = torch.distributions.Categorical(logits=logits[kept]).log_prob(actions)
    losses = {}
    if beta == 0:
        loss = losses["policyLoss"] = -logp.mean()
    else:
        advantages = torch.stack(returns) - values[kept]
        average = 4.0 + 0.25 * ((advantages**2).mean().item() - 4.0)
        weights = (beta * advantages.detach() / (1e-8 + average**0.5)).exp()
        losses["policyLoss"] = -(weights * logp).mean()
        losses["vfLoss"] = 0.5 * (advantages**2).mean()
        losses["squaredAdvantages"] = torch.tensor(average)
        loss = losses["policyLoss"] + 0.5 * losses["vfLoss"]
    losses["totalLoss"] = loss
    loss.backward()
    return {
        "beta": beta,
        "module": listed(flat),
        "batch": {"obs": listed(obs), "actions": actions.tolist(), "rewards": listed(rewards)},
        "losses": {name: each.item() for name, each in losses.items()},
        "gradient": listed(flat.grad),
    }


def mlp(flat, shapes, x):
    parts = layers(flat, shapes)
    for weight, bias in parts[:-1]:
        x = torch.relu(x @ weight + bias)
    return x @ parts[-1][0] + parts[-1][1]


def size(shapes):
    return sum(rows * columns + columns for rows, columns in shapes)


CRITIC = [(OBS + 1, HIDDEN), (HIDDEN, 1)]
ACTOR = [(OBS, HIDDEN), (HIDDEN, 2)]


def critics(flat, obs, actions):
    return [mlp(part, CRITIC, torch.cat([obs, actions], 1))[:, 0] for part in flat.split(size(CRITIC))]


def log_density(inputs, actions):
    """Of a squashed normal distribution, at actions between the bounds."""
    normal = torch.distributions.Normal(inputs[:, :1], inputs[:, 1:].clamp(-20, 2).exp())
    before = torch.atanh(actions)
    return (normal.log_prob(before) - torch.log(1 - actions**2)).sum(1)


def transitions():
    """Three steps of which the last one ends the world, then one that is truncated: observations, actions, rewards, and what follows."""
    obs = numbers(6 * OBS).reshape(6, OBS)
    actions = numbers(4, -0.9, 0.9).reshape(4, 1)
    rewards = numbers(4, -3, 3)
    discounts = torch.tensor([GAMMA, GAMMA, 0.0, GAMMA])
    return obs, actions, rewards, obs[[0, 1, 2, 4]], obs[[1, 2, 3, 5]], discounts


def iql():
    actor = numbers(size(ACTOR)).requires_grad_()
    online = numbers(2 * size(CRITIC)).requires_grad_()
    target = numbers(2 * size(CRITIC))
    value_shapes = [(OBS, HIDDEN), (HIDDEN, 1)]
    value = numbers(size(value_shapes)).requires_grad_()
    all_obs, actions, rewards, obs, following, discounts = transitions()
    wanted = rewards + discounts * mlp(value, value_shapes, following)[:, 0].detach()
    difference = torch.minimum(*critics(target, obs, actions)) - mlp(value, value_shapes, obs)[:, 0]
    value_loss = (torch.abs(0.8 - (difference < 0).float()) * difference**2).mean()
    value_loss.backward()
    weights = torch.exp(2 * difference.detach()).clamp(max=100)
    actor_loss = -(weights * log_density(mlp(actor, ACTOR, obs), actions)).mean()
    actor_loss.backward()
    critic_loss = sum(((each - wanted) ** 2).mean() for each in critics(online, obs, actions))
    critic_loss.backward()
    return {
        "module": listed(actor),
        "networks": {"critics": listed(online), "target": listed(target), "value": listed(value)},
        "batch": {"obs": listed(all_obs), "actions": listed(actions), "rewards": listed(rewards)},
        "losses": {"vfLoss": value_loss.item(), "policyLoss": actor_loss.item(), "qfLoss": critic_loss.item()},
        "gradients": {"valueOptimizer": listed(value.grad), "actor": listed(actor.grad), "criticsOptimizer": listed(online.grad)},
    }


def cql():
    """The critics, with two actions of each kind, a temperature of 0.5 and a weight of 3."""
    actor = numbers(size(ACTOR)).requires_grad_()
    online = numbers(2 * size(CRITIC)).requires_grad_()
    target = numbers(2 * size(CRITIC))
    all_obs, actions, rewards, obs, following, discounts = transitions()
    noise = torch.tensor(NOISE, dtype=torch.float32)
    uniform = torch.tensor(UNIFORM, dtype=torch.float32)

    def draw(x, count, first):
        inputs = mlp(actor.detach(), ACTOR, x).repeat_interleave(count, 0)
        mean, log = inputs[:, :1], inputs[:, 1:].clamp(-20, 2)
        action = (mean + log.exp() * noise[first : first + len(inputs)][:, None]).tanh()
        return action, log_density(inputs, action)

    next_actions, _ = draw(following, 1, 0)
    wanted = rewards + discounts * torch.minimum(*critics(target, following, next_actions))
    count = 2
    here, here_logp = draw(obs, count, 4)
    there, there_logp = draw(following, count, 12)
    anywhere = (2 * uniform - 1)[:, None]
    repeated = obs.repeat_interleave(count, 0)
    loss, gaps = 0, []
    for own, *others in zip(critics(online, obs, actions), *(critics(online, repeated, each) for each in (anywhere, here, there))):
        densities = [torch.full((8,), 0.5).log(), here_logp, there_logp]
        scores = torch.cat([(q - density).reshape(4, count) for q, density in zip(others, densities)], 1)
        gap = 0.5 * torch.logsumexp(scores / 0.5, 1).mean() - own.mean()
        gaps.append(gap.item())
        loss = loss + ((own - wanted.detach()) ** 2).mean() + 3 * gap
    loss.backward()
    return {
        "module": listed(actor),
        "networks": {"critics": listed(online), "target": listed(target)},
        "batch": {"obs": listed(all_obs), "actions": listed(actions), "rewards": listed(rewards)},
        "losses": {"qfLoss": loss.item(), "cqlLoss": sum(gaps) / 2},
        "gradients": {"criticsOptimizer": listed(online.grad)},
    }


print(json.dumps({"marwil": [marwil(0), marwil(1)], "iql": iql(), "cql": cql()}))
