"""Records what PyTorch computes for the operations, layers, distributions and optimizers of shoal/tensor.

Prints JSON: python record.py > torch.json. The loss of a case is the sum of its output times weights that differ, which keeps errors from cancelling each other.
Inputs are exact in float32 with few digits. Needs torch and safetensors; written with torch 2.15.
"""

import base64
import json

import safetensors.torch
import torch
from torch.nn import functional

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(1)


def numbers(*shape, low=-2.0, high=2.0):
    drawn = torch.rand(shape, generator=generator) * (high - low) + low
    return torch.round(drawn * 256) / 256


def listed(tensor):
    return {"shape": list(tensor.shape), "data": [float(f"{value:.8g}") for value in tensor.detach().flatten().tolist()]}


def weights(output):
    at = torch.arange(output.numel())
    return (0.5 + ((at * 7) % 5) / 4).reshape(output.shape)


cases = []


def case(name, function, *inputs, **more):
    leaves = [value.clone().requires_grad_() for value in inputs]
    output = function(*leaves)
    (output * weights(output)).sum().backward()
    found = [leaf.grad if leaf.grad is not None else torch.zeros_like(leaf) for leaf in leaves]
    cases.append(
        {"name": name, "inputs": [listed(value) for value in inputs], "output": listed(output), "gradients": [listed(value) for value in found], **more}
    )


def operations():
    x = numbers(5, 7)
    for name in ["neg", "exp", "square", "abs", "tanh", "sigmoid", "relu"]:
        case(name, lambda t, name=name: getattr(torch, name)(t), x)
    for name in ["elu", "silu", "softplus"]:
        case(name, lambda t, name=name: getattr(functional, name)(t), x)
    positive = numbers(5, 7, low=0.1, high=4)
    case("log", torch.log, positive)
    case("sqrt", torch.sqrt, positive)
    case("clamp", lambda t: t.clamp(-1, 1.5), x)
    for left, right in [((5, 7), (5, 7)), ((5, 7), (7,)), ((5, 1), (1, 7)), ((2, 1, 3), (4, 1)), ((), (3, 2))]:
        a, b = numbers(*left), numbers(*right, low=0.5, high=2.5)
        for name in ["add", "sub", "mul", "div", "minimum", "maximum"]:
            case(name, lambda p, q, name=name: getattr(torch, name)(p, q), a, b)
    for rows, terms, columns in [(1, 4, 70), (13, 5, 3), (7, 40, 19)]:
        case("matmul", torch.matmul, numbers(rows, terms), numbers(terms, columns))
        case("linear", lambda p, w, b: functional.linear(p, w.T, b), numbers(rows, terms), numbers(terms, columns), numbers(columns))
    cube = numbers(2, 3, 4)
    for axis in [0, 1, -1]:
        case("sum", lambda t, axis=axis: t.sum(axis), cube, axis=axis)
        case("mean", lambda t, axis=axis: t.mean(axis), cube, axis=axis)
        case("max", lambda t, axis=axis: t.max(axis).values, cube, axis=axis)
    case("softmax", lambda t: t.softmax(-1), x)
    case("logSoftmax", lambda t: t.log_softmax(-1), x)
    case("transpose", lambda t: t.transpose(-1, -2), cube)
    case("slice", lambda t: t[:, 1:3], cube, axis=1)
    index = [4, 0, 4, 2]
    case("rows", lambda t: t[torch.tensor(index)], x, index=index)
    case("gather", lambda t: t.gather(1, torch.tensor([[1], [0], [6], [3], [3]])).squeeze(1), x, index=[1, 0, 6, 3, 3])
    case("crossEntropy", lambda t: functional.cross_entropy(t, torch.tensor([1, 0, 6, 3, 3])), x, index=[1, 0, 6, 3, 3])
    case("mseLoss", functional.mse_loss, x, numbers(5, 7))
    case("huberLoss", lambda p, q: functional.huber_loss(p, q, delta=0.7, reduction="none"), x, numbers(5, 7))
    case("layerNorm", lambda t, g, b: functional.layer_norm(t, (7,), g, b), x, numbers(7), numbers(7))
    case("concat", lambda p, q: torch.cat([p, q], 1), x, numbers(5, 2), axis=1)
    case("stack", lambda p, q: torch.stack([p, q], 1), x, numbers(5, 7), axis=1)
    case("where", lambda p, q: torch.where(x > 0, p, q), numbers(5, 7), numbers(5, 7), condition=listed((x > 0).float()))
    for stride, padding in [(1, 0), (2, 1), (3, 2)]:
        image, kernel, bias = numbers(2, 7, 6, 3), numbers(3, 2, 3, 4), numbers(4)
        case(
            "conv2d",
            lambda t, k, b, stride=stride, padding=padding: functional.conv2d(
                t.permute(0, 3, 1, 2), k.permute(3, 2, 0, 1), b, stride=stride, padding=padding
            ).permute(0, 2, 3, 1),
            image,
            kernel,
            bias,
            options={"stride": stride, "padding": padding},
        )


