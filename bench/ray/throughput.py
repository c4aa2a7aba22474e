"""The twin of ../throughput.ts: how often per second an operation completes. Change both or neither."""

import time

# A round stops adding windows once it has taken this many times its planned length.
OVERRUN_FACTOR = 2


def operations_per_second(call, plan, operations_per_call=1, warm_up=None):
    warm_up_calls = _call_for(warm_up or call, plan["warmUpMs"] / 1000)
    if warm_up is None:
        calls_per_step = int(warm_up_calls * plan["windowMs"] / plan["warmUpMs"] / 10) + 1
    else:
        calls_per_step = 1
    samples = []
    started_at = time.perf_counter()
    window_seconds = plan["windowMs"] / 1000
    budget_seconds = window_seconds * plan["windows"] * OVERRUN_FACTOR
    for _ in range(plan["windows"]):
        window_start = time.perf_counter()
        calls = 0
        while True:
            for _ in range(calls_per_step):
                call()
            calls += calls_per_step
            elapsed = time.perf_counter() - window_start
            if elapsed >= window_seconds:
                break
        samples.append(calls * operations_per_call / elapsed)
        if time.perf_counter() - started_at > budget_seconds:
            break
    return {"samples": samples}


def _call_for(call, duration_seconds):
    start = time.perf_counter()
    calls = 0
    while True:
        call()
        calls += 1
        if time.perf_counter() - start >= duration_seconds:
            return calls
