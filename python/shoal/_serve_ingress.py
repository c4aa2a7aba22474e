"""``shoal.serve.ingress``: a class whose requests an ASGI application answers, and how the routes of a FastAPI application get the instance of their class.

A class says only which application it has; the application is made ready in the replica, once there is an instance: routes that were written as methods of the class are bound
to it. FastAPI is imported where the application is one of its own, and is not needed otherwise.
"""

import inspect
import sys
import types

from ._serve_asgi import is_asgi

_MARK = "__shoal_asgi__"


def ingress(app):
    """Lets an ASGI application answer the requests of a class: FastAPI, Starlette, or any callable of ASGI 3.

    Methods of the class may be routes of a FastAPI application: ``self`` is the instance in the replica. A function without parameters makes the application there, after the
    constructor. Without a class, ``ingress(app)()`` gives one that has the application alone.

    :raises TypeError: for what is no application, and for a class that answers requests itself by ``__call__``
    """
    if not is_asgi(app) and not (inspect.isfunction(app) and not inspect.signature(app).parameters):
        raise TypeError("Cannot make an ingress: an ASGI application, or a function without parameters that makes one, is needed: received %r" % (app,))

    def decorate(cls=None):
        if cls is None:
            cls = type("AsgiIngress", (), {"__init__": lambda self, *args: None, "__module__": __name__})
        if not inspect.isclass(cls):
            raise TypeError("Cannot make an ingress: it decorates a class: received %r" % (cls,))
        if "__call__" in dir(cls):
            raise TypeError("Cannot make an ingress of %s: requests go to its application, so it has no method __call__" % cls.__name__)
        setattr(cls, _MARK, (app,))
        return cls

    return decorate


def application_of(target):
    """The ASGI application of an instance, or of what is one itself; None where there is none. :raises TypeError: for a builder that makes none"""
    if is_asgi(target):
        return target
    held = getattr(type(target), _MARK, None)
    if held is None:
        return None
    app = held[0]
    if not is_asgi(app):
        app = app()
        if not is_asgi(app):
            raise TypeError("Cannot make the ingress %s: its function gave no ASGI application: it gave %r" % (type(target).__name__, app))
    _bind_routes(app, target)
    return app


def _bind_routes(app, instance):
    """Routes whose function is a method of the instance's class are made anew with the bound method, in their place, so that FastAPI asks clients for all but ``self``."""
    router = getattr(app, "router", None)
    if "fastapi" not in sys.modules or router is None or not hasattr(router, "include_router"):
        return
    from fastapi import APIRouter

    for route in list(router.routes):
        owner = _owner_of(getattr(route, "endpoint", None), type(instance))
        if owner is None:
            _bind_included(route, instance)
            continue
        place = router.routes.index(route)
        router.routes.remove(route)
        if owner is False:
            continue
        known = len(router.routes)
        route.endpoint = types.MethodType(route.endpoint, instance)
        bound = APIRouter()
        bound.routes.append(route)
        router.include_router(bound)
        # In the order in which the author wrote the routes: the first one that fits a path answers it.
        router.routes[place:place] = [router.routes.pop() for _ in range(len(router.routes) - known)][::-1]


def _bind_included(node, instance):
    """Since FastAPI 0.137 an included router keeps its routes, and looks at their functions when it is asked first."""
    included = getattr(node, "original_router", None)
    for route in list(getattr(included, "routes", ())):
        owner = _owner_of(getattr(route, "endpoint", None), type(instance))
        if owner is None:
            _bind_included(route, instance)
        elif owner is False:
            included.routes.remove(route)
        else:
            route.endpoint = types.MethodType(route.endpoint, instance)


def _owner_of(function, cls):
    """The class that a route's function is a method of: one that ``cls`` is or inherits from, ``False`` for another ingress, None for a plain function."""
    if not inspect.isfunction(function):
        return None
    outer = function.__qualname__.rpartition(".")[0]
    for known in cls.__mro__:
        if known.__qualname__ == outer and known.__module__ == function.__module__:
            return known
    other = sys.modules.get(function.__module__)
    for part in outer.split(".") if outer else ():
        other = getattr(other, part, None)
    return False if outer and inspect.isclass(other) and hasattr(other, _MARK) else None
