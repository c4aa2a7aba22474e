"""What a worker shows of its surroundings to the code that it runs."""

import json
import os
import sys
import time


def environment(held, name):
    """Returns once the file ``held`` has gone."""
    with open("%s-%s" % (held, name), "w"):
        pass
    while os.path.exists(held):
        time.sleep(0.02)
    with open("/proc/self/environ", encoding="latin-1") as file:
        return json.dumps([dict(os.environ), sys.argv, file.read()])
