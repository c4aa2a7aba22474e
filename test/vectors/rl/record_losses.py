"""Records what PyTorch computes for the losses of shoal/rl on fixed batches and weights.

Prints JSON: python record_losses.py > losses.json. Weights are `[in, out]`, as in shoal/tensor. The noise of SAC's draws is that of the learner's
stream with seed 1. Needs torch; written with torch 2.15.
"""

import json

import torch
from torch.nn import functional

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(1)
ROWS, OBS, HIDDEN = 4, 3, 5
NOISE = [1.520568852308771, -1.3631564940268284, 0.8006049083258958, -0.11592717694725703, 1.505461022470122, 0.39974247677641767, -0.5844953571083435, 0.12444161053298389]


def numbers(count, low=-1.0, high=1.0):
    drawn = torch.rand(count, generator=generator) * (high - low) + low
    return torch.round(drawn * 256) / 256


def listed(tensor):
    return [float(f"{value:.8g}") for value in tensor.detach().flatten().tolist()]


def layers(flat, shapes):
    """Cuts a flat list of parameters into weights and biases."""
    parts, at = [], 0
    for rows, columns in shapes:
        weight = flat[at : at + rows * columns].reshape(rows, columns)
        at += rows * columns
        parts.append((weight, flat[at : at + columns]))
        at += columns
    assert at == flat.numel()
    return parts


def size(shapes):
    return sum(rows * columns + columns for rows, columns in shapes)


def batch(actions):
    return {
        "obs": numbers(ROWS * OBS).reshape(ROWS, OBS),
        "actions": actions,
        "rewards": numbers(ROWS, -3, 3),
        "nextObs": numbers(ROWS * OBS).reshape(ROWS, OBS),
        "discounts": torch.tensor([0.9, 0.0, 0.81, 0.9]),
        "weights": torch.tensor([1.0, 0.5, 0.25, 0.75]),
    }


def shown(values):
    return {name: listed(value) for name, value in values.items()}


def q_values(flat, shapes, obs, atoms):
    encoder, advantages, value = layers(flat, shapes)
    features = torch.tanh(obs @ encoder[0] + encoder[1])
    a = (features @ advantages[0] + advantages[1]).reshape(-1, 2, atoms)
    v = (features @ value[0] + value[1]).reshape(-1, 1, atoms)
    return a - a.mean(1, keepdim=True) + v


def dqn(atoms):
    shapes = [(OBS, HIDDEN), (HIDDEN, 2 * atoms), (HIDDEN, atoms)]
    flat = numbers(size(shapes)).requires_grad_()
    target = numbers(size(shapes))
    given = batch(torch.tensor([0, 1, 1, 0]))
    support = torch.linspace(-2, 2, atoms) if atoms > 1 else torch.zeros(1)
    rows = torch.arange(ROWS)
    mean = lambda logits: logits[..., 0] if atoms == 1 else (logits.softmax(-1) * support).sum(-1)
    online_next = q_values(flat, shapes, given["nextObs"], atoms)
    best = mean(online_next).argmax(-1)
    next_logits = q_values(target, shapes, given["nextObs"], atoms)
    chosen = q_values(flat, shapes, given["obs"], atoms)[rows, given["actions"]]
    if atoms == 1:
        wanted = given["rewards"] + given["discounts"] * next_logits[rows, best, 0]
        errors = functional.huber_loss(chosen[:, 0], wanted.detach(), reduction="none")
    else:
        probabilities = next_logits.softmax(-1)[rows, best].detach()
        width = 4 / (atoms - 1)
        moved = (given["rewards"][:, None] + given["discounts"][:, None] * support).clamp(-2, 2)
        # The share of each point is 1 less its distance: another form of the projection.
        shares = (1 - (moved[:, :, None] - support).abs() / width).clamp(min=0)
        errors = functional.cross_entropy(chosen, (probabilities[:, :, None] * shares).sum(1), reduction="none")
    loss = (given["weights"] * errors).mean()
    loss.backward()
    return {"atoms": atoms, "module": listed(flat), "target": listed(target), "batch": shown(given), "loss": loss.item(), "gradient": listed(flat.grad)}


def mlp(flat, shapes, x):
    parts = layers(flat, shapes)
    for weight, bias in parts[:-1]:
        x = torch.relu(x @ weight + bias)
    return x @ parts[-1][0] + parts[-1][1]


