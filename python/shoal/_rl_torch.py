"""Runs the networks of ``shoal/rl`` in PyTorch. ``src/rl/torch`` is the only caller.

One actor holds a network, as the graph that ``shoal/tensor`` traced, with its parameters and ``torch.optim.Adam``. A learner sends rows and gets the
outputs; it computes the loss, and sends the gradients of the outputs back. All parameters are one array, in the order and layout of the learner.
"""

import importlib
import math
import sys


def _library(name):
    """A library that the user has to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != name:
            raise
        raise ImportError(
            "this Python has no %s: %s -m pip install torch numpy"
            " (or name a Python that has it: .framework('torch', { runtimeEnv: { python: '...' } }))" % (name, sys.executable)
        ) from error


class NetworkActor:
    def __init__(self, recipe):
        self._recipe = recipe

    def open(self):
        """Makes the network. Returns the version of PyTorch and the device."""
        self._torch = torch = _library("torch")
        _library("numpy")
        recipe = self._recipe
        if recipe["gpus"] > 0 and not torch.cuda.is_available():
            raise RuntimeError("numGpusPerLearner is %s, and PyTorch %s finds no GPU here" % (recipe["gpus"], torch.__version__))
        self._device = torch.device("cuda" if recipe["gpus"] > 0 else "cpu")
        torch.set_num_threads(recipe["threads"])
        self._network = _network_class(torch)(recipe["graph"], recipe["parameters"], self._device)
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=0.0)
        self._outputs = None
        return {"version": str(torch.__version__), "device": str(self._device)}

    def set_state(self, weights, step, exp_avg, exp_avg_sq):
        torch = self._torch
        parameter = self._network.numbers
        for given in (weights, exp_avg, exp_avg_sq):
            if given.size != parameter.numel():
                raise ValueError("the network has %d numbers: received %d" % (parameter.numel(), given.size))
        with torch.no_grad():
            parameter.copy_(torch.tensor(weights))
        self._optimizer.state[parameter] = {
            "step": torch.tensor(float(step)),
            "exp_avg": torch.tensor(exp_avg, device=self._device),
            "exp_avg_sq": torch.tensor(exp_avg_sq, device=self._device),
        }
        self._outputs = None

    def get_state(self):
        parameter = self._network.numbers
        state = self._optimizer.state[parameter]
        return {
            "weights": _array(parameter),
            "step": int(state["step"].item()),
            "expAvg": _array(state["exp_avg"]),
            "expAvgSq": _array(state["exp_avg_sq"]),
        }

    def advance(self, obs, gradients, lr, max_norm):
        """Makes a step by the gradients of the last outputs, and computes the outputs of rows. Either may be None."""
        torch = self._torch
        answer = {}
        if gradients is not None:
            answer["norm"] = self._step(gradients, lr, max_norm)
        if obs is not None:
            width = self._recipe["width"]
            rows = torch.tensor(obs, device=self._device).reshape(-1, width)
            self._outputs = self._network(rows)
            answer["outputs"] = {name: _array(output) for name, output in self._outputs.items()}
        return answer

    def _step(self, gradients, lr, max_norm):
        """The norm before clipping. Gradients that are not finite change nothing."""
        torch = self._torch
        if self._outputs is None:
            raise RuntimeError("gradients belong to outputs, and there are none")
        pairs = [(self._outputs[name], torch.tensor(given, device=self._device)) for name, given in gradients.items()]
        self._outputs = None
        self._optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward([output for output, _ in pairs], [given.reshape(output.shape) for output, given in pairs])
        parameter = self._network.numbers
        norm = float(parameter.grad.norm())
        if not math.isfinite(norm):
            return norm
        if max_norm is not None:
            parameter.grad.mul_(min(1.0, max_norm / (norm + 1e-6)))
        self._optimizer.param_groups[0]["lr"] = lr
        self._optimizer.step()
        return norm

    def close(self):
        self._network = None


def _array(tensor):
    return tensor.detach().reshape(-1).cpu().numpy()


def _network_class(torch):
    class Network(torch.nn.Module):
        """Runs a traced graph. All parameters are parts of one vector."""

        def __init__(self, graph, parameters, device):
            super().__init__()
            sizes = [math.prod(shape) for _, shape in parameters]
            self.numbers = torch.nn.Parameter(torch.zeros(sum(sizes), device=device))
            self._places = {}
            at = 0
            for (name, shape), size in zip(parameters, sizes):
                self._places[name] = (at, size, shape)
                at += size
            operations = _operations(torch)
            self._outputs = graph["outputs"]
            self._values = []
            for value in graph["values"]:
                operation = value.get("operation")
                if operation is not None and operation["name"] not in operations:
                    raise ValueError("PyTorch has no form of %s here" % operation["name"])
                constant = value.get("constant")
                kept = None if constant is None else torch.tensor(constant, device=device)
                self._values.append((value, None if operation is None else operations[operation["name"]], kept))

        def forward(self, rows):
            count = rows.shape[0]
            values = []
            for value, operation, constant in self._values:
                shape = [length if isinstance(length, int) else int(length["rows"]) * count for length in value["shape"]]
                if operation is not None:
                    given = value["operation"]
                    operands = [values[int(place)] for place in given["operands"]]
                    values.append(operation(operands, given["numbers"], shape))
                elif "input" in value:
                    values.append(rows.reshape(shape))
                elif "parameter" in value:
                    at, size, of = self._places[value["parameter"]]
                    values.append(self.numbers[at : at + size].reshape(of))
                else:
                    values.append(constant.reshape(shape) if constant.numel() == math.prod(shape) else constant.expand(shape))
            return {name: values[int(place)] for name, place in self._outputs.items()}

    return Network


def _operations(torch):
    """By name: a function of operands, numbers and the shape of the result."""
    functional = torch.nn.functional

    def convolve(operands, numbers, shape):
        image, kernel = operands[:2]
        top, left, bottom, right = (int(pad) for pad in numbers["pads"])
        padded = functional.pad(image.permute(0, 3, 1, 2), (left, right, top, bottom))
        bias = operands[2] if len(operands) > 2 else None
        convolved = functional.conv2d(padded, kernel.permute(3, 2, 0, 1), bias, stride=int(numbers["stride"]))
        return convolved.permute(0, 2, 3, 1).reshape(shape)

    def maximum(operands, numbers, shape):
        (x,) = operands
        axes = [int(axis) for axis in numbers["axes"]]
        # Like the learner's own: the gradient goes to one of equal numbers.
        largest = x.reshape(-1).max() if len(axes) > 1 else x.max(dim=axes[0]).values
        return largest.reshape(shape)

    def total(operands, numbers, shape):
        axes = [int(axis) for axis in numbers["axes"]]
        reduce = torch.mean if numbers["isMean"] == 1 else torch.sum
        return reduce(operands[0], dim=axes).reshape(shape)

    def slices(operands, numbers, shape):
        if numbers.get("isWhole") == 1:
            return operands[0]
        return operands[0].narrow(int(numbers["axis"]), int(numbers["start"]), int(numbers["count"]))

    def softmax(operands, numbers, shape):
        kind = functional.log_softmax if numbers["isLogarithm"] == 1 else functional.softmax
        return kind(operands[0], dim=-1)

    def linear(operands, numbers, shape):
        x, weight = operands[:2]
        return functional.linear(x, weight.t(), operands[2] if len(operands) > 2 else None)

    def mask(operands, numbers, shape):
        x, condition = operands
        return torch.where(condition != 0, x, torch.zeros((), device=x.device))

    def plain(function):
        return lambda operands, numbers, shape: function(*operands)

    return {
        "affine": lambda operands, numbers, shape: operands[0] * numbers["p"] + numbers["q"],
        "clamp": lambda operands, numbers, shape: operands[0].clamp(numbers["p"], numbers["q"]),
        "linear": linear,
        "conv2d": convolve,
        "softmax": softmax,
        "normalize": lambda operands, numbers, shape: functional.layer_norm(operands[0], operands[0].shape[-1:], eps=numbers["eps"]),
        "sum": total,
        "max": maximum,
        "slice": slices,
        "concat": lambda operands, numbers, shape: torch.cat(operands, dim=int(numbers["axis"])),
        "transpose": lambda operands, numbers, shape: operands[0].transpose(-1, -2),
        "reshape": lambda operands, numbers, shape: operands[0].reshape(shape),
        "mask": mask,
        "elu": plain(functional.elu),
        "silu": plain(functional.silu),
        "softplus": plain(functional.softplus),
        "div": plain(torch.div),
        **{
            name: plain(getattr(torch, name))
            for name in (
                "exp",
                "log",
                "sqrt",
                "square",
                "abs",
                "tanh",
                "sigmoid",
                "relu",
                "add",
                "sub",
                "mul",
                "minimum",
                "maximum",
            )
        },
    }
