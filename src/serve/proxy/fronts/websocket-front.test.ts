import { EventEmitter, once } from "node:events";
import type { Server } from "node:http";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { BodyReceiver } from "../../wire/body-receiver.ts";
import type { Message } from "../../wire/frames.ts";
import type { Exchange, IncomingRequest, ReplyPort } from "../exchange.ts";
import { AllowedHosts } from "../options/allowed-hosts.ts";
import { clientLimits, resolveHttpOptions } from "../options/http-options.ts";
import { SlowClients } from "./slow-clients.ts";
import { WebSocketFront } from "./websocket-front.ts";

/** In place of the connection of a client, which says nothing beyond the handshake. */
class Connection extends Duplex {
  readonly written: Buffer[] = [];
  override _read(): void {}
  override _write(piece: Buffer, _encoding: string, done: () => void): void {
    this.written.push(piece);
    this.emit("written");
    done();
  }
}

const HEADERS = {
  host: "h",
  connection: "upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

/** A client's request for a WebSocket, which a replica answers. */
function upgraded(begin: (request: IncomingRequest, reply: ReplyPort) => Exchange): { front: WebSocketFront; connection: Connection } {
  const server = new EventEmitter();
  const front = new WebSocketFront(server as Server, resolveHttpOptions({}), {
    route: () => ({ prefix: "/", isStripped: false, rest: "/", app: "app", begin }),
    routes: () => ({}),
    hosts: new AllowedHosts("0.0.0.0", undefined),
    isDraining: () => false,
    clients: new SlowClients(() => false),
    limits: clientLimits(resolveHttpOptions({})),
    served: () => {},
  });
  const connection = new Connection();
  const request = { method: "GET", url: "/", headers: HEADERS, rawHeaders: Object.entries(HEADERS).flat(), socket: connection };
  server.emit("upgrade", request, connection, Buffer.alloc(0));
  return { front, connection };
}

test.each(["before its replica has answered", "as its replica answers"])(
  "a socket whose replica retires %s is closed with 1012",
  async (when) => {
    const cancelled: string[] = [];
    const answer = (reply: ReplyPort): void => {
      if (when.startsWith("before")) reply.retired?.();
      reply.upgrade?.({ status: 101, statusText: "", ongoing: 1, headers: [] }, new BodyReceiver<Message>(() => {}));
      if (when.startsWith("as")) reply.retired?.();
    };
    const begin = (_request: IncomingRequest, reply: ReplyPort): Exchange =>
      ({ start: () => answer(reply), cancel: (reason: string) => cancelled.push(reason) }) as unknown as Exchange;
    const { front, connection } = upgraded(begin);
    while (connection.written.length < 2) await once(connection, "written");
    const [handshake, ...frames] = connection.written;
    expect(handshake?.toString()).toMatch(/^HTTP\/1\.1 101 /);
    // The head of the frame, the code and the reason.
    expect(Buffer.concat(frames)).toEqual(
      Buffer.concat([Buffer.from([0x88, 22, 1012 >> 8, 1012 & 255]), Buffer.from("the service restarts")]),
    );
    expect(cancelled).toEqual(["the service restarts"]);
    connection.destroy();
    front.close();
  },
);

test("headers of the handshake keep their bytes", async () => {
  const head = { status: 101, statusText: "", ongoing: 1, headers: ["x-name", "Zo\u00eb"] };
  const { front, connection } = upgraded((_request, reply) => {
    const start = (): void => reply.upgrade?.(head, new BodyReceiver<Message>(() => {}));
    return { start, cancel: () => {} } as unknown as Exchange;
  });
  while (connection.written.length === 0) await once(connection, "written");
  expect(connection.written[0]?.toString("latin1")).toContain("x-name: Zo\u00eb\r\n");
  connection.destroy();
  front.close();
});
