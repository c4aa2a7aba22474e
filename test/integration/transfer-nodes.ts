/**
 * Nodes with nothing but their stores and the transfer of objects, in one process: folders of their own, and real TCP between them.
 *
 * Each node has a process that writes objects and one that reads copies, as their daemon sees them. A test can hold up or change bytes on
 * the connections, and declare nodes dead.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { nodeTagOf, type NodeTag, type ObjectId, type ProcessId } from "../../src/runtime/base/ids.ts";
import { ObjectTransfer } from "../../src/runtime/node/objects/object-transfer.ts";
import { StoreService } from "../../src/runtime/node/objects/store-service.ts";
import { ArenaReader } from "../../src/runtime/objects/arenas/arena-reader.ts";
import { ArenaWriter, arenaBytesFor } from "../../src/runtime/objects/arenas/arena-writer.ts";
import { storeTagOf } from "../../src/runtime/objects/store/local-store.ts";
import { createSpillDisk } from "../../src/runtime/objects/spilling/spill-disk.ts";
import { memoryRoot } from "../../src/runtime/os/files/sessions/session-sweep.ts";
import { type Transport } from "../../src/runtime/os/network/transport.ts";
import { handle } from "../../src/runtime/wire/tables/message-table.ts";
import { MESSAGE, type WireLocation } from "../../src/runtime/wire/messages.ts";

const MEGABYTE = 1_048_576;

/** A socket as a transport. Received bytes can be changed on the way, or held up. */
class TestTransport implements Transport {
  readonly channel = "test";
  onChunk: (chunk: Buffer) => void = () => {};
  onClose: (reason: string, isWhole: boolean) => void = () => {};
  onDrain: () => void = () => {};
  readonly socket: net.Socket;

  constructor(socket: net.Socket, onRead: (socket: net.Socket, chunk: Buffer) => Buffer = (_, chunk) => chunk) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.onChunk(onRead(socket, chunk)));
    socket.on("drain", () => this.onDrain());
    socket.on("error", () => {});
    socket.on("close", () => this.onClose("the connection was closed", true));
  }

  get pendingBytes(): number {
    return this.socket.writableLength;
  }
  write(chunk: Uint8Array): void {
    if (!this.socket.destroyed && !this.socket.writableEnded) this.socket.write(chunk);
  }
  end(): void {
    this.socket.end();
  }
  destroy(): void {
    this.socket.destroy();
  }
  setKeepsProcessAlive(): void {}
}

export class Nodes {
  readonly byTag = new Map<NodeTag, TransferNode>();
  #next = 1;

  async add(options: { quotaBytes?: number; checks?: boolean } = {}): Promise<TransferNode> {
    const tag = (this.#next.toString(16).padStart(2, "0") + "a0b0c0d0e0f0a1") as NodeTag;
    this.#next += 1;
    const node = new TransferNode(this, tag, options);
    this.byTag.set(tag, node);
    await node.listen();
    return node;
  }

  /** A node ends as if it had been killed, and is declared dead. */
  kill(node: TransferNode): void {
    node.stop();
    this.byTag.delete(node.tag);
    for (const other of this.byTag.values()) {
      other.store.nodeGone(node.tag);
      other.transfer.nodeGone(node.tag);
    }
  }

  close(): void {
    for (const node of this.byTag.values()) node.stop();
    this.byTag.clear();
  }
}

export class TransferNode {
  readonly tag: NodeTag;
  readonly memoryDirectory: string = mkdtempSync(`${memoryRoot()}/shoal-transfer-`);
  readonly spillDirectory: string = mkdtempSync(`${tmpdir()}/shoal-transfer-`);
  readonly writerId: ProcessId;
  readonly readerId: ProcessId;
  readonly store: StoreService;
  readonly transfer: ObjectTransfer;
  /** Connections that others have opened to this node. */
  readonly accepted = new Set<net.Socket>();
  /** Changes the bytes that this node reads from others. */
  onRead: (chunk: Buffer) => Buffer = (chunk) => chunk;
  onReadSocket: (socket: net.Socket, chunk: Buffer) => Buffer = (_, chunk) => chunk;
  /** Messages of this node to others. */
  readonly told: [NodeTag, number][] = [];
  /** Processes of this node that live, and own objects. */
  readonly owners = new Set<ProcessId>();
  address: { port: number } | undefined = undefined;
  readonly writer: ArenaWriter;
  readonly #nodes: Nodes;
  readonly #server: net.Server;
  readonly #reader: ArenaReader;
  #objects = 0;

