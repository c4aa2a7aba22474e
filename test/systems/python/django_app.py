"""A Django project in one file: sync and async views, forms with tokens against forgery, uploads, sessions, streams, files, errors, and a WebSocket of Channels."""

import asyncio
import os
import sys
import types

import django
from django.conf import settings

urls = types.ModuleType("shop_urls")
sys.modules["shop_urls"] = urls
settings.configure(
    ALLOWED_HOSTS=["*"],
    DEBUG=False,
    DATABASES={},
    INSTALLED_APPS=["django.contrib.sessions"],
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.middleware.gzip.GZipMiddleware",
    ],
    ROOT_URLCONF="shop_urls",
    SECRET_KEY="for-tests-alone",
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
)
django.setup()

from channels.generic.websocket import AsyncJsonWebsocketConsumer  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.exceptions import PermissionDenied  # noqa: E402
from django.http import FileResponse, Http404, HttpResponse, HttpResponseRedirect, JsonResponse, StreamingHttpResponse  # noqa: E402
from django.middleware.csrf import get_token  # noqa: E402
from django.urls import path, re_path, reverse  # noqa: E402
from django.views import View  # noqa: E402


def note(line):
    with open(os.environ["DJANGO_LOG"], "a") as file:
        file.write(line + "\n")


def index(request):
    request.session["visits"] = request.session.get("visits", 0) + 1
    facts = {"url": request.build_absolute_uri(), "item": reverse("item", args=[7]), "visits": request.session["visits"], "host": request.get_host()}
    return JsonResponse({**facts, "secure": request.is_secure(), "agent": request.headers["user-agent"], "from": bool(request.META["REMOTE_ADDR"])})


async def item(request, number):
    await asyncio.sleep(0)
    if number > 100:
        raise Http404("no such item")
    return JsonResponse({"number": number, "query": request.GET.getlist("q"), "method": request.method})


class Order(View):
    def get(self, request):
        return HttpResponse(get_token(request), content_type="text/plain")

    def post(self, request):
        files = {name: [one.name, one.size, one.read(3).decode()] for name, one in request.FILES.items()}
        return JsonResponse({"fields": {name: request.POST.getlist(name) for name in sorted(request.POST) if name != "csrfmiddlewaretoken"}, "files": files})


def moved(request):
    return HttpResponseRedirect(reverse("item", args=[8]))


def broken(request):
    raise ValueError("a secret of the shop")


def forbidden(request):
    raise PermissionDenied


async def events(request):
    async def lines():
        try:
            for number in range(1_000_000):
                yield "data: %d\n\n" % number
                await asyncio.sleep(0.01 if number > 3 else 0)
        finally:
            note("events left")

    return StreamingHttpResponse(lines(), content_type="text/event-stream")


def download(request):
    return FileResponse(open(__file__, "rb"), as_attachment=True, filename="shop.py")


def text(request):
    return HttpResponse("long text " * 1000)


class Chat(AsyncJsonWebsocketConsumer):
    async def connect(self):
        self.who = self.scope["url_route"]["kwargs"]["who"]
        if self.who == "nobody":
            await self.close(4403)
        else:
            await self.accept(subprotocol="chat" if "chat" in self.scope["subprotocols"] else None)

    async def receive_json(self, content):
        await self.send_json({"to": self.who, "said": content})
        if content == "bye":
            await self.close(4001)

    async def disconnect(self, code):
        note("chat left %s" % code)


urls.urlpatterns = [
    path("", index),
    path("items/<int:number>", item, name="item"),
    path("order", Order.as_view()),
    path("moved", moved),
    path("broken", broken),
    path("forbidden", forbidden),
    path("events", events),
    path("download", download),
    path("text", text),
]

application = get_asgi_application()
channels = ProtocolTypeRouter({"http": application, "websocket": URLRouter([re_path(r"chat/(?P<who>\w+)$", Chat.as_asgi())])})