def critics(flat, shapes, obs, actions):
    return [mlp(part, shapes, torch.cat([obs, actions], 1))[:, 0] for part in flat.split(size(shapes))]


def squashed(inputs, noise):
    mean, log = inputs[:, :1], inputs[:, 1:].clamp(-20, 2)
    before = mean + log.exp() * noise
    normal = torch.distributions.Normal(mean, log.exp())
    action = before.tanh()
    return action, (normal.log_prob(before) - torch.log(1 - action**2)).sum(1)


def sac():
    actor_shapes, critic_shapes = [(OBS, HIDDEN), (HIDDEN, 2)], [(OBS + 1, HIDDEN), (HIDDEN, 1)]
    actor = numbers(size(actor_shapes)).requires_grad_()
    online = numbers(2 * size(critic_shapes)).requires_grad_()
    target = numbers(2 * size(critic_shapes))
    log_alpha = torch.log(torch.tensor([0.5])).requires_grad_()
    given = batch(numbers(ROWS).reshape(ROWS, 1))
    noise = torch.tensor(NOISE).reshape(2, ROWS, 1)
    with torch.no_grad():
        action, logp = squashed(mlp(actor, actor_shapes, given["nextObs"]), noise[0])
        least = torch.minimum(*critics(target, critic_shapes, given["nextObs"], action))
        wanted = given["rewards"] + given["discounts"] * (least - log_alpha.exp() * logp)
    values = critics(online, critic_shapes, given["obs"], given["actions"])
    loss = sum((given["weights"] * functional.huber_loss(value, wanted, reduction="none")).mean() for value in values)
    loss.backward()
    critic_gradient = listed(online.grad)
    action, logp = squashed(mlp(actor, actor_shapes, given["obs"]), noise[1])
    actor_loss = (log_alpha.exp().detach() * logp - torch.minimum(*critics(online, critic_shapes, given["obs"], action))).mean()
    actor_loss.backward()
    alpha_loss = -(log_alpha * (logp.detach() - 1)).mean()
    alpha_loss.backward()
    return {
        "module": listed(actor),
        "critics": listed(online),
        "target": listed(target),
        "batch": shown(given),
        "losses": {"qfLoss": loss.item(), "policyLoss": actor_loss.item(), "alphaLoss": alpha_loss.item()},
        "gradients": {"criticsOptimizer": critic_gradient, "actor": listed(actor.grad), "alpha": listed(log_alpha.grad)},
    }


def ddpg():
    actor_shapes, critic_shapes = [(OBS, HIDDEN), (HIDDEN, 1)], [(OBS + 1, HIDDEN), (HIDDEN, 1)]
    actor = numbers(size(actor_shapes)).requires_grad_()
    target_actor = numbers(size(actor_shapes))
    online = numbers(size(critic_shapes)).requires_grad_()
    target = numbers(size(critic_shapes))
    given = batch(numbers(ROWS).reshape(ROWS, 1))
    with torch.no_grad():
        action = mlp(target_actor, actor_shapes, given["nextObs"]).tanh()
        wanted = given["rewards"] + given["discounts"] * critics(target, critic_shapes, given["nextObs"], action)[0]
    value = critics(online, critic_shapes, given["obs"], given["actions"])[0]
    loss = (given["weights"] * (value - wanted) ** 2).mean()
    loss.backward()
    critic_gradient = listed(online.grad)
    actor_loss = -critics(online, critic_shapes, given["obs"], mlp(actor, actor_shapes, given["obs"]).tanh())[0].mean()
    actor_loss.backward()
    return {
        "module": listed(actor),
        "critics": listed(online),
        "targetCritics": listed(target),
        "targetActor": listed(target_actor),
        "batch": shown(given),
        "losses": {"qfLoss": loss.item(), "policyLoss": actor_loss.item()},
        "gradients": {"criticsOptimizer": critic_gradient, "actor": listed(actor.grad)},
    }


CELL = 4
# Rows of the sequences, and whether the world ended; the chunks of a sequence have two rows at most.
SEQUENCES = [(3, True), (2, False), (1, False)]
CHUNK_MAX = 2


