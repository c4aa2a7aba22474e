/**
 * A two-way byte stream between two processes: the only thing that a connection needs.
 *
 * Three kinds: a Unix domain socket (`connectSocket`, `listenSocket`), a pair of ends inside one process (`loopbackPair`), which is what
 * in-process mode runs on, and TCP (`tcp-transport.ts`). All deliver chunks in order and tell once when the stream is over.
 */
import { chmodSync, unlinkSync } from "node:fs";
import net from "node:net";
import type { NodeId } from "../../base/ids.ts";

export interface Transport {
  /** The bytes may be overwritten as soon as the callback has returned: who keeps some copies them. */
  onChunk: (chunk: Buffer) => void;
  /** Called once, also after `destroy`. The reason is for messages to people. */
  onClose: (reason: string) => void;
  onDrain: () => void;
  /** Bytes handed over and not yet taken by the operating system. */
  readonly pendingBytes: number;
  /** Whose certificate the other end has shown; undefined where there is no TLS. */
  readonly certifiedNodeId?: NodeId | undefined;
  /** The IP address of the other end; undefined where there is none. */
  readonly remoteAddress?: string | undefined;
  write(chunk: Uint8Array): void;
  /** Sends what is pending, then closes. */
  end(): void;
  destroy(): void;
  /** Whether this stream alone keeps the process from exiting. */
  setKeepsProcessAlive(keeps: boolean): void;
}

/** The reason of an end that came behind all that the other end had written. */
export const CLOSED_BY_PEER = "the connection was closed";

const ignore = (): void => {};

export class SocketTransport implements Transport {
  onChunk: (chunk: Buffer) => void = ignore;
  onClose: (reason: string) => void = ignore;
  onDrain: () => void = ignore;
  readonly certifiedNodeId: NodeId | undefined;
  readonly remoteAddress: string | undefined;
  readonly #socket: net.Socket;

  constructor(socket: net.Socket, certifiedNodeId?: NodeId) {
    this.#socket = socket;
    this.certifiedNodeId = certifiedNodeId;
    this.remoteAddress = socket.remoteAddress;
    let reason = CLOSED_BY_PEER;
    socket.on("data", (chunk: Buffer) => this.onChunk(chunk));
    socket.on("drain", () => this.onDrain());
    socket.on("error", (error) => {
      reason = error.message;
    });
    socket.on("close", () => this.onClose(reason));
  }

  get pendingBytes(): number {
    return this.#socket.writableLength;
  }

  write(chunk: Uint8Array): void {
    if (!this.#socket.destroyed && !this.#socket.writableEnded) this.#socket.write(chunk);
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  setKeepsProcessAlive(keeps: boolean): void {
    if (keeps) this.#socket.ref();
    else this.#socket.unref();
  }
}

/** Of all sockets of the process: nothing is read while what was read is being handled. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);
/** The same for connections that carry large objects: fewer calls of the system, to read and to put away what was read. Made when the first is opened. */
let bulkBuffer: Buffer | undefined;
const BULK_BYTES = 1024 * 1024;

/**
 * Reads into memory that is there already: Node otherwise allocates 64 KB for each read, a fifth of what a small answer costs. It has this for those
 * who connect only.
 */
export function readInto(transport: () => Transport | undefined, { isBulk = false }: { isBulk?: boolean } = {}): net.OnReadOpts {
  if (isBulk) bulkBuffer ??= Buffer.allocUnsafeSlow(BULK_BYTES);
  const buffer = isBulk && bulkBuffer !== undefined ? bulkBuffer : readBuffer;
  return {
    buffer,
    callback: (size) => {
      transport()?.onChunk(buffer.subarray(0, size));
      return true;
    },
  };
}

export function connectSocket(path: string): Promise<Transport> {
  return new Promise((resolve, reject) => {
    let transport: SocketTransport | undefined;
    const socket = net.connect({ path, onread: readInto(() => transport) });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      transport = new SocketTransport(socket);
      resolve(transport);
    });
  });
}

export interface Listener {
  readonly path: string;
  setKeepsProcessAlive(keeps: boolean): void;
  close(): void;
}

/** Only the owner of the process may connect: the file mode is 0600, and the token is asked for besides. */
export function listenSocket(path: string, onTransport: (transport: Transport) => void): Promise<Listener> {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => onTransport(new SocketTransport(socket)));
    server.once("error", reject);
    server.listen(path, () => {
      chmodSync(path, 0o600);
      resolve({
        path,
        setKeepsProcessAlive: (keeps) => {
          if (keeps) server.ref();
          else server.unref();
        },
        close: () => {
          server.close();
          try {
            unlinkSync(path);
          } catch {
            // Already gone with its directory.
          }
        },
      });
    });
  });
}

class LoopbackTransport implements Transport {
  onChunk: (chunk: Buffer) => void = ignore;
  onClose: (reason: string) => void = ignore;
  onDrain: () => void = ignore;
  readonly pendingBytes = 0;
  peer!: LoopbackTransport;
  #closed = false;

  write(chunk: Uint8Array): void {
    if (this.#closed) return;
    const peer = this.peer;
    // Not in the same call: a sender never finds itself inside its receiver, as with a socket.
    queueMicrotask(() => {
      if (!peer.#closed) peer.onChunk(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    });
  }

  end(): void {
    queueMicrotask(() => this.destroy());
  }

  destroy(): void {
    if (this.#closed) return;
    this.#closed = true;
    queueMicrotask(() => {
      this.onClose(CLOSED_BY_PEER);
      this.peer.destroy();
    });
  }

  setKeepsProcessAlive(): void {}
}

export function loopbackPair(): [Transport, Transport] {
  const left = new LoopbackTransport();
  const right = new LoopbackTransport();
  left.peer = right;
  right.peer = left;
  return [left, right];
}
