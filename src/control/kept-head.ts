/**
 * A head whose memory outlives it: the head, its recorded tables, the journal that keeps them and the gate that holds back its words.
 *
 * One reign of a leading head. What comes from nodes goes through `run`, nodes are added through `addNode`, which makes good what an earlier head left undone there. Used by the head's
 * server; `open` reads what is there.
 */
import type { NodeId, ProcessId } from "../base/ids.ts";
import type { HeadPeer, NodeServices } from "../rpc/head-service.ts";
import { Head } from "./head.ts";
import { HEAD_PREFIX, type HeadTables } from "./head-records.ts";
import { Journal } from "./journal.ts";
import type { Leadership } from "./leadership.ts";
import { OutputGate } from "./output-gate.ts";
import { RecordedTables } from "./recorded-tables.ts";
import { type NodeDigest, reconcile, unplaced } from "./recovery.ts";
import type { ControlStore } from "./store/control-store.ts";

interface KeptHeadParts {
  readonly journal: Journal;
  readonly tables: RecordedTables;
  /** What was in the tables when this reign began. */
  readonly kept: HeadTables;
  readonly nowMs: () => number;
}

export class KeptHead {
  readonly head: Head;
  readonly tables: RecordedTables;
  /** What an earlier head has kept, its nodes among it. */
  readonly kept: HeadTables;
  readonly #journal: Journal;
  readonly #gate: OutputGate;
  readonly #nodes = new Map<NodeId, NodeServices>();

  constructor({ journal, tables, kept, nowMs }: KeptHeadParts) {
    this.tables = tables;
    this.kept = kept;
    this.#journal = journal;
    this.#gate = new OutputGate({ journal, takeWrites: () => tables.takeWrites() });
    this.head = new Head({ nowMs, isOfDriver: false, tables });
    this.run(() => {
      for (const step of unplaced(tables.actors)) this.head.recover(step);
    });
  }

  /** @param options.onLost this head leads no more: nothing that it says after this goes out */
  static async open(options: {
    store: ControlStore;
    leadership: Leadership;
    nowMs: () => number;
    onLost: (error: Error) => void;
  }): Promise<KeptHead> {
    const { store, leadership, nowMs, onLost } = options;
    const tables = new RecordedTables();
    const kept = tables.restore((await store.list(HEAD_PREFIX)).entries);
    const journal = new Journal({ commit: (writes) => leadership.commit(writes), onLost });
    return new KeptHead({ journal, tables, kept, nowMs });
  }

  /** One event. @param then runs when what it changed is kept */
  run<T>(body: () => T, then?: () => void): T {
    return this.#gate.run(body, then);
  }

  /** A node that has registered with this head for the first time in its present life. */
  addNode(node: NodeServices, digest: NodeDigest): void {
    const gated = this.#gate.node(node);
    this.#nodes.set(node.nodeId, gated);
    const owners = this.kept.groups.flatMap(({ owner }) => (owner === undefined ? [] : [owner as ProcessId]));
    this.run(() => {
      this.head.addNode(gated);
      for (const step of reconcile(digest, { actors: this.tables.actors, owners })) this.head.recover(step);
    });
  }

  /** It is dead, also when this head has never met it. */
  nodeGone(nodeId: NodeId, reason: string): void {
    this.#nodes.delete(nodeId);
    this.run(() => this.head.nodeGone(nodeId, reason));
  }

  /** A process of a node, as this head may speak to it. */
  peer(nodeId: NodeId, id: ProcessId): HeadPeer | undefined {
    return this.#nodes.get(nodeId)?.peer(id);
  }

  /** Nothing that waits is said any more. */
  end(): void {
    this.#journal.end();
  }
}