layers = []


def layer(name, module, output, *inputs):
    """Parameters go in PyTorch's layout, as a file has them."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(numbers(*parameter.shape, low=-0.5, high=0.5))
    leaves = [value.clone().requires_grad_() for value in inputs]
    result = output(module, *leaves)
    (result * weights(result)).sum().backward()
    layers.append(
        {
            "name": name,
            "parameters": {key: listed(value) for key, value in module.named_parameters()},
            "inputs": [listed(value) for value in inputs],
            "output": listed(result),
            "gradients": [listed(leaf.grad) for leaf in leaves],
            "parameterGradients": {key: listed(value.grad) for key, value in module.named_parameters()},
        }
    )


def modules():
    mlp = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    layer("Mlp", mlp, lambda m, x: m(x), numbers(4, 3))
    layer("LayerNorm", torch.nn.LayerNorm(5), lambda m, x: m(x), numbers(4, 5))
    conv = torch.nn.Conv2d(3, 4, 3, stride=2, padding=1)
    layer("Conv2d", conv, lambda m, x: m(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1), numbers(2, 6, 5, 3))
    layer("Lstm", torch.nn.LSTM(3, 4, batch_first=True), lambda m, x: m(x)[0], numbers(2, 5, 3))
    layer("Gru", torch.nn.GRU(3, 4, batch_first=True), lambda m, x: m(x)[0], numbers(2, 5, 3))


distributions = []


def distribution(name, build, parameters, values, other=None, entropy=True):
    leaves = [value.clone().requires_grad_() for value in parameters]
    made = build(*leaves)
    logp = made.log_prob(values)
    logp = logp.sum(-1) if logp.dim() == 2 else logp
    (logp * weights(logp)).sum().backward()
    entry = {
        "name": name,
        "parameters": [listed(value) for value in parameters],
        "values": listed(values.float()),
        "logp": listed(logp),
        "gradients": [listed(leaf.grad) for leaf in leaves],
    }
    summed = lambda value: listed(value.sum(-1) if value.dim() == 2 else value)
    if entropy:
        entry["entropy"] = summed(build(*parameters).entropy())
    if other is not None:
        entry["other"] = [listed(value) for value in other]
        entry["kl"] = summed(torch.distributions.kl_divergence(build(*parameters), build(*other)))
    distributions.append(entry)


def all_distributions():
    d = torch.distributions
    logits, others = numbers(4, 5), numbers(4, 5)
    distribution("Categorical", lambda x: d.Categorical(logits=x), [logits], torch.tensor([0, 4, 2, 2]), [others])
    coins = (numbers(4, 5) > 0).float()
    distribution("Bernoulli", lambda x: d.Bernoulli(logits=x), [logits], coins, [others])
    mean, log_std = numbers(4, 3), numbers(4, 3, low=-1, high=0.5)
    distribution("Normal", lambda m, s: d.Normal(m, s.exp()), [mean, log_std], numbers(4, 3), [numbers(4, 3), numbers(4, 3, low=-1, high=0.5)])
    squash = [d.transforms.TanhTransform(), d.transforms.AffineTransform(1.0, 2.0)]
    distribution(
        "SquashedNormal",
        lambda m, s: d.TransformedDistribution(d.Normal(m, s.exp()), squash),
        [mean, log_std],
        numbers(4, 3, low=-0.9, high=2.9),
        entropy=False,
    )


def optimizers():
    found = []
    start = numbers(6)
    gradients = [numbers(6) for _ in range(6)]
    o = torch.optim
    kinds = {
        "Adam": (o.Adam, {"lr": 0.1}),
        "Adam with decay": (o.Adam, {"lr": 0.1, "weight_decay": 0.1, "eps": 1e-5}),
        "AdamW": (o.AdamW, {"lr": 0.1, "weight_decay": 0.1}),
        "RMSProp": (o.RMSprop, {"lr": 0.05, "alpha": 0.9}),
        "SGD": (o.SGD, {"lr": 0.1}),
        "SGD with momentum": (o.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
        "clipped SGD": (o.SGD, {"lr": 0.1}),
    }
    for name, (kind, options) in kinds.items():
        parameter = torch.nn.Parameter(start.clone())
        optimizer = kind([parameter], **options)
        after = []
        for gradient in gradients:
            parameter.grad = gradient.clone()
            if name.startswith("clipped"):
                torch.nn.utils.clip_grad_norm_([parameter], 0.5)
            optimizer.step()
            after.append(listed(parameter))
        found.append({"name": name, "options": options, "start": listed(start), "gradients": [listed(g) for g in gradients], "after": after})
    return found


operations()
modules()
all_distributions()
file = safetensors.torch.save({"weight": numbers(2, 3), "bias": numbers(3).double()}, metadata={"format": "pt"})
print(
    json.dumps(
        {
            "torch": torch.__version__,
            "operations": cases,
            "layers": layers,
            "distributions": distributions,
            "optimizers": optimizers(),
            "safetensors": base64.b64encode(file).decode(),
        }
    )
)
