/**
 * Broadcasts to every node which nodes join and leave, and which processes have ended.
 *
 * Sent one by one, the start of a cluster of N nodes would cost the head N² messages. So changes are gathered for a moment that grows with the number of nodes,
 * encoded once, and the same bytes go to all nodes. Invariant: before a node is sent anything else it knows all nodes, because the message may name one of them.
 * The end of a process is sent after everything said before it, and may arrive later. Owned by the head's server.
 */
import type { ProcessId } from "../../base/ids.ts";
import type { NodeCommandHeader, NodeInfoHeader } from "../../wire/cluster/cluster-messages.ts";

/** A node, as the broadcast sees it. */
interface BroadcastReceiver {
  /** A frame of a NODE_COMMAND, which others may be sent as well. */
  sendWhole(frame: Buffer): void;
}

interface MembershipBroadcastOptions<Reader> {
  /** All receivers. */
  readonly readers: () => Iterable<Reader>;
  /** How many. */
  readonly count: () => number;
  /** All nodes, for a new receiver. */
  readonly list: () => NodeInfoHeader[];
  readonly frameOf: (command: NodeCommandHeader) => Buffer;
}

/** Delay for each node, so that a cluster of a thousand hears of changes ten times a second, and one of ten at once. */
const GATHERED_MS_PER_NODE = 0.1;
const GATHERED_MS_MAX = 250;
/** Version of receivers that know nothing yet. */
const NOTHING = -1;

export class MembershipBroadcast<Reader extends BroadcastReceiver> {
  readonly #options: MembershipBroadcastOptions<Reader>;
  /** Changes that not everybody has heard. */
  #nodes: NodeInfoHeader[] = [];
  #processes: ProcessId[] = [];
  /** Number of changes that a node has heard; absent for none. */
  readonly #heard = new Map<Reader, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MembershipBroadcastOptions<Reader>) {
    this.#options = options;
  }

  /** Adds a node that knows nothing yet, and announces it to the others. */
  joined(reader: Reader, info: NodeInfoHeader): void {
    this.#heard.set(reader, NOTHING);
    this.#nodes.push(info);
    this.#tellSoon();
  }

  nodeGone(info: NodeInfoHeader): void {
    this.#nodes.push(info);
    this.#tellSoon();
  }

  processGone(process: ProcessId): void {
    this.#processes.push(process);
    this.#tellSoon();
  }

  /** Brings a node up to date before it gets any other message. */
  catchUp(reader: Reader): void {
    const from = this.#heard.get(reader) ?? 0;
    if (from === this.#nodes.length) return;
    this.#heard.set(reader, this.#nodes.length);
    reader.sendWhole(this.#nodesFrom(from));
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #tellSoon(): void {
    this.#timer ??= setTimeout(() => this.#tellAll(), Math.min(GATHERED_MS_MAX, this.#options.count() * GATHERED_MS_PER_NODE));
  }

  #tellAll(): void {
    this.#timer = undefined;
    const { readers, frameOf } = this.#options;
    const frames = new Map<number, Buffer>();
    const ends = this.#processes.length === 0 ? undefined : frameOf(["processGone", ...this.#processes]);
    for (const reader of readers()) {
      const from = this.#heard.get(reader) ?? 0;
      if (from < this.#nodes.length) {
        const frame = frames.get(from) ?? this.#nodesFrom(from);
        frames.set(from, frame);
        reader.sendWhole(frame);
      }
      if (ends !== undefined) reader.sendWhole(ends);
    }
    this.#nodes = [];
    this.#processes = [];
    this.#heard.clear();
  }

  #nodesFrom(from: number): Buffer {
    const { frameOf, list } = this.#options;
    return frameOf(["nodesChanged", from === NOTHING ? list() : this.#nodes.slice(from)]);
  }
}
