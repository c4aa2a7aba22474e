/** A head that has taken over, while nodes of the one before it are still on their way. */
import { describe, expect, test } from "vitest";
import type { ActorId, NodeId, ProcessId } from "../../base/ids.ts";
import { resourceVector } from "../../base/resources.ts";
import type { HeadPeer, NodeServices } from "../../rpc/head-service.ts";
import { leaseKey, type LeasePlace } from "../../scheduling/lease-spec.ts";
import type { NodeInfoHeader } from "../../wire/cluster/cluster-messages.ts";
import { type ActorCreateHeader, MESSAGE, type PayloadHeader } from "../../wire/messages.ts";
import type { StoreEntry, StoreWrite } from "../../control-plane/control-store.ts";
import { UNRECORDED_NODES_COME_WITHIN_MS } from "../limits.ts";
import type { Journal } from "./journal.ts";
import { KeptHead } from "./kept-head.ts";
import { RecordedTables } from "./recorded-tables.ts";

const args: PayloadHeader = { inBand: 0, buffers: [], graph: false, error: false, definitions: [], refs: [], stored: undefined };
const NOTHING = new Uint8Array();

/** A node with the commands that it received. */
function nodeCalled(letter: string) {
  const nodeId = letter.repeat(32) as NodeId;
  const process = (kind: string) => `${letter.repeat(16)}${kind.repeat(16)}` as ProcessId;
  const daemonId = process("d");
  const driver = process("e");
  const told: unknown[][] = [];
  const tell =
    (name: string) =>
    (...with_: unknown[]) => {
      told.push([name, ...with_]);
    };
  const connection = {
    send: (type: number, header: unknown) => told.push(["send", type, header]),
    reply: (callId: number, header: unknown) => told.push(["reply", callId, header]),
    replyError: (callId: number, error: Error) => told.push(["replyError", callId, error.message]),
  };
  const peer = (id: ProcessId): HeadPeer => ({ id, holderId: id, connection }) as unknown as HeadPeer;
  const amounts = new Map([["CPU", 40_000]]);
  const info: NodeInfoHeader = {
    nodeId,
    daemonId,
    hostname: "",
    address: "",
    resources: { CPU: 4 },
    labels: {},
    objectStoreMemoryBytes: 0,
    alive: true,
  };
  const named = ["hold", "release", "endActor", "warn", "placeActor", "actorGone", "tellAll", "processGone", "releaseGroup", "commitGroup"];
  const services = {
    nodeId,
    daemonId,
    info,
    peer,
    view: () => ({ id: nodeId, labels: {}, total: amounts, free: amounts }),
    ...Object.fromEntries(named.map((name) => [name, tell(name)])),
  } as unknown as NodeServices;
  const digest = (heads: number) => ({ nodeId, heads, processes: [daemonId, driver], actors: [], bundles: [] });
  const take = (...names: string[]): unknown[] => told.splice(0).flatMap((one) => (names.includes(one[0] as string) ? [one] : []));
  return { nodeId, driver, daemonId, info, services, digest, take, peer: peer(driver) };
}

/** A head that takes over from an earlier one with these nodes, after `before`. */
function headAfter(nodes: readonly ReturnType<typeof nodeCalled>[], before: (tables: RecordedTables) => void = () => {}) {
  const tables = new RecordedTables();
  const kept = tables.restore([]);
  before(tables);
  const records = nodes.map(({ nodeId, info }) => ({ nodeId, state: "alive" as const, incarnation: "1", info, reason: undefined }));
  const stored = new Map<string, StoreEntry>();
  const after = (writes: readonly StoreWrite[], run: () => void): void => {
    for (const { key, value } of writes) if (value !== undefined) stored.set(key, { key, value, revision: 1 });
    run();
  };
  const journal = { after, end: () => {} } as unknown as Journal;
  const clock = { nowMs: 0 };
  const head = new KeptHead({ journal, tables, kept: { ...kept, nodes: records }, nowMs: () => clock.nowMs });
  const register = (node: ReturnType<typeof nodeCalled>, heads = 2): void =>
    head.addNode(node.services, node.digest(heads), { incarnation: "1", info: node.info });
  const ask = (from: ReturnType<typeof nodeCalled>, type: number, header: unknown): void => {
    const peer = head.peer(from.nodeId, from.driver) as HeadPeer;
    head.run(() => head.head.receive(peer, { type, callId: 7, flags: 0, body: NOTHING }, header));
  };
  return { head, register, ask, clock, stored };
}

function creationOf(number: number, place: LeasePlace = {}): ActorCreateHeader {
  return {
    actorId: `${number}`.padStart(32, "c") as ActorId,
    definition: "d",
    args,
    deps: [],
    options: {
      name: `actor${number}`,
      namespace: "n",
      getIfExists: false,
      resources: {},
      shape: leaseKey(resourceVector({}), place),
      group: undefined,
      maxRestarts: 0,
      isDetached: false,
      interface: {
        className: "C",
        methods: {},
        groups: { default: 1 },
        maxTaskRetries: 0,
        maxPendingCalls: -1,
        allowOutOfOrderExecution: false,
      },
    },
  };
}

