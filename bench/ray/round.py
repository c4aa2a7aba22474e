"""One round of one figure on Ray, in a process of its own: round.py FIGURE PLAN RESULT-FILE. The twin of ../round.ts."""

import json
import os
import sys

import ray
from figures import FIGURES
from two_nodes import TWO_NODE_FIGURES, TwoNodes


def main():
    figure_name, plan_text, result_file = sys.argv[1:4]
    plan = json.loads(plan_text)
    if figure_name in TWO_NODE_FIGURES:
        with TwoNodes():
            measurement = TWO_NODE_FIGURES[figure_name](plan)
    else:
        ray.init(_temp_dir=os.environ["SHOAL_BENCH_RAY_TEMP"])
        measurement = FIGURES[figure_name](plan)
        ray.shutdown()
    with open(result_file, "w") as file:
        json.dump(measurement, file)


main()