  constructor(nodes: Nodes, tag: NodeTag, { quotaBytes = 1024 * MEGABYTE, checks = true }: { quotaBytes?: number; checks?: boolean }) {
    this.#nodes = nodes;
    this.tag = tag;
    const daemonId = `${tag}dddddddddddddddd` as ProcessId;
    this.writerId = `${tag}aaaaaaaaaaaaaaaa` as ProcessId;
    this.readerId = `${tag}bbbbbbbbbbbbbbbb` as ProcessId;
    const { memoryDirectory, spillDirectory } = this;
    this.store = new StoreService({
      quotaBytes,
      disk: createSpillDisk({ memory: memoryDirectory, spill: spillDirectory }),
      unlink: (arena, kind) => rmSync(`${kind === "memory" ? memoryDirectory : spillDirectory}/${arena}`, { force: true }),
      send: (to, type, header) => this.#toProcess(to, type, header),
      warn: () => {},
      nowMs: () => performance.now(),
    });
    this.transfer = new ObjectTransfer({
      processId: daemonId,
      store: this.store,
      memoryDirectory,
      spillDirectory,
      connect: (node) => this.#connect(node),
      tell: (node, type, header) => {
        this.told.push([node, type]);
        setImmediate(() => {
          const there = this.#nodes.byTag.get(node)?.transfer;
          if (there !== undefined) handle(there.copyHandlers, type, structuredClone(header), tag);
        });
      },
      checks,
      nowMs: () => performance.now(),
      isOwned: ({ owner }) => this.owners.has(owner),
    });
    this.store.joined(this.writerId);
    this.writer = new ArenaWriter({
      memoryDirectory,
      spillDirectory,
      processTag: storeTagOf(this.writerId),
      arenaBytes: arenaBytesFor(quotaBytes),
      quota: { freeBytes: () => this.store.freeBytes },
      onArenaChanged: (arena, kind, bytes) => this.store.handlers[MESSAGE.STORE_ARENA]([arena, kind, bytes], { id: this.writerId }),
    });
    this.#reader = new ArenaReader({ memoryDirectory, spillDirectory });
    this.#server = net.createServer((socket) => this.#accept(socket));
  }

  listen(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.listen(0, "127.0.0.1", () => {
        this.address = this.#server.address() as { port: number };
        resolve();
      });
    });
  }

  /** Stores an object. */
  put(sizeBytes: number, owner: ProcessId = this.writerId): { id: ObjectId; location: WireLocation; bytes: Buffer } {
    const bytes = patterned(sizeBytes, this.#objects);
    this.#objects += 1;
    const { arena, offset, sizeBytes: storedBytes, kind } = this.writer.write(bytes, []);
    const location: WireLocation = [arena, offset, storedBytes, kind];
    this.store.handlers[MESSAGE.STORE_SEALED]([[location, owner]], { id: this.writerId });
    return { id: `${this.tag}${this.#objects.toString(16).padStart(24, "0")}` as ObjectId, location, bytes };
  }

  /** Frees an object that nobody needs any more. */
  free(location: WireLocation): void {
    this.store.free(location, { reused: false });
  }

  fetch(
    object: { id: ObjectId; location: WireLocation; owner?: ProcessId },
    purpose = 0,
    reader: ProcessId = this.readerId,
  ): Promise<WireLocation> {
    const { id, location, owner } = object;
    return this.transfer.fetch(reader, owner === undefined ? [id, location, purpose] : [id, location, purpose, owner]);
  }

  read([arena, offset, sizeBytes, kind]: WireLocation): Uint8Array {
    return this.#reader.read({ arena, offset, sizeBytes, kind }, 0).inBand;
  }

  /** Files that are left in its folders. */
  get files(): string[] {
    return [...readdirSync(this.memoryDirectory), ...readdirSync(this.spillDirectory)];
  }

  stop(): void {
    this.transfer.close();
    this.store.close();
    this.writer.close();
    this.#reader.close();
    this.#server.close();
    for (const socket of this.accepted) socket.destroy();
    rmSync(this.memoryDirectory, { recursive: true, force: true });
    rmSync(this.spillDirectory, { recursive: true, force: true });
  }

  #toProcess(to: ProcessId, type: number, header: unknown): void {
    if (to !== this.writerId) return;
    if (type === MESSAGE.STORE_REUSE)
      for (const [arena, offset, sizeBytes, kind] of header as WireLocation[]) this.writer.free({ arena, offset, sizeBytes, kind });
    if (type === MESSAGE.STORE_RETIRE) {
      for (const arena of header as string[]) this.writer.abandon(arena);
      queueMicrotask(() => this.store.handlers[MESSAGE.STORE_RETIRE](header as string[], { id: to }));
    }
    if (type === MESSAGE.STORE_COLLECT) queueMicrotask(() => this.store.handlers[MESSAGE.STORE_COLLECT](undefined, { id: to }));
  }

  #connect(node: NodeTag): Promise<Transport> {
    const port = this.#nodes.byTag.get(node)?.address?.port;
    if (port === undefined) return Promise.reject(new Error("nobody is there"));
    return new Promise((resolve, reject) => {
      const socket = net.connect(port, "127.0.0.1");
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.write(this.tag);
        resolve(new TestTransport(socket, (from, chunk) => this.onReadSocket(from, this.onRead(chunk))));
      });
    });
  }

  /** The first 16 bytes say who it is; a real node shows a token or a certificate. */
  #accept(socket: net.Socket): void {
    this.accepted.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => this.accepted.delete(socket));
    socket.once("readable", () => {
      const tag = (socket.read(16) as Buffer | null)?.toString("latin1");
      if (tag === undefined) return;
      this.transfer.accept(nodeTagOf(tag), new TestTransport(socket));
    });
  }
}

function patterned(sizeBytes: number, seed: number): Buffer {
  const bytes = Buffer.allocUnsafe(sizeBytes);
  const words = new Uint32Array(1024);
  for (let index = 0; index < words.length; index += 1) words[index] = Math.imul(index + 1 + seed * 1024, 0x9e3779b1);
  const block = Buffer.from(words.buffer);
  for (let offset = 0; offset < sizeBytes; offset += block.length) {
    block.writeUInt32LE(offset / block.length, 0);
    block.copy(bytes, offset);
  }
  return bytes;
}
