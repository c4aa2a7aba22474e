"""Handles of other deployments, in a deployment of Python.

A call goes to the TypeScript half of the replica, which routes it as it routes its own calls: `callHandle` and `streamHandle` of `src/serve/replica/replica.ts`. Handles
are made from the marks that a replica finds among the arguments of its constructor.
"""

from . import _api, _serve_context

#: The key of a mark; its value is the number of the handle in the replica.
MARK = "$shoal.serve.handle"


class DeploymentHandle:
    """``handle.method.remote(...)`` calls a method of one of the replicas; ``handle.remote(...)`` calls the deployment itself."""

    def __init__(self, gateway, number, method="", options=None):
        self._gateway = gateway
        self._number = number
        self._method = method
        self._options = options or {}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return DeploymentHandle(self._gateway, self._number, name, self._options)

    def options(self, *, method_name=None, stream=None, multiplexed_model_id=None, session_id=None, timeout_s=None):
        """A handle with other options for its calls. ``stream``: the method gives its items one by one."""
        options = dict(self._options)
        if stream is not None:
            options["stream"] = bool(stream)
        if multiplexed_model_id is not None:
            options["multiplexedModelId"] = multiplexed_model_id
        if session_id is not None:
            options["sessionId"] = session_id
        if timeout_s is not None:
            options["timeoutMs"] = max(1, int(timeout_s * 1000))
        return DeploymentHandle(self._gateway, self._number, self._method if method_name is None else method_name, options)

    def remote(self, *args):
        """Calls it. A response of another call among the arguments is passed on as its value, without being awaited here."""
        meta = list(_serve_context.request.get() or ("", "", 0))
        passed = [arg._ref if isinstance(arg, DeploymentResponse) else arg for arg in args]
        if self._options.get("stream"):
            call = self._gateway.streamHandle.options(num_returns="streaming")
            return DeploymentResponseGenerator(call.remote(self._number, self._method, self._options, meta, *passed))
        return DeploymentResponse(self._gateway.callHandle.remote(self._number, self._method, self._options, meta, *passed))

    def __repr__(self):
        return "DeploymentHandle(%d)" % self._number


class DeploymentResponse:
    """The answer to a call: ``await response`` in coroutines, ``response.result()`` elsewhere."""

    def __init__(self, ref):
        self._ref = ref

    def __await__(self):
        return self._ref.__await__()

    def result(self, timeout_s=None):
        """:raises shoal.GetTimeoutError: where it is not there in time"""
        return _api.get(self._ref, timeout=timeout_s)

    def cancel(self):
        _api.cancel(self._ref)


class DeploymentResponseGenerator:
    """The items of a stream: ``async for`` in coroutines, ``for`` elsewhere."""

    def __init__(self, refs):
        self._refs = refs

    def __aiter__(self):
        return self

    async def __anext__(self):
        return await (await self._refs.__anext__())

    def __iter__(self):
        return self

    def __next__(self):
        return _api.get(next(self._refs))

    def cancel(self):
        self._refs.close()


def with_handles(value, gateway):
    """A copy of arguments with handles in place of marks, in lists and dicts at any depth."""
    if isinstance(value, dict):
        if set(value) == {MARK}:
            return DeploymentHandle(gateway, value[MARK])
        return {key: with_handles(item, gateway) for key, item in value.items()}
    return [with_handles(item, gateway) for item in value] if isinstance(value, list) else value
