/**
 * gRPC in front of an exchange: `@grpc/grpc-js` has the protocol, each call of it is one exchange of messages with a replica.
 *
 * Owns the socket that listens, as the package neither shares a port between processes nor renews certificates: it is handed connections,
 * those of TLS after their handshake. Decides by metadata which application a call is for (`application`; the only one where there is one),
 * which model (`multiplexed_model_id`) and session (`session_id`), and its id (`request_id`, else a new one). Decides the status of calls
 * that no replica has answered, too. A message is read from the client when the replica has room for it, and from the replica when the
 * client has.
 */
import type * as grpc from "@grpc/grpc-js";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createSecureServer } from "node:tls";
import { CLIENTS_MAX, GATHERED_BODY_BYTES, GRPC_CALLS_MAX, GRPC_OWN_STREAMS_MAX, HEADERS_WITHIN_MS } from "../limits.ts";
import { listenAt } from "../listening.ts";
import type { Exchange, IncomingRequest, ReplyPort, StreamedBody } from "../proxy/exchange.ts";
import { type ClientLimits, timeoutOf } from "../proxy/options/http-options.ts";
import { newRequestId, REQUEST_ID } from "../proxy/fronts/request-headers.ts";
import type { SlowClients } from "../proxy/fronts/slow-clients.ts";
import { readTlsContext, type ResolvedTlsOptions, watchTlsFiles } from "../proxy/options/tls-options.ts";
import { sessionHeaders } from "../routing/sessions.ts";
import type { BodyReceiver } from "../wire/body-receiver.ts";
import { FRAME, type Message, type ResponseHead } from "../wire/frames.ts";
import { ANSWERED, decodeMessage, encodeMessage, GRPC_STATUS, type GrpcKind, readEnd, readHeaders, targetUrl } from "./grpc-calls.ts";
import type { ResolvedGrpcOptions } from "./grpc-options.ts";
import { measured, transferInterceptor } from "./grpc-transfers.ts";
import { HEALTH_SERVICE, RAY_SERVICE, REFLECTION_SERVICES } from "./grpc-services.ts";
import { OwnStreams } from "./own-streams.ts";
import { Reflection, type ReflectionRequest } from "./reflection.ts";
import { definitionOf, grpcPackage } from "./service-definition.ts";

/** Functions of the proxy that the front calls. */
interface GrpcPorts {
  /** Names of the applications. */
  applications(): readonly string[];
  /** Begins an exchange with the ingress of an application. */
  begin(app: string, request: IncomingRequest, reply: ReplyPort): Exchange;
  isDraining(): boolean;
  readonly clients: SlowClients;
  readonly limits: ClientLimits;
  /** @param entry `isBegun`: `begin` was called for it */
  served(entry: { app: string; method: string; code: number; durationMs: number; requestId: string; isBegun: boolean }): void;
}

type Call = grpc.ServerUnaryCall<unknown, unknown> | grpc.ServerDuplexStream<unknown, unknown>;
type HealthWatch = grpc.ServerWritableStream<{ service: string }, { status: string }>;
/** A status whose code is one of `GRPC_STATUS` or of the user's: the package's enum has the same numbers. */
type Failure = { readonly code: number; readonly details: string; readonly metadata?: grpc.Metadata };
type Reply = (error: Failure | null, value?: unknown, trailer?: grpc.Metadata) => void;

const DRAINING = ["drain", "cancelled", "close"] as const;
const ENDING = "the proxy ends";

export class GrpcFront {
  readonly #grpc: typeof grpc;
  readonly #server: grpc.Server;
  readonly #options: ResolvedGrpcOptions;
  readonly #ports: GrpcPorts;
  readonly #watches = new Set<HealthWatch>();
  readonly #reflections = new Set<grpc.ServerDuplexStream<ReflectionRequest, object>>();
  /** The sockets of open connections. */
  readonly #sockets = new Set<Socket>();
  /** The same by the names that the package has for their clients. */
  readonly #socketOf = new Map<string, Socket>();
  readonly #ownStreams = new OwnStreams();
  readonly #calls = new Set<GrpcCall>();
  #isEnding = false;
  #listener: Server | undefined;

