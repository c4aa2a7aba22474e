/**
 * A two-way byte stream between two processes: the only thing that a connection needs.
 *
 * Three kinds: a Unix domain socket (`connectSocket`, `listenSocket`), a pair of ends inside one process (`loopbackPair`), for in-process
 * mode, and TCP (`tcp-transport.ts`). All deliver chunks in order and report the end of the stream once.
 */
import { chmodSync, readSync, unlinkSync } from "node:fs";
import net from "node:net";
import type { NodeId } from "../../base/ids.ts";
import { type UnfinishedConnection, UnfinishedConnections } from "./unfinished-connections.ts";

export interface Transport {
  /** The bytes may be overwritten as soon as the callback has returned, so a callback that keeps some copies them. */
  onChunk: (chunk: Buffer) => void;
  /** Called once, also after `destroy`. The reason is for messages to people; `isWhole`: all that the other end had written has been read. */
  onClose: (reason: string, isWhole: boolean) => void;
  onDrain: () => void;
  /** Bytes handed over and not yet taken by the operating system. */
  readonly pendingBytes: number;
  /**
   * Tells this connection from every other of the machine at the same time, and is the same at both ends: a proof made for it is of no use
   * on another (`runtime/rpc/proof.ts`). With TLS the certificates identify both ends, so the channel only says that TLS is used.
   */
  readonly channel: string;
  /** Node in the other end's certificate; undefined without TLS. */
  readonly certifiedNodeId?: NodeId | undefined;
  /** The IP address of the other end; undefined for other transports. */
  readonly remoteAddress?: string | undefined;
  write(chunk: Uint8Array): void;
  /**
   * Hands on received data without the event loop, for a process at its exit, whose loop does not turn any more. Absent if that is not
   * possible.
   */
  readSync?(): SyncRead;
  /** Sends pending data, then closes. */
  end(): void;
  destroy(): void;
  /** Whether this stream alone keeps the process from exiting. */
  setKeepsProcessAlive(keeps: boolean): void;
  /** The other end has begun as callers do, and was answered: its listener waits for it now, and it may compute. */
  begun?(): void;
  /** The other end has identified itself, so the listener does not count it as unfinished any more. */
  identified?(): void;
}

/** `ended`: nothing more arrives, or not without the event loop. */
export type SyncRead = "read" | "empty" | "ended";

/** A frame within a process is delivered in the same turn of the event loop, unless that turn has lasted for so long. */
const LOOPBACK_TURN_MS = 5;

const CLOSED = "the connection was closed";

const ignore = (): void => {};

export class SocketTransport implements Transport {
  onChunk: (chunk: Buffer) => void = ignore;
  onClose: (reason: string, isWhole: boolean) => void = ignore;
  onDrain: () => void = ignore;
  readonly certifiedNodeId: NodeId | undefined;
  readonly remoteAddress: string | undefined;
  readonly channel: string;
  readonly #socket: net.Socket;
  readonly #isEncrypted: boolean;
  readonly #unfinished: UnfinishedConnection | undefined;

  constructor(
    socket: net.Socket,
    known: { channel: string; certifiedNodeId?: NodeId | undefined; unfinished?: UnfinishedConnection | undefined },
  ) {
    const { channel, certifiedNodeId, unfinished } = known;
    this.#socket = socket;
    this.#isEncrypted = "encrypted" in socket;
    this.channel = channel;
    this.#unfinished = unfinished;
    this.certifiedNodeId = certifiedNodeId;
    this.remoteAddress = socket.remoteAddress;
    let failure: string | undefined;
    const destroySocket = socket._destroy.bind(socket);
    socket._destroy = (error, callback) => {
      if (error !== null) this.#readLastWords();
      destroySocket(error, callback);
    };
    socket.on("data", (chunk: Buffer) => this.onChunk(chunk));
    socket.on("drain", () => this.onDrain());
    socket.on("error", (error) => {
      failure = error.message;
    });
    socket.on("close", () => {
      unfinished?.finish();
      this.onClose(failure ?? CLOSED, failure === undefined);
    });
  }

