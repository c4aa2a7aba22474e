/**
 * One object to many nodes in virtual time: the real plans of all receivers and the real directory, with a network of numbers between them.
 *
 * Each node sends 1 MB in a millisecond (about 8 Gb/s), one chunk after the other, and receives without limit. A message takes 0.1 ms. The ideal for 64 MB to
 * one receiver is 64 ms. A tree of two branches takes twice that, and a little for each level.
 */
import { describe, expect, test } from "vitest";
import type { NodeTag } from "../../base/ids.ts";
import { CopyDirectory } from "./copy-directory.ts";
import { type PullEvent, PullPlan } from "./pull-plan.ts";

const MEGABYTE = 1_048_576;
const SIZE_BYTES = 64 * MEGABYTE;
const LATENCY_MS = 0.1;
const CHUNK_MS = 1;
const HOME = "home" as NodeTag;
const KEY = "k";

interface Due {
  atMs: number;
  order: number;
  run: () => void;
}

/** The due events in order of time, as a binary heap. */
class Agenda {
  readonly #heap: Due[] = [];
  #order = 0;
  nowMs = 0;

  after(ms: number, run: () => void): void {
    const heap = this.#heap;
    this.#order += 1;
    heap.push({ atMs: this.nowMs + ms, order: this.#order, run });
    for (let at = heap.length - 1; at > 0; ) {
      const up = (at - 1) >>> 1;
      if (!this.#isBefore(at, up)) break;
      this.#swap(at, up);
      at = up;
    }
  }

  runAll(untilMs: number): void {
    const heap = this.#heap;
    while (heap.length > 0) {
      const first = heap[0] as Due;
      if (first.atMs > untilMs) return;
      const last = heap.pop() as Due;
      if (heap.length > 0) {
        heap[0] = last;
        for (let at = 0; ; ) {
          let least = at;
          for (const child of [2 * at + 1, 2 * at + 2]) if (child < heap.length && this.#isBefore(child, least)) least = child;
          if (least === at) break;
          this.#swap(at, least);
          at = least;
        }
      }
      this.nowMs = first.atMs;
      first.run();
    }
  }

  #isBefore(a: number, b: number): boolean {
    const left = this.#heap[a] as Due;
    const right = this.#heap[b] as Due;
    return left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);
  }

  #swap(a: number, b: number): void {
    const left = this.#heap[a] as Due;
    this.#heap[a] = this.#heap[b] as Due;
    this.#heap[b] = left;
  }
}

interface Request {
  from: Node;
  pull: number;
  offset: number;
  sizeBytes: number;
}

class Node {
  readonly tag: NodeTag;
  readonly plan = new PullPlan({ budgetBytes: SIZE_BYTES });
  isDead = false;
  doneMs: number | undefined;
  servedBytes = 0;
  #requests: Request[] = [];
  readonly #serving = new Set<string>();
  #isSending = false;
  readonly #network: Network;

  constructor(network: Network, tag: NodeTag) {
    this.#network = network;
    this.tag = tag;
    if (tag === HOME) this.doneMs = 0;
  }

