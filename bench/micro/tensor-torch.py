"""The networks of tensor.ts in PyTorch: steps a second of CPU time, and forward passes in microseconds."""

import time

import torch

torch.set_num_threads(1)
WINDOWS, WINDOW_S = 15, 0.06


def best_rate(run):
    for _ in range(200):
        run()
    best = 0
    for _ in range(WINDOWS):
        start, until, calls = time.process_time(), time.perf_counter() + WINDOW_S, 0
        while time.perf_counter() < until:
            run()
            calls += 1
        best = max(best, calls / (time.process_time() - start))
    return best


def network_of(sizes):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


for sizes, rows in [([4, 64, 64, 2], 128), ([4, 64, 64, 2], 512), ([8, 256, 256, 2], 256)]:
    network = network_of(sizes)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, fused=True)
    x, y = torch.randn(rows, sizes[0]), torch.randint(0, sizes[-1], (rows,))

    def step():
        loss = torch.nn.functional.cross_entropy(network(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    print(f"{'-'.join(map(str, sizes))}, batch {rows}: {best_rate(step):.0f} steps/s")
network = network_of([4, 64, 64, 2])
for rows in (1, 16):
    x = torch.full((rows, 4), 0.3)
    with torch.no_grad():
        print(f"forward of {rows}: {1e6 / best_rate(lambda: network(x)):.2f} us")