  /** Node closes a socket at the first write that fails, as to a process that has ended, and would drop the last data of that process. */
  #readLastWords(): void {
    while (this.readSync() === "read") {}
  }

  begun(): void {
    this.#unfinished?.begun();
  }

  identified(): void {
    this.#unfinished?.finish();
  }

  get pendingBytes(): number {
    return this.#socket.writableLength;
  }

  write(chunk: Uint8Array): void {
    if (!this.#socket.destroyed && !this.#socket.writableEnded) this.#socket.write(chunk);
  }

  readSync(): SyncRead {
    if (this.#isEncrypted) return "ended";
    const fd = (this.#socket as unknown as { _handle?: { fd?: number } | null })._handle?.fd;
    if (fd === undefined || fd < 0) return "ended";
    // A separate buffer: the exit may have been requested while the shared one is in use.
    syncBuffer ??= Buffer.allocUnsafeSlow(64 * 1024);
    try {
      const size = readSync(fd, syncBuffer);
      if (size === 0) return "ended";
      this.onChunk(syncBuffer.subarray(0, size));
      return "read";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "EAGAIN" ? "empty" : "ended";
    }
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.onChunk = ignore;
    this.#socket.destroy();
  }

  setKeepsProcessAlive(keeps: boolean): void {
    // Node would remember each call for a socket that connects again: a listener a call, of which it warns.
    if (this.#socket.destroyed) return;
    if (keeps) this.#socket.ref();
    else this.#socket.unref();
  }
}

/** Shared by all sockets of the process: nothing is read while received data is being handled. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);
let syncBuffer: Buffer | undefined;
/** The same for connections with large objects, for fewer system calls and copies. Made when the first is opened. */
let bulkBuffer: Buffer | undefined;
const BULK_BYTES = 1024 * 1024;

/**
 * Makes a connection read into existing memory: Node otherwise allocates 64 KB for each read, a fifth of the cost of a small answer. Node
 * has this option for callers only.
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

/**
 * The path identifies the listener of a socket. Two callers' connections are told apart by their random numbers: only the owner can get
 * between.
 */
function channelOf(path: string): string {
  return `unix ${path}`;
}

export function connectSocket(path: string): Promise<Transport> {
  return new Promise((resolve, reject) => {
    let transport: SocketTransport | undefined;
    const socket = net.connect({ path, onread: readInto(() => transport) });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      transport = new SocketTransport(socket, { channel: channelOf(path) });
      resolve(transport);
    });
  });
}

export interface Listener {
  readonly path: string;
  setKeepsProcessAlive(keeps: boolean): void;
  close(): void;
}

/** Only the owner of the process may connect: the file mode is 0600, and both ends also prove that they know the token. */
export function listenSocket(path: string, onTransport: (transport: Transport) => void): Promise<Listener> {
  return new Promise((resolve, reject) => {
    const all = new UnfinishedConnections();
    const server = net.createServer((socket) => {
      const unfinished = all.begin(() => socket.destroy());
      onTransport(new SocketTransport(socket, { channel: channelOf(path), unfinished }));
    });
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      // No file descriptor for a caller, for one: the next may have more luck.
      server.on("error", () => {});
      chmodSync(path, 0o600);
      resolve({
        path,
        setKeepsProcessAlive: (keeps) => {
          if (keeps) server.ref();
          else server.unref();
        },
        close: () => {
          server.close();
          all.close();
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

/** When the turn of the event loop was first asked for; 0 for one that nobody has asked for. */
let turnBeganMs = 0;

/** Whether this turn of the event loop has lasted for so long that others are to have theirs. */
function takesLong(): boolean {
  const nowMs = performance.now();
  if (turnBeganMs !== 0) return nowMs - turnBeganMs > LOOPBACK_TURN_MS;
  turnBeganMs = nowMs;
  setImmediate(() => {
    turnBeganMs = 0;
  });
  return false;
}

class LoopbackTransport implements Transport {
  readonly channel = "within this process";
  onChunk: (chunk: Buffer) => void = ignore;
  onClose: (reason: string, isWhole: boolean) => void = ignore;
  onDrain: () => void = ignore;
  readonly pendingBytes = 0;
  peer!: LoopbackTransport;
  #closed = false;
  /** Written in a turn of the event loop that has taken long. */
  readonly #late: Uint8Array[] = [];

  write(chunk: Uint8Array): void {
    if (this.#closed) return;
    if (this.#late.length > 0 || takesLong()) {
      // A conversation within the process would keep the event loop from sockets and timers until its end.
      if (this.#late.push(chunk) === 1) setImmediate(() => this.#deliverLate());
      return;
    }
    // Not in the same call: a sender never finds itself inside its receiver, as with a socket.
    queueMicrotask(() => this.#deliver(chunk));
  }

  #deliver(chunk: Uint8Array): void {
    if (!this.peer.#closed) this.peer.onChunk(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  }

  #deliverLate(): void {
    for (const chunk of this.#late.splice(0)) this.#deliver(chunk);
  }

  end(): void {
    if (this.#late.length > 0) setImmediate(() => this.destroy());
    else queueMicrotask(() => this.destroy());
  }

  destroy(): void {
    if (this.#closed) return;
    this.#closed = true;
    queueMicrotask(() => {
      this.onClose(CLOSED, true);
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
