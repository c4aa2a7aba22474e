/**
 * The listener of a runner: takes connections over TCP or WebSocket, and bounds them.
 *
 * Each connection becomes a session, which ends by itself or with the listener.
 * Pages of other origins may not connect without a token: a browser would let any page that a user visits talk to this machine.
 */
import type { IncomingMessage } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { WebSocketServer } from "ws";
import { messageOf } from "../../core/internal.ts";
import { RLError } from "../errors.ts";
import { HELLO_BYTES_MAX, STRANGERS_MAX } from "../link/limits.ts";
import type { LinkConfig } from "../link/messages.ts";
import { type ExternalAddress, type ExternalSpec, isLoopback } from "./external-source.ts";
import { type LinkHandler, LinkSession, Refusal } from "./link-session.ts";
import { tcpWire, type Wire, webSocketWire } from "./wires.ts";

export class LinkServer {
  readonly #spec: ExternalSpec;
  readonly #port: number;
  readonly #config: LinkConfig;
  readonly #handler: LinkHandler;
  readonly #sessions = new Map<LinkSession, Promise<void>>();
  #server: Server | WebSocketServer | undefined;

  /** @param port - 0 for any free one */
  constructor(spec: ExternalSpec, { port, config, handler }: { port: number; config: LinkConfig; handler: LinkHandler }) {
    this.#spec = spec;
    this.#port = port;
    this.#config = config;
    this.#handler = handler;
  }

  /** @throws RLError where nothing can listen there */
  async listen(): Promise<ExternalAddress> {
    const { host, transport } = this.#spec;
    try {
      const { port } = transport === "tcp" ? await this.#listenTcp() : await this.#listenWebSocket();
      const name = host.includes(":") ? `[${host}]` : host;
      return { host, port, url: `${transport === "tcp" ? "tcp" : "ws"}://${name}:${port}` };
    } catch (cause) {
      throw new RLError(
        `Cannot listen for external environments on ${host}, port ${this.#port}: ${messageOf(cause)}. Give externalEnv() another port, or 0 for any free one`,
        { cause },
      );
    }
  }

  async #listenTcp(): Promise<AddressInfo> {
    // Half open, so that a client that ends in the middle of a frame still gets the cause.
    const server = createServer({ allowHalfOpen: true }, (socket: Socket) => this.#take(tcpWire(socket, HELLO_BYTES_MAX)));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host: this.#spec.host, port: this.#port }, resolve);
    });
    return server.address() as AddressInfo;
  }

  async #listenWebSocket(): Promise<AddressInfo> {
    const { host, maxFrameBytes } = this.#spec;
    const { WebSocketServer: Sockets } = await import("ws");
    const verifyClient = ({ req }: { req: IncomingMessage }, done: (isAllowed: boolean, code?: number, reason?: string) => void): void => {
      if (this.#allows(req.headers.origin)) done(true);
      else done(false, 403, "This origin is not in allowedOrigins of externalEnv, and there is no token");
    };
    const server = new Sockets({
      host,
      port: this.#port,
      maxPayload: maxFrameBytes,
      perMessageDeflate: false,
      clientTracking: false,
      verifyClient,
    });
    this.#server = server;
    server.on("connection", (socket) => this.#take(webSocketWire(socket, HELLO_BYTES_MAX)));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.once("listening", resolve);
    });
    return server.address() as AddressInfo;
  }

  /** Programs send no origin. With a token it is the token that counts. */
  #allows(origin: string | undefined): boolean {
    const { allowedOrigins, token } = this.#spec;
    if (origin === undefined || token !== undefined || allowedOrigins.includes(origin)) return true;
    const hostname = URL.canParse(origin) ? new URL(origin).hostname.replace(/^\[(.*)\]$/, "$1") : "";
    return isLoopback(hostname);
  }

  #take(wire: Wire): void {
    const { maxClients, token, idleTimeoutMs, maxFrameBytes } = this.#spec;
    const session = new LinkSession(wire, { config: this.#config, token, idleTimeoutMs, maxFrameBytes }, this.#handler);
    const strangers = Array.from(this.#sessions.keys()).filter(({ isKnown }) => !isKnown).length;
    if (this.#sessions.size >= maxClients || strangers >= STRANGERS_MAX) {
      void session.refuse(
        new Refusal(
          "FULL",
          `there are ${this.#sessions.size} clients already, of ${maxClients} at most. Try again later, or raise maxClients`,
        ),
      );
      return;
    }
    const running = session.run().finally(() => this.#sessions.delete(session));
    this.#sessions.set(session, running);
  }

  /** Sends all clients away, and frees the port. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const freed = new Promise<void>((resolve) => void server.close(() => resolve()));
    const running = Array.from(this.#sessions.values());
    await Promise.all(Array.from(this.#sessions.keys(), (session) => session.refuse(new Refusal("CLOSING", "the algorithm has ended"))));
    await Promise.all(running);
    await freed;
  }
}
