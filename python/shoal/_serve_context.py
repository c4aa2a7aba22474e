"""The replica that this process is, and the request whose code runs: what ``shoal.serve`` tells of them."""

import contextvars

#: ``(request_id, model_id, left_ms, *headers)`` of the request in whose code a caller is; the headers, names and values in turn, go on with its calls.
request = contextvars.ContextVar("shoal.serve.request", default=None)

_replica = None
#: The TypeScript half of the replica.
_gateway = None


class GangContext:
    """The gang of a replica: replicas that start, move and end together."""

    def __init__(self, gang_id, rank, world_size, member_replica_ids):
        self.gang_id = gang_id
        #: The replica's number among its members, from 0 to ``world_size - 1``; that of the replica's context counts the whole deployment.
        self.rank = rank
        self.world_size = world_size
        #: The ``replica_id`` of each member, in the order of their ranks.
        self.member_replica_ids = member_replica_ids


class ReplicaContext:
    """The replica in which the code of a deployment runs: application, deployment, ids."""

    def __init__(self, app_name, deployment, replica_id, rank, world_size, gang_context=None):
        self.app_name = app_name
        self.deployment = deployment
        self.replica_id = replica_id
        #: The replica's number among those of its deployment, from 0 to ``world_size - 1``; it changes, here, where an update or fewer replicas leave a gap.
        self.rank = rank
        #: The number of replicas that the deployment has, or is to have.
        self.world_size = world_size
        #: ``None`` where the deployment has no ``gangConfig``.
        self.gang_context = gang_context


def set_replica(context, gateway):
    global _replica, _gateway
    _gateway = gateway
    gang = context["gangContext"]
    # `Undefined` outside of gangs.
    gang_context = GangContext(gang["gangId"], gang["rank"], gang["worldSize"], gang["memberReplicaIds"]) if gang else None
    _replica = ReplicaContext(context["appName"], context["deployment"], context["replicaId"], context["rank"], context["worldSize"], gang_context)


def set_rank(rank, world_size):
    """In the very object that code may have kept."""
    _replica.rank, _replica.world_size = rank, world_size


def tell_models(models):
    """Routers are to know which models are here."""
    if _gateway is not None:
        _gateway.tellModels.remote(models)


def names():
    """Application, deployment and replica; empty outside of deployments."""
    return ("", "", "") if _replica is None else (_replica.app_name, _replica.deployment, _replica.replica_id)


def get_replica_context():
    """:raises RuntimeError: outside of a deployment"""
    if _replica is None:
        raise RuntimeError("Cannot tell the replica: this code runs outside of a deployment")
    return _replica


def get_request_id():
    """The id of the request whose code calls this; empty outside of requests."""
    known = request.get()
    return "" if known is None else known[0]


def get_multiplexed_model_id():
    """The model that the request asks for; empty where it asks for none."""
    known = request.get()
    return "" if known is None else known[1]
