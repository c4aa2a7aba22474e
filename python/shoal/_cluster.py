"""Answers questions of code in a Python worker about the cluster and its own place: ``nodes``, ``cluster_resources``, ``get_runtime_context``."""

from . import _messages as message
from . import _runtime
from ._stacks import Waiter


@_runtime.in_turn
def nodes():
    """The nodes of the cluster, as dicts with the keys that TypeScript's ``nodes()`` has: ``nodeId``, ``alive``, ``resources`` and so on."""
    return _asked(message.NODES)


@_runtime.in_turn
def cluster_resources():
    """All logical resources of the cluster, by name; ``object_store_memory`` in bytes."""
    answer = _asked(message.RESOURCES)
    return {**answer["total"], "object_store_memory": answer["store"]["quotaBytes"]}


@_runtime.in_turn
def available_resources():
    """The logical resources that are free now, by name; 0 for exhausted ones."""
    answer = _asked(message.RESOURCES)
    store = answer["store"]
    return {**answer["available"], "object_store_memory": max(0, store["quotaBytes"] - store["usedBytes"])}


def _asked(question):
    worker = _runtime.require_task()
    answer = []
    worker.daemon.request(question, None, on_reply=lambda header, _body, error: answer.append((header, error)))
    Waiter(worker, lambda: answer, None).run()
    header, error = answer[0]
    if error is not None:
        raise RuntimeError("Cannot ask the cluster: %s" % error)
    return header


class RuntimeContext:
    """Where code runs. It has attributes, and the methods that Ray has for them."""

    __slots__ = ("job_id", "node_id", "worker_id", "namespace", "task_name", "actor_id", "actor_name", "accelerator_ids", "was_current_actor_reconstructed")

    def __init__(self, worker):
        configuration = worker.configuration
        job = worker.running_job()
        actor = worker.actor
        self.job_id = configuration["jobId"]
        self.node_id = configuration["nodeId"]
        self.worker_id = worker.process_id
        self.namespace = configuration["namespace"]
        #: None while the constructor of an actor runs.
        self.task_name = None if job is None or job is actor else job.name
        #: None in tasks.
        self.actor_id = actor.id
        self.actor_name = actor.name
        self.accelerator_ids = {"GPU": [str(gpu) for gpu in worker.gpus]}
        #: Whether the actor died and was started again.
        self.was_current_actor_reconstructed = actor.incarnation > 0

    def get_job_id(self):
        return str(self.job_id)

    def get_node_id(self):
        return self.node_id

    def get_worker_id(self):
        return self.worker_id

    def get_actor_id(self):
        return self.actor_id

    def get_actor_name(self):
        return self.actor_name

    def get_task_name(self):
        return self.task_name

    def get_accelerator_ids(self):
        return self.accelerator_ids

    def __repr__(self):
        return "RuntimeContext(%s)" % ", ".join("%s=%r" % (name, getattr(self, name)) for name in self.__slots__)


def get_runtime_context():
    """The identity and the place of the code that calls.

    :raises RuntimeError: outside of tasks and actors
    """
    return RuntimeContext(_runtime.require())
