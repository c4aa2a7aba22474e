import * as grpc from "@grpc/grpc-js";
import { once } from "node:events";
import { type ClientHttp2Session, connect, type Settings } from "node:http2";
import { afterEach, beforeEach, expect, test } from "vitest";
import { GRPC_CALLS_MAX, GRPC_OWN_STREAMS_MAX } from "../limits.ts";
import { GrpcFront } from "./grpc-front.ts";
import { resolveGrpcOptions, type ResolvedGrpcOptions } from "./grpc-options.ts";
import { HEALTH_SERVICE, REFLECTION_SERVICES } from "./grpc-services.ts";
import { SlowClients } from "../proxy/fronts/slow-clients.ts";
import type { LoadedService } from "./proto-files.ts";
import { definitionOf } from "./service-definition.ts";

const LIMITS = { pauseMs: 600, leastBytes: 1, totalMs: 60_000 };

/** A client whose methods are those of a service. */
type Dynamic = grpc.Client & { readonly [method: string]: (...args: unknown[]) => unknown };

let front: GrpcFront;
let port = 0;
const clients: Dynamic[] = [];

beforeEach(async () => {
  const options = (await resolveGrpcOptions({ port: 0 })) as ResolvedGrpcOptions;
  const begin = (): never => {
    throw new Error("no application is called");
  };
  front = await GrpcFront.create(options, {
    applications: () => [],
    begin,
    isDraining: () => false,
    clients: new SlowClients(() => false),
    limits: { body: LIMITS, answer: LIMITS },
    served: () => {},
  });
  port = await front.listen(0, { isShared: false });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await front.drain(Promise.resolve());
});

/** @param connection clients of the same number share one */
async function clientOf(service: LoadedService | undefined, connection: number): Promise<Dynamic> {
  const Client = grpc.makeGenericClientConstructor(await definitionOf(service as LoadedService), "Client");
  const client = new Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), { "test.connection": connection });
  clients.push(client as unknown as Dynamic);
  return client as unknown as Dynamic;
}

/** Resolves with the first answer, or with the status of a stream that is refused. */
function answerOf(call: grpc.ClientReadableStream<{ status: string }>): Promise<string> {
  return new Promise((resolve) => {
    call.once("data", (answer: { status?: string }) => resolve(answer.status ?? "an answer"));
    call.on("error", ({ code }: grpc.ServiceError) => resolve(grpc.status[code] ?? ""));
  });
}

test("a connection has so many watches and streams of reflection at a time; others have theirs", async () => {
  const [health, other] = [await clientOf(HEALTH_SERVICE, 1), await clientOf(HEALTH_SERVICE, 2)];
  const watch = (client: Dynamic): grpc.ClientReadableStream<{ status: string }> =>
    client["Watch"]?.({ service: "" }) as grpc.ClientReadableStream<{ status: string }>;
  const watches = Array.from({ length: GRPC_OWN_STREAMS_MAX }, () => watch(health));
  expect(new Set(await Promise.all(watches.map(answerOf)))).toEqual(new Set(["SERVING"]));
  expect(await answerOf(watch(health))).toBe("RESOURCE_EXHAUSTED");
  const reflection = await clientOf(REFLECTION_SERVICES[0], 1);
  const ask = (): grpc.ClientDuplexStream<object, { status: string }> => {
    const call = reflection["ServerReflectionInfo"]?.() as grpc.ClientDuplexStream<object, { status: string }>;
    call.write({ listServices: "" });
    return call;
  };
  expect(await answerOf(ask())).toBe("RESOURCE_EXHAUSTED");
  expect(await answerOf(watch(other))).toBe("SERVING");
  watches[0]?.cancel();
  // A stream of reflection that ends makes room again.
  for (let turn = 0; turn < 2; turn += 1) {
    let call = ask();
    while ((await answerOf(call)) === "RESOURCE_EXHAUSTED") call = ask();
    const ended = new Promise((resolve) => call.on("status", resolve));
    call.end();
    await ended;
  }
});

test("clients are told how many calls a connection has at a time", async () => {
  const session = connect(`http://127.0.0.1:${port}`);
  const [settings] = (await once(session, "remoteSettings")) as [Settings];
  session.destroy();
  expect(settings.maxConcurrentStreams).toBe(GRPC_CALLS_MAX);
});

const CHECK = { ":method": "POST", ":path": "/grpc.health.v1.Health/Check", "content-type": "application/grpc", te: "trailers" };
/** A message of no bytes behind its five bytes of length. */
const EMPTY = Buffer.alloc(5);

test.each<[what: string, begin: (session: ClientHttp2Session) => void]>([
  ["takes no answer of a unary call", (session) => session.request(CHECK).end(EMPTY)],
  ["sends half of a message", (session) => session.request(CHECK).write(EMPTY.subarray(0, 3))],
])("a client that %s loses its connection, and others do not", async (_what, begin) => {
  const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
  session.on("error", () => {});
  const closed = once(session, "close");
  begin(session);
  const other = await clientOf(HEALTH_SERVICE, 1);
  const watch = other["Watch"]?.({ service: "" }) as grpc.ClientReadableStream<{ status: string }>;
  let isOver = false;
  watch.on("error", () => {}).on("end", () => (isOver = true));
  await once(watch, "data");
  await closed;
  expect(isOver).toBe(false);
  const status = await new Promise((resolve) => other["Check"]?.({}, (_error: unknown, value: unknown) => resolve(value)));
  expect(status).toEqual({ status: "SERVING" });
  watch.cancel();
});
