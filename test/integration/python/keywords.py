"""Arguments by name, and questions about the cluster."""

import shoal


def described(a, b=2, *, c=3, **others):
    return [a, b, c, others]


class Adder:
    def __init__(self, start, *, step=1):
        self.count = start
        self.step = step

    def add(self, a, b=0, *, factor=1):
        self.count += (a + b) * factor * self.step
        return self.count

    async def later(self, *, by):
        return self.count + by


RemoteAdder = shoal.remote(Adder)
remote_described = shoal.remote(described)


def from_python(handle):
    """A method by handle, a constructor and a task, with references by name."""
    ref = shoal.put(5)
    adder = RemoteAdder.remote(0, step=10)
    return shoal.get(
        [
            handle.add.remote(1, b=ref, factor=2),
            adder.add.remote(a=1),
            adder.later.remote(by=ref),
            remote_described.remote(1, c=ref, d="more"),
        ]
    )


def refused(handle, function):
    texts = []
    for call in (handle.method.remote, function.remote):
        try:
            call(1, name=2)
        except TypeError as error:
            texts.append(str(error))
    return texts


def unexpected():
    try:
        shoal.get(RemoteAdder.remote(0).add.remote(1, nothing=2))
    except shoal.TaskError as error:
        return "%s: %s" % (type(error.__cause__).__name__, error.__cause__)


def half(values):
    return [type(values).__name__, list(values)]


class Asker:
    def ask(self):
        context = shoal.get_runtime_context()
        alive = [node["nodeId"] for node in shoal.nodes() if node["alive"]]
        return {
            "node": context.node_id == context.get_node_id() and alive == [context.node_id],
            "actor": context.get_actor_id(),
            "task": context.task_name,
            "cpus": shoal.cluster_resources()["CPU"],
            "free": shoal.available_resources()["CPU"] <= 2,
            "job": context.get_job_id(),
        }