  private constructor(package_: typeof grpc, options: ResolvedGrpcOptions, ports: GrpcPorts) {
    this.#grpc = package_;
    this.#options = options;
    this.#ports = ports;
    this.#server = new package_.Server({
      "grpc.max_receive_message_length": options.maxMessageBytes,
      "grpc.max_concurrent_streams": GRPC_CALLS_MAX,
      interceptors: [
        transferInterceptor(package_, {
          clients: ports.clients,
          limits: ports.limits,
          appOf: (metadata) => this.#appOf(metadata),
          disconnect: (peer) => this.#socketOf.get(peer)?.destroy(),
        }),
      ],
    });
  }

  /** @throws DeployFailedError where a package is missing */
  static async create(options: ResolvedGrpcOptions, ports: GrpcPorts): Promise<GrpcFront> {
    const front = new GrpcFront(await grpcPackage("@grpc/grpc-js", () => import("@grpc/grpc-js")), options, ports);
    await front.#addOwn();
    for (const service of options.services) front.#add(await definitionOf(service));
    return front;
  }

  /**
   * @param isShared other processes listen at the same port
   * @returns the port @throws where it is taken, or the certificate cannot be used
   */
  async listen(port: number, { isShared }: { isShared: boolean }): Promise<number> {
    const { host, tls } = this.#options;
    const { injectConnection } = this.#server.createConnectionInjector(this.#grpc.ServerCredentials.createInsecure());
    const take = (socket: Socket): void => {
      const peer = `${socket.remoteAddress}:${socket.remotePort}`;
      this.#sockets.add(socket);
      this.#socketOf.set(peer, socket);
      socket.once("close", () => {
        this.#sockets.delete(socket);
        if (this.#socketOf.get(peer) === socket) this.#socketOf.delete(peer);
      });
      injectConnection(socket);
    };
    const listener = tls === undefined ? createServer(take) : await secureServer(tls, take);
    listener.maxConnections = CLIENTS_MAX;
    await listenAt(listener, { host, port, reusePort: isShared, backlog: 1024 });
    this.#listener = listener;
    return (listener.address() as AddressInfo).port;
  }

  /** Takes no new calls once the grace is over, and resolves when all have ended. Whoever watches its health hears at once that it ends. */
  async drain(graceOver: Promise<void>): Promise<void> {
    for (const call of this.#watches) if (this.#offers(call.request.service)) call.write({ status: "NOT_SERVING" });
    await graceOver;
    this.#isEnding = true;
    this.#listener?.close();
    for (const call of [...this.#watches, ...this.#reflections]) call.emit("error", { code: GRPC_STATUS.UNAVAILABLE, details: ENDING });
    await new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    // From Node 24 on the server closes its sessions itself, and then `tryShutdown` does not wait for the streams in them.
    await Promise.all([...this.#sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve))));
  }

  /** Ends the calls that are open: their clients may make them again, elsewhere. */
  endCalls(): void {
    for (const call of this.#calls) call.close();
  }

  async #addOwn(): Promise<void> {
    const draining = (): Failure => ({ code: GRPC_STATUS.UNAVAILABLE, details: ENDING });
    this.#server.addService(measured(await definitionOf(HEALTH_SERVICE)), {
      Check: (call: { request: { service: string } }, reply: Reply) => {
        const { service } = call.request;
        if (this.#offers(service)) reply(null, { status: this.#health });
        else reply({ code: GRPC_STATUS.NOT_FOUND, details: "there is no such service" });
      },
      Watch: (call: HealthWatch) => this.#watch(call),
    });
    this.#server.addService(measured(await definitionOf(RAY_SERVICE)), {
      ListApplications: (_call: unknown, reply: Reply) => reply(null, { applicationNames: this.#ports.applications() }),
      Healthz: (_call: unknown, reply: Reply) => (this.#ports.isDraining() ? reply(draining()) : reply(null, { message: "success" })),
    });
    if (!this.#options.reflection) return;
    const reflection = new Reflection([...this.#options.services, HEALTH_SERVICE, RAY_SERVICE, ...REFLECTION_SERVICES]);
    for (const service of REFLECTION_SERVICES)
      this.#server.addService(measured(await definitionOf(service)), {
        ServerReflectionInfo: (call: grpc.ServerDuplexStream<ReflectionRequest, object>) => void this.#reflect(reflection, call),
      });
  }

  get #health(): string {
    return this.#ports.isDraining() ? "NOT_SERVING" : "SERVING";
  }

  #offers(service: string): boolean {
    return service === "" || this.#options.services.some((offered) => offered.service === service);
  }

  /** The status now, and again when it changes. A service that is not offered is watched, too, as the protocol has it. */
  #watch(call: HealthWatch): void {
    if (!this.#mayBegin(call)) return;
    this.#watches.add(call);
    const peer = call.getPeer();
    const leave = (): void => {
      if (this.#watches.delete(call)) this.#ownStreams.ended(peer);
    };
    call.on("cancelled", leave).on("error", leave);
    call.write({ status: this.#offers(call.request.service) ? this.#health : "SERVICE_UNKNOWN" });
  }

  async #reflect(reflection: Reflection, call: grpc.ServerDuplexStream<ReflectionRequest, object>): Promise<void> {
    if (!this.#mayBegin(call)) return;
    const peer = call.getPeer();
    this.#reflections.add(call);
    await reflect(reflection, call);
    this.#reflections.delete(call);
    this.#ownStreams.ended(peer);
  }

  /** Refuses a stream of a connection that has too many. */
  #mayBegin(call: HealthWatch | grpc.ServerDuplexStream<ReflectionRequest, object>): boolean {
    if (this.#ownStreams.begin(call.getPeer())) return true;
    const details = `the connection has ${GRPC_OWN_STREAMS_MAX} watches and streams of reflection already`;
    call.emit("error", { code: GRPC_STATUS.RESOURCE_EXHAUSTED, details });
    return false;
  }

  /** The application that a call names, or the only one; empty where there are several. */
  #appOf(metadata: grpc.Metadata): string {
    const named = String(metadata.get("application")[0] ?? "");
    const known = this.#ports.applications();
    return named || (known.length === 1 ? (known[0] as string) : "");
  }

  #add(service: grpc.ServiceDefinition): void {
    const handlers = Object.entries(service).map(([name, { requestStream, responseStream, path, originalName }]) => {
      const kind: GrpcKind = requestStream ? (responseStream ? "bidi" : "clientStream") : responseStream ? "serverStream" : "unary";
      const names = originalName === undefined || originalName === name ? [name] : [name, originalName];
      const handle = (call: Call, reply?: Reply): void => {
        const begun: GrpcCall = new GrpcCall(call, reply, {
          package_: this.#grpc,
          options: this.#options,
          ports: this.#ports,
          url: targetUrl({ kind, names }),
          path,
          app: this.#appOf(call.metadata),
          isLate: this.#isEnding,
          over: () => this.#calls.delete(begun),
        });
        this.#calls.add(begun);
        begun.start();
      };
      return [name, handle] as const;
    });
    this.#server.addService(measured(service), Object.fromEntries(handlers));
  }
}

interface CallSetting {
  readonly package_: typeof grpc;
  readonly options: ResolvedGrpcOptions;
  readonly ports: GrpcPorts;
  readonly url: string;
  readonly path: string;
  /** Empty where the call names none of several. */
  readonly app: string;
  /** The proxy takes none any more. */
  readonly isLate: boolean;
  readonly over: () => void;
}

interface CallEnd {
  readonly whole?: unknown;
  /** Initial metadata, where no message came. Names and values in turn, as those of `metadata`. */
  readonly headers?: readonly string[];
  readonly metadata?: readonly string[];
}

/** A client's call, from its metadata to its status. */
class GrpcCall implements ReplyPort {
  readonly #call: Call;
  readonly #reply: Reply | undefined;
  readonly #setting: CallSetting;
  readonly #startMs = performance.now();
  #requestId = "";
  #app = "";
  #exchange: Exchange | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasHead = false;
  #isOver = false;

  constructor(call: Call, reply: Reply | undefined, setting: CallSetting) {
    this.#call = call;
    this.#reply = reply;
    this.#setting = setting;
  }

  start(): void {
    const { metadata } = this.#call;
    const { ports, options, url } = this.#setting;
    const named = (name: string): string => String(metadata.get(name)[0] ?? "");
    const given = named("request_id") || named("x-request-id");
    this.#requestId = REQUEST_ID.test(given) ? given : newRequestId();
    const known = ports.applications();
    this.#app = this.#setting.app;
    if (this.#setting.isLate) return this.#end(GRPC_STATUS.UNAVAILABLE, ENDING);
    if (!known.includes(this.#app)) {
      const problem = this.#app === "" ? "metadata application is needed" : `there is no application ${this.#app.slice(0, 100)}`;
      return this.#end(GRPC_STATUS.NOT_FOUND, `${problem}: there are ${known.join(", ") || "none"}`);
    }
    const sessionId = named("session_id");
    const timeoutMs = this.#timeoutMs();
    const limitMs = this.#isUnary || options.requestTimeoutMs !== undefined ? timeoutOf(options.requestTimeoutMs) : undefined;
    if (limitMs !== undefined) this.#timer = setTimeout(() => this.#late(), limitMs).unref();
    this.#call.on("cancelled", () => this.#gone());
    this.#call.on("error", () => this.#gone());
    const head = {
      method: "GRPC",
      url,
      requestId: this.#requestId,
      timeoutMs,
      modelId: named("multiplexed_model_id"),
      client: this.#call.getPeer(),
      headers: [...flatMetadata(metadata), ...sessionHeaders(sessionId)],
    };
    this.#exchange = ports.begin(this.#app, { kind: FRAME.GRPC, head, body: this.#body(), sessionId }, this);
    this.#exchange.start();
  }

  /** Whether a call has one message and one answer. Such calls have a time limit; streams may take any time. */
  get #isUnary(): boolean {
    return this.#reply !== undefined && "request" in this.#call;
  }

  /** The whole answer. With another status the replica has not taken the call. */
  respond(head: ResponseHead, body: Uint8Array | BodyReceiver): void {
    if (head.status !== ANSWERED || !(body instanceof Uint8Array))
      return this.#end(GRPC_STATUS.UNIMPLEMENTED, `the deployment answers no gRPC (${head.status})`);
    const { code, details, headers, metadata } = readEnd(head.headers);
    // A copy, as the bytes are lent for this call alone.
    const whole = code === GRPC_STATUS.OK ? decodeMessage({ bytes: Buffer.from(body) }) : undefined;
    this.#end(code, details, { whole, headers, metadata });
  }

  refuse(status: number, { detail = "", isBackPressure = false }: { detail?: string; isBackPressure?: boolean }): void {
    const code = isBackPressure
      ? GRPC_STATUS.RESOURCE_EXHAUSTED
      : status === 503 || status === 500
        ? GRPC_STATUS.UNAVAILABLE
        : GRPC_STATUS.INTERNAL;
    this.#end(code, detail);
  }

  abort(): void {
    this.#end(GRPC_STATUS.UNAVAILABLE, "the replica died while it had the request");
  }

  upgrade(_head: ResponseHead, messages: BodyReceiver<Message>): void {
    void this.#answer(messages);
  }

  /** The message of a client that sends one: with the head where it is small and one answer comes back. */
  #body(): Uint8Array | StreamedBody {
    const call = this.#call;
    if (!("request" in call) || call.request === undefined) return encoded(call);
    const message = encodeMessage(call.request);
    return this.#reply !== undefined && message.bytes.byteLength <= GATHERED_BODY_BYTES ? message.bytes : once(message);
  }

  /** Sends the initial metadata, once: with the first message, or with the end. */
  #sendHead(headers: readonly string[] = []): void {
    if (this.#hasHead) return;
    this.#hasHead = true;
    const head = new this.#setting.package_.Metadata();
    for (let index = 0; index < headers.length; index += 2) setIn(head, headers[index] as string, headers[index + 1] as string);
    head.set("request_id", this.#requestId);
    this.#call.sendMetadata(head);
  }

  async #answer(messages: BodyReceiver<Message>): Promise<void> {
    let whole: unknown;
    try {
      for (let message = await messages.next(); message !== undefined; message = await messages.next()) {
        const headers = readHeaders(message);
        if (headers !== undefined) {
          if (!this.#isOver) this.#sendHead(headers);
          continue;
        }
        const value = decodeMessage(message);
        if (this.#isOver) return;
        this.#sendHead();
        if (this.#reply !== undefined) whole = value;
        else if (!(this.#call as grpc.ServerDuplexStream<unknown, unknown>).write(value)) await drained(this.#call);
      }
    } catch {
      // The replica died, or nobody wants the answer any more.
      return this.#end(GRPC_STATUS.UNAVAILABLE, "the replica died while it had the request");
    }
    const { code, details, headers, metadata } = readEnd(messages.trailers);
    this.#end(code, details, { whole, headers, metadata });
  }

  /** The proxy ends, and cannot wait. */
  close(): void {
    this.#exchange?.cancel(ENDING);
    this.#end(GRPC_STATUS.UNAVAILABLE, ENDING);
  }

  /** The rest of the client's deadline and of a limit that was set, whichever is shorter; 0 is without limit. */
  #timeoutMs(): number {
    const deadline = this.#call.getDeadline();
    const atMs = deadline instanceof Date ? deadline.getTime() : deadline;
    const leftMs = Math.min(this.#setting.options.requestTimeoutMs ?? Number.POSITIVE_INFINITY, atMs - Date.now());
    return Number.isFinite(leftMs) ? Math.max(1, leftMs) : 0;
  }

  #late(): void {
    this.#exchange?.cancel("the time for the request is over");
    this.#end(GRPC_STATUS.DEADLINE_EXCEEDED, "the time for the request is over");
  }

  #gone(): void {
    this.#exchange?.cancel("the client is gone");
    this.#over(GRPC_STATUS.CANCELLED);
  }

  #end(code: number, details: string, { whole, headers, metadata = [] }: CallEnd = {}): void {
    if (!this.#over(code)) return;
    const trailer = new this.#setting.package_.Metadata();
    trailer.set("request_id", this.#requestId);
    for (let index = 0; index < metadata.length; index += 2) setIn(trailer, metadata[index] as string, metadata[index + 1] as string);
    this.#sendHead(headers);
    if (this.#reply !== undefined) {
      if (code === GRPC_STATUS.OK) this.#reply(null, whole ?? {}, trailer);
      else this.#reply({ code, details, metadata: trailer });
      return;
    }
    const call = this.#call as grpc.ServerDuplexStream<unknown, unknown>;
    if (code === GRPC_STATUS.OK) call.end(trailer);
    else call.emit("error", { code, details, metadata: trailer });
  }

  /** @returns whether it was not over before */
  #over(code: number): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    clearTimeout(this.#timer);
    const { ports, path, over } = this.#setting;
    over();
    ports.served({
      app: this.#app,
      method: path,
      code,
      durationMs: performance.now() - this.#startMs,
      requestId: this.#requestId,
      isBegun: this.#exchange !== undefined,
    });
    return true;
  }
}

/** Connections after their handshake. Clients that did not ask for HTTP/2 speak no gRPC. */
async function secureServer(tls: ResolvedTlsOptions, take: (socket: Socket) => void): Promise<Server> {
  const server = createSecureServer(
    {
      ...(await readTlsContext(tls, "grpcOptions")),
      ALPNProtocols: ["h2"],
      handshakeTimeout: HEADERS_WITHIN_MS,
      requestCert: tls.ca !== undefined,
    },
    (socket) => (socket.alpnProtocol === "h2" ? take(socket) : socket.destroy()),
  );
  server.on(
    "close",
    watchTlsFiles(tls, "grpcOptions", (renewed) => server.setSecureContext(renewed)),
  );
  return server;
}

/** A client that does not read its answers is not read from. */
async function reflect(reflection: Reflection, call: grpc.ServerDuplexStream<ReflectionRequest, object>): Promise<void> {
  call.on("error", () => {});
  try {
    for await (const request of call.iterator({ destroyOnReturn: false }) as AsyncIterable<ReflectionRequest>)
      if (!call.write(reflection.answer(request))) await drained(call);
    call.end();
  } catch {
    // The client is gone.
  }
}

/** Resolves when there is room again, or nobody to wait for: a client that takes nothing loses its connection. */
async function drained(call: Call): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      for (const event of DRAINING) call.off(event, done);
      resolve();
    };
    for (const event of DRAINING) call.on(event, done);
  });
}

async function* once(message: Message): AsyncGenerator<Message, void, undefined> {
  yield message;
}

/** Reading a call to its end does not destroy it, as its answer may go on. */
async function* encoded(call: Call): AsyncGenerator<Message, void, undefined> {
  const messages = (call as grpc.ServerDuplexStream<unknown, unknown>).iterator({ destroyOnReturn: false });
  for await (const message of messages as AsyncIterable<unknown>) yield encodeMessage(message);
}

function flatMetadata(metadata: grpc.Metadata): string[] {
  const flat: string[] = [];
  for (const name of Object.keys(metadata.getMap()))
    for (const value of metadata.get(name)) flat.push(name, typeof value === "string" ? value : value.toString("base64"));
  return flat;
}

function setIn(metadata: grpc.Metadata, name: string, value: string): void {
  try {
    metadata.add(name, name.endsWith("-bin") ? Buffer.from(value, "base64") : value);
  } catch {
    // A name or a value that gRPC cannot carry does not cost the client its answer.
  }
}
