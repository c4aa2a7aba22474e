/**
 * The transports of the client: WebSocket everywhere, TCP in Node.
 *
 * A transport carries frames in both directions and knows nothing of their meaning.
 * `node:net` is asked of the process instead of imported, so that bundlers for browsers have nothing to resolve.
 */
import { FrameReader } from "../link/frames.ts";
import { LinkClosedError } from "./client-errors.ts";

/** An open connection. */
export interface Transport {
  send(frame: Uint8Array<ArrayBuffer>): void;
  close(): void;
}

interface TransportEvents {
  readonly onFrame: (frame: Uint8Array) => void;
  /** Called once, also where the connection was never open. */
  readonly onClose: (error: LinkClosedError) => void;
}

/** @throws LinkClosedError where nobody answers, TypeError for a URL of another kind */
export async function openTransport(url: string, events: TransportEvents, maxBytes: () => number): Promise<Transport> {
  const { protocol, hostname, port } = parsed(url);
  if (protocol !== "tcp:") return await openWebSocket(url, events);
  return await openTcp({ host: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port), url }, events, maxBytes);
}

function parsed(url: string): URL {
  const given = URL.canParse(url) ? new URL(url) : undefined;
  if (given !== undefined && ["ws:", "wss:", "tcp:"].includes(given.protocol) && (given.protocol !== "tcp:" || given.port !== ""))
    return given;
  throw new TypeError(
    `Cannot connect: a URL such as "ws://127.0.0.1:7000" or "tcp://127.0.0.1:7000" is needed: received ${JSON.stringify(url)}`,
  );
}

const nobody = (url: string): LinkClosedError =>
  new LinkClosedError(`Cannot connect to ${url}: nobody answers there, or the page's origin is refused`);
const lost = (url: string): LinkClosedError => new LinkClosedError(`The connection to ${url} is lost`);

async function openWebSocket(url: string, { onFrame, onClose }: TransportEvents): Promise<Transport> {
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  const opened = Promise.withResolvers<void>();
  let isOpen = false;
  socket.addEventListener("open", () => {
    isOpen = true;
    opened.resolve();
  });
  socket.addEventListener("message", ({ data }: MessageEvent) => {
    if (data instanceof ArrayBuffer) onFrame(new Uint8Array(data));
  });
  // `close` follows an error.
  socket.addEventListener("error", () => {});
  socket.addEventListener("close", () => {
    if (isOpen) onClose(lost(url));
    opened.reject(nobody(url));
  });
  await opened.promise;
  return { send: (frame) => socket.send(frame), close: () => socket.close() };
}

interface TcpPlace {
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

async function openTcp({ host, port, url }: TcpPlace, { onFrame, onClose }: TransportEvents, maxBytes: () => number): Promise<Transport> {
  const net = (globalThis as { process?: NodeJS.Process }).process?.getBuiltinModule?.("node:net");
  if (net === undefined) throw new TypeError(`Cannot connect to ${url}: pages have WebSockets alone. Use transport: "websocket"`);
  const socket = net.connect({ host, port, noDelay: true });
  const opened = Promise.withResolvers<void>();
  const reader = new FrameReader();
  let isOpen = false;
  socket.on("connect", () => {
    isOpen = true;
    opened.resolve();
  });
  socket.on("data", (bytes) => {
    try {
      for (const frame of reader.push(bytes, maxBytes())) onFrame(frame);
    } catch {
      socket.destroy();
    }
  });
  socket.on("error", () => socket.destroy());
  socket.on("close", () => {
    if (isOpen) onClose(lost(url));
    opened.reject(nobody(url));
  });
  await opened.promise;
  return { send: (frame) => void socket.write(frame), close: () => void socket.end() };
}
