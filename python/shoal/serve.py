"""Serve for code that runs in a deployment of Python: requests, responses, handles of other deployments, ``batch``, and
``ingress`` for ASGI applications such as FastAPI's.

A deployment needs none of it: an object with Starlette's attributes is answered with as well.
"""

from . import _serve_metrics as metrics
from ._serve_batch import batch
from ._serve_context import GangContext, ReplicaContext, get_multiplexed_model_id, get_replica_context, get_request_id
from ._serve_handles import DeploymentHandle, DeploymentResponse, DeploymentResponseGenerator
from ._serve_http import Headers, HTMLResponse, HTTPException, JSONResponse, PlainTextResponse, QueryParams, Request, Response, StreamingResponse, Url
from ._serve_ingress import ingress
from ._serve_multiplexed import multiplexed

__all__ = [
    "DeploymentHandle",
    "DeploymentResponse",
    "DeploymentResponseGenerator",
    "GangContext",
    "HTMLResponse",
    "HTTPException",
    "Headers",
    "JSONResponse",
    "PlainTextResponse",
    "QueryParams",
    "ReplicaContext",
    "Request",
    "Response",
    "StreamingResponse",
    "Url",
    "batch",
    "get_multiplexed_model_id",
    "get_replica_context",
    "get_request_id",
    "ingress",
    "metrics",
    "multiplexed",
]