const a = nodeCalled("a");
const b = nodeCalled("b");
const onB = { node: { id: b.nodeId, soft: false } };
const takeAll = (): void => [a, b].forEach(({ take }) => take());

describe("an actor that has to be on a node that has not come", () => {
  const { actorId } = creationOf(1);

  test("is placed there once it comes, whether it was created before or after the head took over", () => {
    takeAll();
    const { register, ask } = headAfter([a, b], (tables) => {
      const { definition, options } = creationOf(2, onB);
      const spec = { definition, args, deps: [], body: NOTHING };
      tables.actors.handle({ kind: "create", id: creationOf(2).actorId, creator: a.driver, options, spec });
    });
    register(a);
    ask(a, MESSAGE.ACTOR_CREATE, creationOf(1, onB));
    expect(a.take("send", "placeActor")).toEqual([]);
    register(b);
    expect(b.take("placeActor").map((told) => (told as unknown[])[1])).toEqual([creationOf(2).actorId, actorId]);
    expect(a.take("send")).toEqual([]);
  });

  test("is refused once that is found dead", () => {
    takeAll();
    const { head, register, ask } = headAfter([a, b]);
    register(a);
    ask(a, MESSAGE.ACTOR_CREATE, creationOf(1, onB));
    takeAll();
    head.nodeGone(b.nodeId, { reason: "it was killed", goneMs: 0 });
    const dead = { actorId, phase: "dead", refusal: { code: "unschedulable" } };
    expect(a.take("send")).toMatchObject([["send", MESSAGE.ACTOR_STATE, dead]]);
  });

  test("is refused at once where no earlier head had such a node, and none had lost its tables", () => {
    takeAll();
    const { register, ask } = headAfter([]);
    register(a, 1);
    ask(a, MESSAGE.ACTOR_CREATE, creationOf(1, onB));
    expect(a.take("send")).toMatchObject([["send", MESSAGE.ACTOR_STATE, { actorId, phase: "dead" }]]);
  });

  test("waits without tables for as long as nodes of the earlier head may take to come", () => {
    takeAll();
    const { register, ask, clock } = headAfter([]);
    register(a);
    ask(a, MESSAGE.ACTOR_CREATE, creationOf(1, onB));
    expect(a.take("send")).toEqual([]);
    register(b);
    expect(b.take("placeActor").map((told) => (told as unknown[])[1])).toEqual([actorId]);
    clock.nowMs = UNRECORDED_NODES_COME_WITHIN_MS;
    ask(a, MESSAGE.ACTOR_CREATE, creationOf(3, { node: { id: "9".repeat(32), soft: false } }));
    expect(a.take("send")).toMatchObject([["send", MESSAGE.ACTOR_STATE, { phase: "dead" }]]);
  });
});

test("a handle that is found before the node that counts the handles has come is counted there once it comes", () => {
  takeAll();
  const { definition, options, actorId } = creationOf(1);
  const { register, ask } = headAfter([a, b], (tables) => {
    const spec = { definition, args, deps: [], body: NOTHING };
    tables.actors.handle({ kind: "create", id: actorId, creator: b.driver, options, spec });
  });
  register(a);
  takeAll();
  ask(a, MESSAGE.ACTOR_LOOKUP, { name: "actor1", namespace: "n" });
  expect(a.take("reply")).toMatchObject([["reply", 7, { actorId, owner: b.daemonId }]]);
  expect(b.take("hold")).toEqual([]);
  register(b);
  expect(b.take("hold")).toMatchObject([["hold", { owner: b.daemonId }, a.driver]]);
});

test("a restart that is asked for before the actor's node has come is begun once it comes", () => {
  takeAll();
  const { definition, options, actorId } = creationOf(1);
  const worker = { id: `${"b".repeat(16)}${"f".repeat(16)}` as ProcessId, pid: 1, address: "", remoteAddress: "" };
  const { register, ask } = headAfter([a, b], (tables) => {
    const spec = { definition, args, deps: [], body: NOTHING };
    tables.actors.handle({ kind: "create", id: actorId, creator: a.driver, options: { ...options, maxRestarts: 1 }, spec });
    tables.actors.handle({ kind: "placed", id: actorId, worker: { ...worker, holderId: worker.id } });
  });
  register(a);
  ask(a, MESSAGE.ACTOR_KILL, { actorId, restart: true });
  register(b);
  expect(b.take("endActor")).toMatchObject([["endActor", worker.id, { afterPending: false }]]);
});

test("a node that is drained is known to be so by the next head before it has come there", () => {
  takeAll();
  const { head, register, stored } = headAfter([a, b]);
  for (const node of [a, b]) register(node);
  head.nodeDrains(b.nodeId);
  // A suspicion leaves it as it is.
  head.nodeState(b.nodeId, "suspect", () => {});
  const { nodes } = new RecordedTables().restore(Array.from(stored.values()));
  const drained = new Map(nodes.map(({ nodeId, state, isDraining }) => [nodeId, [state, isDraining]]));
  expect(drained).toEqual(
    new Map([
      [a.nodeId, ["alive", undefined]],
      [b.nodeId, ["suspect", true]],
    ]),
  );
});
