"""One round of one figure on Ray, in a process of its own: round.py FIGURE PLAN RESULT-FILE. The twin of ../round.ts."""

import json
import os
import sys

import ray
from figures import FIGURES


def main():
    figure_name, plan_text, result_file = sys.argv[1:4]
    ray.init(_temp_dir=os.environ["SHOAL_BENCH_RAY_TEMP"])
    measurement = FIGURES[figure_name](json.loads(plan_text))
    with open(result_file, "w") as file:
        json.dump(measurement, file)
    ray.shutdown()


main()