def ppo(recurrent):
    """An update of the whole batch. A chunk begins with a given state, through which no gradient goes."""
    rows = sum(length for length, _ in SEQUENCES)
    features = CELL if recurrent else HIDDEN
    cell_size = 4 * CELL * (HIDDEN + CELL + 2) if recurrent else 0
    heads = [(features, 2), (features, 1)]
    flat = numbers(size([(OBS, HIDDEN)]) + cell_size + size(heads)).requires_grad_()
    obs = numbers((rows + len(SEQUENCES)) * OBS).reshape(-1, OBS)
    chunk_count = sum(-(-length // CHUNK_MAX) for length, _ in SEQUENCES)
    states = numbers(chunk_count * 2 * CELL).reshape(chunk_count, 2 * CELL)
    actions = torch.tensor([0, 1, 1, 0, 1, 0])
    rewards, logp, inputs = numbers(rows, -3, 3), numbers(rows, -2, -0.1), numbers(2 * rows).reshape(rows, 2)
    encoder = layers(flat[: size([(OBS, HIDDEN)])], [(OBS, HIDDEN)])[0]
    of_cell = flat[size([(OBS, HIDDEN)]) :][:cell_size].split([4 * CELL * HIDDEN, 4 * CELL * CELL, 4 * CELL, 4 * CELL]) if recurrent else None
    policy, value = layers(flat[size([(OBS, HIDDEN)]) + cell_size :], heads)

    def run(x, state):
        x = torch.tanh(x @ encoder[0] + encoder[1])
        if not recurrent:
            return x
        weights = (of_cell[0].reshape(HIDDEN, 4 * CELL).T, of_cell[1].reshape(CELL, 4 * CELL).T, of_cell[2], of_cell[3])
        carried, outputs = (state[None, :CELL], state[None, CELL:]), []
        for row in x:
            carried = torch.lstm_cell(row[None], carried, *weights)
            outputs.append(carried[0])
        return torch.cat(outputs)

    logits, values, advantages, targets, chunk = [], [], [], [], 0
    at = row = 0
    for length, ended in SEQUENCES:
        of_sequence, last = [], None
        for start in range(0, length, CHUNK_MAX):
            end = min(length, start + CHUNK_MAX)
            is_last = end == length
            x = run(obs[at + start : at + end + is_last], states[chunk])
            chunk += 1
            predicted = (x @ value[0] + value[1])[:, 0]
            logits.append((x @ policy[0] + policy[1])[: end - start])
            of_sequence.append(predicted[: end - start])
            if is_last:
                last = predicted[-1]
        predicted = torch.cat(of_sequence)
        values.append(predicted)
        following, advantage, found = torch.tensor(0.0) if ended else last.detach(), torch.tensor(0.0), []
        for step in reversed(range(length)):
            now = predicted[step].detach()
            advantage = rewards[row + step] + 0.9 * following - now + 0.9 * 0.8 * advantage
            found.insert(0, advantage)
            following = now
        advantages += found
        targets += [a + v for a, v in zip(found, predicted.detach())]
        at, row = at + length + 1, row + length
    logits, values, advantages, targets = torch.cat(logits), torch.cat(values), torch.stack(advantages), torch.stack(targets)
    advantages = (advantages - advantages.mean()) / advantages.std(unbiased=False)
    new, old = torch.distributions.Categorical(logits=logits), torch.distributions.Categorical(logits=inputs)
    ratio = (new.log_prob(actions) - logp).exp()
    policy_loss = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
    vf_loss = ((values - targets) ** 2).clamp(0, 4).mean()
    entropy, kl = new.entropy().mean(), torch.distributions.kl_divergence(old, new).mean()
    loss = policy_loss + 0.5 * vf_loss - 0.01 * entropy + 0.3 * kl
    loss.backward()
    given = {"obs": obs, "states": states, "actions": actions, "rewards": rewards, "actionLogp": logp, "actionDistInputs": inputs}
    losses = {"totalLoss": loss, "policyLoss": policy_loss, "vfLoss": vf_loss, "entropy": entropy, "meanKl": kl}
    return {
        "recurrent": recurrent,
        "module": listed(flat),
        "batch": shown(given),
        "losses": {name: each.item() for name, each in losses.items()},
        "gradient": listed(flat.grad),
    }


print(json.dumps({"dqn": [dqn(1), dqn(5)], "sac": sac(), "ddpg": ddpg(), "ppo": [ppo(False), ppo(True)]}))
