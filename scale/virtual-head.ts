/**
 * Runs a head under virtual nodes, all in this process, for clusters that no machine here could run. Measures the cost of each event for
 * the head, and the memory of each node in it.
 *
 * The head is the real one with its server, journal and links, over a store in memory; the nodes are fake daemons at the other end of
 * connections that are queues. The time spent on the nodes' side is measured and subtracted. Counts of messages do not depend on the
 * machine: the tests hold those.
 */
import { type ActorId, newNodeId, newProcessId } from "../src/runtime/base/ids.ts";
import { HeadServer } from "../src/runtime/head/nodes/head-server.ts";
import { KeptHead } from "../src/runtime/head/tables/kept-head.ts";
import { claimLeadership, type Leadership } from "../src/runtime/head/leadership/leadership.ts";
import { MemoryStore } from "../src/runtime/control-plane/memory-store.ts";
import { KeyTable } from "../src/runtime/control-plane/key-table.ts";
import { collectGarbage } from "../src/runtime/os/engine/garbage.ts";
import { randomHex } from "../src/runtime/os/random.ts";
import type { Transport } from "../src/runtime/os/network/transport.ts";
import { MESSAGE } from "../src/runtime/wire/messages.ts";
import { FakeDaemon } from "./fake-daemon.ts";
import type { Row } from "./report.ts";

/** Questions in each part of a run, spread over the nodes. */
const EVENTS = 2_000;
const ACTORS = 1_000;
const QUIET_MS = 400;
/** Links ask each second or two whether they are up. */
const REST_MS = 2_500;
const ACKNOWLEDGEMENT_BYTES = 15;
const TOKEN = "token of the scale run";

interface HeadCurvePoint {
  readonly nodes: number;
  readonly megabytesPerNode: number;
  /** Time that the head spends in a second without events: links check that they are up. */
  readonly atRestUsPerSecond: number;
  /** Time of the head, and messages to nodes, for each event. */
  readonly events: Readonly<Record<string, { readonly us: number; readonly messages: number }>>;
}

export async function headCurvePoint(count: number): Promise<HeadCurvePoint> {
  const world = new VirtualCluster();
  const server = await world.start();
  const nodes = Array.from({ length: count }, () => world.newNode(server));
  const before = heapMegabytes();
  const events: Record<string, { us: number; messages: number }> = {};
  const measure = async (name: string, times: number, act: (index: number) => void): Promise<void> => {
    events[name] = await world.cost(times, () => {
      for (let index = 0; index < times; index += 1) act(index);
    });
  };
  const any = (index: number): FakeDaemon => nodes[(index * 7919) % nodes.length] as FakeDaemon;
  let joined = 0;
  await measure("registration", count, (index) => void nodes[index]?.join().then(() => (joined += 1)));
  if (joined !== count) throw new Error(`${joined} of ${count} nodes were taken in`);
  const megabytesPerNode = (heapMegabytes() - before) / count;
  await world.rest();
  await measure("heartbeat", EVENTS, (index) => any(index).beat());
  await measure("report", EVENTS, (index) => any(index).report());
  await measure("lease", EVENTS, (index) => {
    void any(index)
      .wantLeases("CPU:10000", 1)
      .then((answer) => {
        if (answer.kind === "nodes") for (const { nodeId, placement } of answer.nodes) world.byId.get(nodeId)?.settle(placement);
      });
  });
  let alive = 0;
  const name = (index: number): string => `actor ${index}`;
  await measure("actor", ACTORS, (index) => {
    void any(index)
      .createActor(randomHex(16) as ActorId, { name: name(index) })
      .then(() => (alive += 1));
  });
  if (alive !== ACTORS) throw new Error(`${alive} of ${ACTORS} actors live`);
  await measure("lookup", EVENTS, (index) => void any(index).ask(MESSAGE.ACTOR_LOOKUP, { name: name(index % ACTORS), namespace: "scale" }));
  await measure("process end", EVENTS, (index) => any(index).endProcess(newProcessId(randomHex, any(index).nodeId)));
  const dying = nodes.slice(0, Math.max(1, Math.floor(count / 10)));
  await measure("node's end", dying.length, (index) => (dying[index] as FakeDaemon).leave());
  for (const node of nodes) node.kill();
  server.close("the run is over");
  return { nodes: count, megabytesPerNode, atRestUsPerSecond: world.restUsPerMs * 1000, events };
}

/** A line for each size: microseconds of the head for an event, and messages to nodes in brackets. */
export function rowOf({ nodes, megabytesPerNode, atRestUsPerSecond, events }: HeadCurvePoint): Row {
  const cells = Object.entries(events).map(([name, { us, messages }]) => [name, `${us.toFixed(0)} (${messages.toFixed(1)})`]);
  return { nodes, "KB/node": Math.round(megabytesPerNode * 1000), "at rest, ms/s": atRestUsPerSecond / 1000, ...Object.fromEntries(cells) };
}

