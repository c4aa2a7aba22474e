/**
 * The transfer connections that this node has opened to others, one to each node that it fetches objects from.
 *
 * The first message opens a connection, and a while without requests closes it. Messages wait while a connection is being made. If that fails, or the connection
 * breaks, the fetching code is informed and asks again.
 */
import { messageOf } from "../../base/texts/describe.ts";
import type { NodeTag } from "../../base/ids.ts";
import { type ChunkHead } from "../../objects/transfer/chunk-parser.ts";
import { TransferLink } from "../../objects/transfer/transfer-link.ts";
import type { Frame } from "../../wire/frame.ts";
import type { Transport } from "../../os/network/transport.ts";

interface TransferLinksOptions {
  /** An authenticated stream to the transfer address of a node. */
  connect: (node: NodeTag) => Promise<Transport>;
  onMessage: (frame: Frame) => void;
  onChunkBytes: (head: ChunkHead, offset: number, bytes: Uint8Array) => void;
  onChunkEnd: (head: ChunkHead) => void;
  onLost: (node: NodeTag, reason: string) => void;
  nowMs: () => number;
}

interface Row {
  link: TransferLink | undefined;
  waiting: ((link: TransferLink) => void)[];
  usedMs: number;
}

/** Making one costs a few round trips, and with TLS a few milliseconds of both processes. */
const IDLE_CLOSED_AFTER_MS = 30_000;

export class TransferLinks {
  readonly #options: TransferLinksOptions;
  readonly #rows = new Map<NodeTag, Row>();
  #isClosed = false;

  constructor(options: TransferLinksOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#rows.size;
  }

  send(node: NodeTag, type: number, { pull, header }: { pull: number; header: unknown }): void {
    if (this.#isClosed) return;
    let row = this.#rows.get(node);
    if (row === undefined) {
      row = { link: undefined, waiting: [], usedMs: 0 };
      this.#rows.set(node, row);
      void this.#connect(node, row);
    }
    row.usedMs = this.#options.nowMs();
    if (row.link === undefined) row.waiting.push((link) => link.send(type, pull, header));
    else row.link.send(type, pull, header);
  }

  /** Closes the connection to a node. Its open requests are lost. */
  reset(node: NodeTag, reason: string): void {
    const row = this.#rows.get(node);
    this.#rows.delete(node);
    row?.link?.close(reason);
  }

  closeIdle(): void {
    const beforeMs = this.#options.nowMs() - IDLE_CLOSED_AFTER_MS;
    for (const [node, { usedMs }] of this.#rows) if (usedMs <= beforeMs) this.reset(node, "nothing was asked");
  }

  close(): void {
    this.#isClosed = true;
    for (const node of Array.from(this.#rows.keys())) this.reset(node, "the node ends");
  }

  async #connect(node: NodeTag, row: Row): Promise<void> {
    const { connect, onMessage, onChunkBytes, onChunkEnd } = this.#options;
    let transport: Transport;
    try {
      transport = await connect(node);
    } catch (error) {
      this.#lost(node, row, messageOf(error));
      return;
    }
    if (this.#rows.get(node) !== row) {
      transport.destroy();
      return;
    }
    row.link = new TransferLink(transport, {
      onMessage,
      onChunkBytes,
      onChunkEnd,
      onDrain: () => {},
      onClose: (reason) => this.#lost(node, row, reason),
    });
    row.link.setKeepsProcessAlive(false);
    for (const send of row.waiting) send(row.link);
    row.waiting = [];
  }

  #lost(node: NodeTag, row: Row, reason: string): void {
    if (this.#rows.get(node) !== row) return;
    this.#rows.delete(node);
    if (!this.#isClosed) this.#options.onLost(node, reason);
  }
}
