/**
 * A head whose state outlives it: the head, its recorded tables, the journal that keeps them, and the gate that holds back output until it is committed.
 *
 * Lasts for one term of a leader. Messages of nodes pass through `run`. `addNode` adds a node and completes work that an earlier leader
 * left unfinished there. Used by the head's server; `open` reads the tables.
 */
import { type ActorId, type NodeId, type NodeTag, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import type { HeadPeer, NodeServices } from "../../rpc/head-service.ts";
import type { NodeDigestHeader, NodeInfoHeader } from "../../wire/cluster/cluster-messages.ts";
import type { Extension } from "../../extension/extension.ts";
import { Head } from "../head.ts";
import type { HeadHistory } from "../head-history.ts";
import { UNRECORDED_NODES_COME_WITHIN_MS } from "../limits.ts";
import type { Stall } from "../nodes/stall-watch.ts";
import { ExpectedNode } from "../nodes/expected-node.ts";
import { HEAD_PREFIX, type HeadTables, type NodeRecord } from "./head-records.ts";
import { Journal } from "./journal.ts";
import type { Leadership } from "../leadership/leadership.ts";
import { OutputGate } from "./output-gate.ts";
import { RecordedTables } from "./recorded-tables.ts";
import { actorsOfDigests, groupsOfDigest, type NodeDigest, reconcile, unplaced } from "./recovery.ts";
import type { ControlStore } from "../../control-plane/control-store.ts";

/** Without a number of heads this is the first that it has registered with. */
type Registered = NodeDigest & Partial<Pick<NodeDigestHeader, "heads">>;
type NodeLife = Pick<NodeRecord, "incarnation" | "info">;

interface KeptHeadParts {
  readonly journal: Journal;
  readonly tables: RecordedTables;
  /** Contents of the tables when this term began. */
  readonly kept: HeadTables;
  readonly nowMs: () => number;
  readonly extensions?: readonly Extension[] | undefined;
  readonly history?: HeadHistory | undefined;
}

export class KeptHead {
  readonly head: Head;
  readonly tables: RecordedTables;
  /** Contents that an earlier head kept, with its nodes. */
  readonly kept: HeadTables;
  /** Tells all nodes at once that a process has ended. Without it they are told one by one. */
  onProcessGone: ((process: ProcessId) => void) | undefined;
  readonly #journal: Journal;
  readonly #gate: OutputGate;
  readonly #nodes = new Map<NodeId, NodeServices>();
  readonly #living = new Map<NodeId, NodeRecord>();
  /** Nodes of an earlier head that have not registered with this one. */
  readonly #expected = new Map<NodeId, ExpectedNode>();
  /** Processes of the nodes that have registered with this head, as of their registration. */
  readonly #processes = new Map<NodeTag, ReadonlySet<string>>();

  constructor({ journal, tables, kept, nowMs, extensions, history }: KeptHeadParts) {
    this.tables = tables;
    this.kept = kept;
    this.#journal = journal;
    this.#gate = new OutputGate({ journal, takeWrites: () => tables.takeWrites() });
    this.head = new Head({
      nowMs,
      isOfDriver: false,
      tables,
      tellProcessGone: (process) => this.#tellProcessGone(process),
      ...(extensions && { extensions }),
      history,
      run: (body) => this.run(body),
    });
    for (const record of kept.nodes) if (record.state !== "dead") this.#living.set(record.nodeId, record);
    // Expects the nodes before anything is placed, so that demands bound to one of them wait for it.
    for (const { info } of this.#living.values()) if (info !== undefined) this.#expect(info);
    this.run(() => {
      for (const step of unplaced(tables.actors)) this.head.recover(step);
    });
  }

  /** @param options.onLost called when this head has lost its leadership: no later output leaves */
  static async open(options: {
    store: ControlStore;
    leadership: Leadership;
    nowMs: () => number;
    extensions?: readonly Extension[];
    history?: HeadHistory | undefined;
    onLost: (error: Error) => void;
  }): Promise<KeptHead> {
    const { store, leadership, nowMs, extensions, history, onLost } = options;
    const tables = new RecordedTables();
    const kept = tables.restore(await store.list(HEAD_PREFIX));
    const journal = new Journal({ commit: (writes) => leadership.commit(writes), onLost, nowMs });
    return new KeptHead({ journal, tables, kept, nowMs, extensions, history });
  }

  /** Since when the store takes no changes, and why. */
  get stall(): Stall | undefined {
    return this.#journal.stall;
  }

  /** Runs one event. @param then runs when its changes are committed */
  run<T>(body: () => T, then?: () => void): T {
    return this.#gate.run(body, then);
  }

  #expect(info: NodeInfoHeader): void {
    const expected = new ExpectedNode(info);
    this.#expected.set(info.nodeId, expected);
    this.head.expectNode(this.#gate.node(expected));
  }

  /** A node that has registered with this head for the first time in its present life. */
  addNode(node: NodeServices, digest: Registered, life: NodeLife): void {
    const record: NodeRecord = { nodeId: node.nodeId, state: "alive", reason: undefined, ...life };
    // Every node with actors was registered before. If the tables lack it, they are not those of the head that placed the actors.
    const hasLostTables = !this.#living.has(node.nodeId);
    this.#living.set(node.nodeId, record);
    const gated = this.#gate.node(node);
    this.#nodes.set(node.nodeId, gated);
    this.#processes.set(nodeTagOf(node.nodeId), new Set(digest.processes));
    const expected = this.#expected.get(node.nodeId);
    this.#expected.delete(node.nodeId);
    this.run(() => {
      // The node has met earlier heads, whose tables are lost: other nodes have, too, and are on their way.
      if (hasLostTables && (digest.heads ?? 1) > 1) this.head.expectUnrecordedNodes(UNRECORDED_NODES_COME_WITHIN_MS);
      for (const environment of digest.environments ?? []) this.tables.environments.described(environment);
      if (hasLostTables) this.tables.adopt(actorsOfDigests([digest]));
      this.tables.node(record);
      this.head.addNode(gated);
      if (expected !== undefined) this.#gate.after(() => expected.came(node));
      const found = hasLostTables ? this.tables.adoptGroups(groupsOfDigest(digest, (owner) => this.#hasEnded(owner))) : [];
      for (const group of found) this.head.recover({ kind: "group", group, notWithinMs: UNRECORDED_NODES_COME_WITHIN_MS });
      this.head.nodeHolds(node.nodeId, digest.bundles);
      const ofGroups = Array.from(this.tables.groups.all()).flatMap(({ owner }) => (owner === undefined ? [] : [owner as ProcessId]));
      const owners = [...ofGroups, ...this.tables.values.programs(nodeTagOf(node.nodeId))];
      for (const step of reconcile(digest, { actors: this.tables.actors, owners })) this.head.recover(step);
    });
  }

  /** Whether a process had ended when its node registered. */
  #hasEnded(process: ProcessId | ActorId): boolean {
    return this.#processes.get(nodeTagOf(process))?.has(process) === false;
  }

  /**
   * Declares a node dead, even one that this head has never met. @param then runs when that is committed, so that other nodes hear only of
   * committed deaths
   */
  nodeGone(nodeId: NodeId, { reason, goneMs }: { reason: string; goneMs: number }, then?: () => void): void {
    const record = this.#living.get(nodeId);
    this.#living.delete(nodeId);
    this.#nodes.delete(nodeId);
    this.#expected.delete(nodeId);
    this.run(() => {
      if (record !== undefined) this.tables.node({ ...record, state: "dead", reason, goneMs });
      this.head.nodeGone(nodeId, reason);
    }, then);
  }

  /** Marks a node as suspected, or clears the suspicion. @param then runs when that is committed */
  nodeState(nodeId: NodeId, state: "alive" | "suspect", then: () => void): void {
    const record = this.#living.get(nodeId);
    this.run(() => {
      if (record !== undefined && record.state !== state) {
        const changed = { ...record, state };
        this.#living.set(nodeId, changed);
        this.tables.node(changed);
      }
    }, then);
  }

  /** Records that a node drains. The node reports it to each head; the record is for the time before that. */
  nodeDrains(nodeId: NodeId): void {
    const record = this.#living.get(nodeId);
    if (record === undefined || record.isDraining === true) return;
    const changed = { ...record, isDraining: true };
    this.#living.set(nodeId, changed);
    this.run(() => this.tables.node(changed));
  }

  /** Nodes of an earlier head that have not registered with this one. */
  get missing(): NodeRecord[] {
    return Array.from(this.#living.values()).filter(({ nodeId }) => !this.#nodes.has(nodeId));
  }

  /** Stand-ins for nodes of an earlier head that have not registered yet. */
  get expected(): ExpectedNode[] {
    return Array.from(this.#expected.values());
  }

  /** A process of a node, as this head may speak to it. */
  peer(nodeId: NodeId, id: ProcessId): HeadPeer | undefined {
    return this.#nodes.get(nodeId)?.peer(id);
  }

  #tellProcessGone(process: ProcessId): void {
    const { onProcessGone } = this;
    if (onProcessGone !== undefined) this.#gate.after(() => onProcessGone(process));
    else for (const node of this.#nodes.values()) node.processGone(process);
  }

  /** Drops waiting output. */
  end(): void {
    this.head.close();
    this.#journal.end();
  }
}