class VirtualCluster {
  readonly byId = new Map<string, FakeDaemon>();
  readonly #toHead: (() => void)[] = [];
  readonly #toNodes: (() => void)[] = [];
  /** Whether anything but acknowledgements is on its way, or has just arrived. */
  #isSaid = false;
  #nodesSpentUs = 0;
  /** Subtracted from later measurements. */
  restUsPerMs = 0;

  async start(): Promise<HeadServer> {
    const store = new MemoryStore(new KeyTable());
    const leadership = (await claimLeadership(store, { id: "head" })) as Leadership;
    const onLost = (error: Error): void => {
      throw error;
    };
    const kept = await KeptHead.open({ store, leadership, nowMs: () => performance.now(), onLost });
    const nodeId = newNodeId(randomHex);
    return new HeadServer({
      kept,
      self: { nodeId, processId: newProcessId(randomHex, nodeId), incarnation: "1" },
      token: TOKEN,
      isConnected: () => true,
      mayAnswer: () => true,
      refuses: () => Promise.resolve(undefined),
      // Time stands still, so that no node seems silent: else the heartbeats of ten thousand nodes would be measured with each event.
      nowMs: () => 0,
    });
  }

  newNode(server: HeadServer): FakeDaemon {
    const connect = (): Promise<Transport> => {
      const onSaid = (): void => {
        this.#isSaid = true;
      };
      const near = new QueuedTransport(this.#toHead, onSaid);
      const far = new QueuedTransport(this.#toNodes, onSaid);
      near.peer = far;
      far.peer = near;
      server.accept(far);
      return Promise.resolve(near);
    };
    const node = new FakeDaemon({ token: TOKEN, connect, numCpus: 4_000, isDeaf: true, isStill: true });
    this.byId.set(node.nodeId, node);
    return node;
  }

  async rest(): Promise<void> {
    const times = 1_000;
    const beganMs = performance.now();
    const { us } = await this.cost(times, () => {}, REST_MS);
    this.restUsPerMs = (us * times) / (performance.now() - beganMs);
  }

  /** Returns the time that the head spends until no message is on its way any more. */
  async cost(times: number, act: () => void, quietMs: number = QUIET_MS): Promise<{ us: number; messages: number }> {
    const beganMs = performance.now();
    const framesBefore = this.#frames();
    const beganUs = spentUs();
    this.#nodesSpentUs = 0;
    await this.#asNodes(act);
    // Reports and broadcasts are gathered for up to a quarter of a second.
    for (let saidMs = performance.now(); performance.now() - saidMs < quietMs; ) {
      this.#isSaid = false;
      const isQuiet = this.#toHead.length + this.#toNodes.length === 0;
      for (const deliver of this.#toHead.splice(0)) deliver();
      await turn();
      const deliveries = this.#toNodes.splice(0);
      await this.#asNodes(() => {
        for (const deliver of deliveries) deliver();
      });
      if (this.#isSaid) saidMs = performance.now();
      if (isQuiet) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const restUs = this.restUsPerMs * (performance.now() - beganMs);
    return {
      us: Math.max(0, spentUs() - beganUs - this.#nodesSpentUs - restUs) / times,
      messages: (this.#frames() - framesBefore) / times,
    };
  }

  #frames(): number {
    let frames = 0;
    for (const { heard } of this.byId.values()) frames += heard.frames;
    return frames;
  }

  async #asNodes(act: () => void): Promise<void> {
    const beganUs = spentUs();
    act();
    await turn();
    this.#nodesSpentUs += spentUs() - beganUs;
  }
}

/** A transport whose chunks wait in a queue until the world delivers them. */
class QueuedTransport implements Transport {
  readonly channel = "test";
  onChunk: (chunk: Buffer) => void = () => {};
  onClose: (reason: string, isWhole: boolean) => void = () => {};
  onDrain: () => void = () => {};
  readonly pendingBytes = 0;
  peer!: QueuedTransport;
  readonly #queue: (() => void)[];
  readonly #onSaid: () => void;
  #isClosed = false;

  constructor(queue: (() => void)[], onSaid: () => void) {
    this.#queue = queue;
    this.#onSaid = onSaid;
  }

  write(chunk: Uint8Array): void {
    const { peer } = this;
    const isSaid = chunk.byteLength > ACKNOWLEDGEMENT_BYTES;
    if (isSaid) this.#onSaid();
    this.#queue.push(() => {
      if (isSaid) this.#onSaid();
      if (!peer.#isClosed) peer.onChunk(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    });
  }

  end(): void {
    this.#queue.push(() => this.destroy());
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onClose("the connection was closed", true);
    const { peer } = this;
    this.#queue.push(() => peer.destroy());
  }

  setKeepsProcessAlive(): void {}
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function spentUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function heapMegabytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1e6;
}