  handle(event: PullEvent): void {
    if (this.isDead) return;
    const { agenda } = this.#network;
    for (const effect of this.plan.handle(event, agenda.nowMs)) {
      if (effect.kind === "allocate") this.handle({ kind: "allocated", key: effect.key, ok: true });
      else if (effect.kind === "open") agenda.after(LATENCY_MS, () => this.#network.open(this, effect));
      else if (effect.kind === "read") agenda.after(LATENCY_MS, () => this.#network.node(effect.node).asked({ ...effect, from: this }));
      else if (effect.kind === "close") agenda.after(LATENCY_MS, () => this.#network.node(effect.node).closed(this, effect.pull));
      else if (effect.kind === "complete") {
        this.doneMs = agenda.nowMs;
        agenda.after(LATENCY_MS, () => this.#network.whole(this));
        this.serve();
      } else if (effect.kind === "failed") throw new Error(`${this.tag}: ${effect.reason}`);
    }
    if (event.kind === "received") this.serve();
  }

  opened(from: Node, pull: number): void {
    this.#serving.add(`${from.tag}/${pull}`);
  }

  asked(request: Request): void {
    if (!this.#serving.has(`${request.from.tag}/${request.pull}`)) return;
    this.#requests.push(request);
    this.serve();
  }

  closed(from: Node, pull: number): void {
    this.#serving.delete(`${from.tag}/${pull}`);
    this.#requests = this.#requests.filter((request) => request.from !== from || request.pull !== pull);
  }

  serve(): void {
    if (this.#isSending || this.isDead) return;
    const haveBytes = this.doneMs === undefined ? this.plan.haveBytes(KEY) : SIZE_BYTES;
    const index = this.#requests.findIndex(({ offset, sizeBytes }) => offset + sizeBytes <= haveBytes);
    if (index < 0) return;
    const [request] = this.#requests.splice(index, 1) as [Request];
    this.#isSending = true;
    const { agenda } = this.#network;
    agenda.after((CHUNK_MS * request.sizeBytes) / MEGABYTE, () => {
      this.#isSending = false;
      this.servedBytes += request.sizeBytes;
      if (!this.isDead) {
        const arrived = (): void => {
          if (request.from.plan.keyOf(request.pull) !== undefined)
            request.from.handle({ kind: "received", pull: request.pull, sizeBytes: request.sizeBytes });
        };
        agenda.after(LATENCY_MS, arrived);
      }
      this.serve();
    });
  }
}

class Network {
  readonly agenda = new Agenda();
  readonly directory = new CopyDirectory(HOME);
  readonly nodes = new Map<NodeTag, Node>();
  readonly pullOf = new Map<NodeTag, number>();

  constructor(receivers: number) {
    this.nodes.set(HOME, new Node(this, HOME));
    for (let number = 0; number < receivers; number += 1) this.nodes.set(`n${number}` as NodeTag, new Node(this, `n${number}` as NodeTag));
  }

  node(tag: NodeTag): Node {
    return this.nodes.get(tag) as Node;
  }

  open(from: Node, { pull, node, avoid }: { pull: number; node: NodeTag; avoid: NodeTag[] }): void {
    // Other nodes serve their bytes; only the home chooses sources.
    if (node !== HOME) {
      this.node(node).opened(from, pull);
      return;
    }
    const source = this.directory.wanted({ key: KEY, sizeBytes: SIZE_BYTES, node: from.tag, pull, avoid });
    this.pullOf.set(from.tag, pull);
    if (source === HOME) this.node(HOME).opened(from, pull);
    else this.agenda.after(LATENCY_MS, () => from.handle({ kind: "redirected", pull, node: source }));
  }

  whole(node: Node): void {
    this.directory.whole({ key: KEY, node: node.tag, pull: this.pullOf.get(node.tag) ?? -1 });
  }

  receivers(): Node[] {
    return Array.from(this.nodes.values()).filter((node) => node.tag !== HOME);
  }

  start(): void {
    for (const node of this.receivers()) node.handle({ kind: "wanted", key: KEY, sizeBytes: SIZE_BYTES, home: HOME, purpose: 0 });
  }
}

function broadcast(receivers: number): { lastMs: number; homeBytes: number } {
  const network = new Network(receivers);
  network.start();
  network.agenda.runAll(1_000_000);
  const times = network.receivers().map((node) => node.doneMs ?? Number.POSITIVE_INFINITY);
  return { lastMs: Math.max(...times), homeBytes: network.node(HOME).servedBytes };
}

describe("one object to many nodes", () => {
  test("takes 1,000 of them little longer than ten, and the home sends it twice", () => {
    const one = broadcast(1);
    const ten = broadcast(10);
    const hundred = broadcast(100);
    const thousand = broadcast(1000);
    expect(one.lastMs).toBeLessThan(66);
    // Each level adds some milliseconds to what two branches cost: the growth is that of the depth, 3, 6 and 9.
    expect(ten.lastMs).toBeLessThan(150);
    expect(hundred.lastMs - ten.lastMs).toBeLessThan(25);
    expect(thousand.lastMs - hundred.lastMs).toBeLessThan(25);
    expect(thousand.homeBytes).toBeLessThan(2.5 * SIZE_BYTES);
  });

  test("reaches all that are left when every tenth node dies on the way, those below them without beginning again", () => {
    const network = new Network(300);
    const { agenda } = network;
    network.start();
    agenda.runAll(60);
    const dead = network.receivers().filter((_, index) => index % 10 === 3);
    for (const node of dead) {
      node.isDead = true;
      network.directory.nodeGone(node.tag);
      for (const other of network.nodes.values()) other.handle({ kind: "linkLost", node: node.tag });
    }
    for (let ms = 100; ms < 20_000; ms += 100) {
      for (const node of network.nodes.values()) node.handle({ kind: "tick" });
      agenda.runAll(ms);
    }
    const left = network.receivers().filter((node) => !node.isDead);
    expect(left.filter((node) => node.doneMs === undefined)).toEqual([]);
    const served = Array.from(network.nodes.values()).reduce((sum, node) => sum + node.servedBytes, 0);
    // Only the windows under way are sent again.
    expect(served).toBeLessThan(left.length * SIZE_BYTES * 1.25);
  });
});
