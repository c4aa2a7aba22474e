/**
 * The server's side of WebSockets: sends texts as they come, and takes nothing.
 *
 * A text waits until the last one has left, so a slow client costs no memory. A client that answers no ping is cut off.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { messageOf } from "../../runtime/base/texts/describe.ts";
import { SOCKET_MESSAGE_BYTES_MAX, SOCKET_PINGED_EVERY_MS } from "./limits.ts";

const NORMAL = 1000;
const FAILED = 1011;

const server = new WebSocketServer({ noServer: true, maxPayload: SOCKET_MESSAGE_BYTES_MAX, perMessageDeflate: false });

export function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/** Resolves when the texts have ended, or the client has gone. Never rejects. */
export async function sendMessages(
  texts: AsyncIterable<string>,
  { request, socket, head }: { request: IncomingMessage; socket: Socket; head: Buffer },
): Promise<void> {
  const client = await new Promise<WebSocket | undefined>((resolve) => {
    // A malformed handshake is answered with a 400, and the connection closes.
    socket.once("close", () => resolve(undefined));
    server.handleUpgrade(request, socket, head, resolve);
  });
  if (client === undefined) return;
  client.on("error", () => {});
  let isHeard = true;
  client.on("pong", () => {
    isHeard = true;
  });
  const pings = setInterval(() => {
    if (!isHeard) client.terminate();
    isHeard = false;
    client.ping();
  }, SOCKET_PINGED_EVERY_MS);
  try {
    for await (const text of texts) {
      if (client.readyState !== client.OPEN) return;
      if (text !== "") await new Promise<void>((resolve) => client.send(text, () => resolve()));
    }
    client.close(NORMAL);
  } catch (error) {
    console.error(`Cannot send all messages: ${messageOf(error)}`);
    client.close(FAILED);
  } finally {
    clearInterval(pings);
  }
}
