/**
 * What every node is told: which nodes come and go, and which processes have ended.
 *
 * Told one by one, a cluster of N nodes that comes up would cost the head N² messages. So news are gathered for a moment that grows with the number of nodes, written once, and
 * the same bytes are sent to all. Invariant: a node has heard all news by the time it is told anything else, since what it is told may name a node or a process that they are about.
 * Owned by the head's server.
 */
import type { ProcessId } from "../base/ids.ts";
import type { NodeCommandHeader, NodeInfoHeader } from "../wire/cluster-messages.ts";

type News = { readonly node: NodeInfoHeader } | { readonly process: ProcessId };

/** One node, as far as news are concerned. */
export interface NewsReader {
  /** A frame of a NODE_COMMAND, which others may be sent as well. */
  sendWhole(frame: Buffer): void;
}

export interface ClusterNewsOptions<Reader> {
  /** All that are to hear. */
  readonly readers: () => Iterable<Reader>;
  /** How many. */
  readonly count: () => number;
  /** All nodes, for one that has just come. */
  readonly list: () => NodeInfoHeader[];
  readonly frameOf: (command: NodeCommandHeader) => Buffer;
}

/** For each node, so that a cluster of a thousand gets news ten times a second, and one of ten at once. */
const GATHERED_MS_PER_NODE = 0.1;
const GATHERED_MS_MAX = 250;
/** Of those who know nothing yet. */
const NOTHING = -1;

export class ClusterNews<Reader extends NewsReader> {
  readonly #options: ClusterNewsOptions<Reader>;
  /** What not everybody has heard. */
  #news: News[] = [];
  /** How much of that a node has heard; none, for those that are not named. */
  readonly #heard = new Map<Reader, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ClusterNewsOptions<Reader>) {
    this.#options = options;
  }

  /** A node that knows nothing yet, and which the others hear of. */
  joined(reader: Reader, info: NodeInfoHeader): void {
    this.#heard.set(reader, NOTHING);
    this.#add({ node: info });
  }

  nodeGone(info: NodeInfoHeader): void {
    this.#add({ node: info });
  }

  processGone(process: ProcessId): void {
    this.#add({ process });
  }

  /** Before it is told anything else. */
  catchUp(reader: Reader): void {
    const from = this.#heard.get(reader) ?? 0;
    if (from === this.#news.length) return;
    this.#heard.set(reader, this.#news.length);
    for (const frame of this.#framesFrom(from)) reader.sendWhole(frame);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #add(news: News): void {
    this.#news.push(news);
    this.#timer ??= setTimeout(() => this.#tellAll(), Math.min(GATHERED_MS_MAX, this.#options.count() * GATHERED_MS_PER_NODE));
  }

  #tellAll(): void {
    this.#timer = undefined;
    const frames = new Map<number, Buffer[]>();
    for (const reader of this.#options.readers()) {
      const from = this.#heard.get(reader) ?? 0;
      let unheard = frames.get(from);
      if (unheard === undefined) frames.set(from, (unheard = this.#framesFrom(from)));
      for (const frame of unheard) reader.sendWhole(frame);
    }
    this.#news = [];
    this.#heard.clear();
  }

  /** Of nodes first: what became of a process is of interest where its node is known. */
  #framesFrom(from: number): Buffer[] {
    if (from === NOTHING) return [this.#options.frameOf(["nodesChanged", this.#options.list()])];
    const nodes: NodeInfoHeader[] = [];
    const processes: ProcessId[] = [];
    for (let index = from; index < this.#news.length; index += 1) {
      const news = this.#news[index] as News;
      if ("node" in news) nodes.push(news.node);
      else processes.push(news.process);
    }
    const frames: Buffer[] = [];
    if (nodes.length > 0) frames.push(this.#options.frameOf(["nodesChanged", nodes]));
    if (processes.length > 0) frames.push(this.#options.frameOf(["processGone", ...processes]));
    return frames;
  }
}
