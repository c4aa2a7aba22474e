"""Calls a service by the real grpcio and prints what came of it as JSON.

    grpc_client.py TARGET PROTO_FOLDER [CA KEY CERT]

With certificates it speaks TLS and shows its own. Messages are those that grpcio-tools makes of the .proto file, and once more those that reflection describes.
"""

import json
import sys
import threading
import time

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

target, folder, *certificates = sys.argv[1:]
sys.path.insert(0, folder)
protos, services = grpc.protos_and_services("shop.proto")


def channel_with(own):
    if not certificates:
        return grpc.insecure_channel(target)
    ca, key, cert = [open(path, "rb").read() for path in certificates]
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(ca, *((key, cert) if own else (None, None))))


channel = channel_with(True)
shop = services.ShopStub(channel)
APP = ("application", "shop")
results = {}


def failure_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code().name
    return "none"


item = protos.Item(name="cup", price_cents=2**53 + 1, picture=b"\x01\x02", size=protos.LARGE, stock={"here": 2})
answer, call = shop.Describe.with_call(item, metadata=[APP, ("multiplexed_model_id", "small"), ("request_id", "seven"), ("x-word", "hello")])
trailers = dict(call.trailing_metadata())
results["unary"] = {
    "name": answer.name,
    "price": answer.price_cents,
    "picture": list(answer.picture),
    "size": protos.Size.Name(answer.size),
    "stock": dict(answer.stock),
    "headers": dict(call.initial_metadata()).get("request_id"),
    "trailers": [trailers.get("request_id"), trailers.get("x-seen")],
}

results["server stream"] = [len([item.name for item in shop.Items(protos.Count(to=300), metadata=[APP])]), failure_of(lambda: list(shop.Items(protos.Count(to=-1), metadata=[APP])))]
total = shop.Add((protos.Item(price_cents=n) for n in range(1, 101)), metadata=[APP])
results["client stream"] = [total.price_cents, total.items]


def ping_pong():
    """Sends the next message when the answer to the last one has come, so the streams are open both ways at once."""
    answered = threading.Semaphore(1)

    def requests():
        for n in range(3):
            answered.acquire()
            yield protos.Item(name=str(n))

    for item in shop.Chat(requests(), metadata=[APP]):
        answered.release()
        yield item.name


results["both streams"] = list(ping_pong())

started = time.monotonic()
results["deadline"] = [failure_of(lambda: list(shop.Hang(protos.Item(name="deadline"), metadata=[APP], timeout=0.5))), time.monotonic() - started < 5]
hanging = shop.Hang(protos.Item(name="cancel"), metadata=[APP])
first = next(hanging).name
hanging.cancel()
results["cancel"] = [first, failure_of(lambda: list(hanging))]

results["statuses"] = [
    failure_of(lambda: shop.Fail(protos.Item(name="status"), metadata=[APP])),
    failure_of(lambda: shop.Fail(protos.Item(name="other"), metadata=[APP])),
    failure_of(lambda: shop.Missing(protos.Item(), metadata=[APP])),
    failure_of(lambda: shop.Describe(protos.Item(), metadata=[("application", "none")])),
]
health = health_pb2_grpc.HealthStub(channel)
results["watched"] = health_pb2.HealthCheckResponse.ServingStatus.Name(next(health.Watch(health_pb2.HealthCheckRequest(service="shop.v1.Shop"))).status)
results["health"] = health_pb2.HealthCheckResponse.ServingStatus.Name(health.Check(health_pb2.HealthCheckRequest(service="shop.v1.Shop")).status)

database = ProtoReflectionDescriptorDatabase(channel)
pool = DescriptorPool(database)
reflected = GetMessageClass(pool.FindMessageTypeByName("shop.v1.Item"))
described = channel.unary_unary("/shop.v1.Shop/Describe", lambda message: message.SerializeToString(), reflected.FromString)
again = described(reflected(name="dish", price_cents=5, stock={"there": 1}), metadata=[APP])
service = pool.FindServiceByName("shop.v1.Shop")
own = protos.DESCRIPTOR.message_types_by_name["Item"]


def shape_of(message):
    return [(field.name, field.number, field.type, field.is_repeated, field.message_type and field.message_type.full_name) for field in message.fields]


results["reflection"] = {
    "services": sorted(database.get_services()),
    "methods": sorted("%s(%s) %s" % (method.name, method.input_type.full_name, method.output_type.full_name) for method in service.methods),
    "call": [again.name, dict(again.stock)],
    # protoc's own descriptors of the same file are the measure.
    "like protoc": shape_of(reflected.DESCRIPTOR) == shape_of(own),
    "file": reflected.DESCRIPTOR.file.name,
}

if certificates:
    results["without a certificate"] = failure_of(lambda: services.ShopStub(channel_with(False)).Describe(item, metadata=[APP], timeout=10))
print(json.dumps(results))
