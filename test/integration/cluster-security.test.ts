/**
 * A cluster whose processes speak TLS with each other, and what attacks do to it while it runs: each ends its own connection, and the cluster works afterwards.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ActorHandle, actors, get, init, nodes, put, ready, remote, shutdown } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { AuthenticationError } from "../../src/runtime/base/errors.ts";
import type { JobId, NodeId, ProcessId } from "../../src/runtime/base/ids.ts";
import { joinCluster } from "../../src/runtime/node/membership/joining/join.ts";
import { TransferLink } from "../../src/runtime/objects/transfer/transfer-link.ts";
import { certifyNode, newAuthority, newNodeKey } from "../../src/runtime/os/network/certificates.ts";
import { connect } from "../../src/runtime/os/network/endpoint.ts";
import { readNodeFiles } from "../../src/runtime/os/files/clusters/node-file.ts";
import { randomHex } from "../../src/runtime/os/random.ts";
import { forgetTlsIdentity, setTlsIdentity, type TlsIdentity, tlsIdentity } from "../../src/runtime/os/network/tls-identity.ts";
import type { Transport } from "../../src/runtime/os/network/transport.ts";
import { Connection } from "../../src/runtime/rpc/connection.ts";
import { connectPeer, proveTo } from "../../src/runtime/rpc/handshake.ts";
import { formatJoinToken, parseJoinToken } from "../../src/runtime/rpc/join-token.ts";
import { NodeLink } from "../../src/runtime/rpc/node-link.ts";
import type { JoinTokensHeader, JoinTokensReply, NodeInfoHeader, RoutedHeader } from "../../src/runtime/wire/cluster/cluster-messages.ts";
import type { Frame } from "../../src/runtime/wire/frame.ts";
import { decodeHeader } from "../../src/runtime/wire/header.ts";
import { type ActorStateHeader, type HelloHeader, MESSAGE, PROTOCOL_VERSION } from "../../src/runtime/wire/messages.ts";
import { driverRuntime, until } from "./session.ts";

const LINES: string[] = [];

class Counter {
  #count = 0;
  increment(): number {
    this.#count += 1;
    return this.#count;
  }
  make(): { ref: PromiseLike<string> } {
    return { ref: put("made elsewhere") };
  }
  sum(bytes: Uint8Array): number {
    let sum = 0;
    for (const byte of bytes) sum += byte;
    return sum;
  }
  large(size: number): Uint8Array {
    return new Uint8Array(size).fill(7);
  }
}

let cluster: TestCluster;
let program: string;
let second: TestNode;
const at = (node: TestNode): { schedulingStrategy: { nodeId: string; soft: boolean } } => ({
  schedulingStrategy: { nodeId: node.nodeId, soft: false },
});

beforeAll(async () => {
  program = mkdtempSync(join(tmpdir(), "shoal-program-"));
  cluster = await TestCluster.start({ head: { numCpus: 1 }, tls: true, onLine: (line) => void LINES.push(line) });
  second = await cluster.addNode({ numCpus: 2 });
  const nodeId = newRogueId();
  const { identity, token } = await joinCluster({ address: cluster.address, joinToken: cluster.joinToken ?? "", nodeId });
  rogue = { nodeId, processId: processOf(nodeId), token, identity };
});
afterAll(async () => {
  await cluster.shutdown();
  rmSync(program, { recursive: true });
  // The processes print each attack, name no other node, and print nothing else.
  const others = LINES.filter((line) => !line.startsWith(`shoal: ended a connection of node ${rogue.nodeId}: `));
  if (others.length > 0) throw new Error(`the processes of the cluster printed:\n${others.join("\n")}`);
});
beforeEach(async () => {
  // A separate folder: the repository would be packed for the other nodes.
  await init({ address: cluster.address, runtimeEnv: { workingDir: program } });
});
afterEach(shutdown);

describe("with TLS between all processes", () => {
  test("tasks, actors, refs and large objects go between nodes", async () => {
    const counter = remote(Counter).options(at(second)).remote();
    await ready(counter);
    expect(await Promise.all([1, 2, 3].map(() => counter.increment.remote()))).toEqual([1, 2, 3]);
    const { ref } = await counter.make.remote();
    expect(await ref).toBe("made elsewhere");
    const bytes = new Uint8Array(3_000_000).fill(2);
    expect(await counter.sum.remote(put(bytes))).toBe(6_000_000);
    expect((await counter.large.remote(5_000_000)).length).toBe(5_000_000);
    expect(await get(Array.from({ length: 20 }, (_, index) => remote((x: number) => x + 1).remote(index)))).toHaveLength(20);
  });
});

async function works(): Promise<void> {
  const counter = remote(Counter).options(at(second)).remote();
  expect(await counter.increment.remote()).toBe(1);
  expect(await remote((x: number) => x + 1).remote(1)).toBe(2);
  expect((await nodes()).filter(({ alive, nodeId }) => alive && nodeId !== rogue.nodeId)).toHaveLength(2);
}

async function failureOf(attempt: Promise<unknown>): Promise<Error & { hint?: string }> {
  return await attempt.then(
    () => new Error("it did not fail"),
    (error: unknown) => error as Error,
  );
}

async function victimActor(): Promise<{ actor: ActorHandle<Counter>; actorId: string }> {
  const name = `victim-${randomHex(4)}`;
  const actor = remote(Counter)
    .options({ ...at(second), name })
    .remote();
  await ready(actor);
  return { actor, actorId: (await actors()).find((one) => one.name === name)?.actorId ?? "" };
}

async function joinTokens(asked: JoinTokensHeader): Promise<JoinTokensReply> {
  return (await driverRuntime().daemon.request(MESSAGE.JOIN_TOKENS, asked)).header;
}

describe("who is not of the cluster", () => {
  afterEach(works);

  test("without a certificate nobody gets in, with the cluster's token or without", async () => {
    const token = readNodeFiles().find(({ clusterAddress }) => clusterAddress === cluster.address)?.token ?? "";
    const address = (await listed())[0]?.address ?? "";
    const mine = hello({ nodeId: newRogueId() });
    for (const to of [cluster.address, address]) {
      // Plain TCP ends without a word.
      const own = tlsIdentity();
      forgetTlsIdentity();
      const plain = await failureOf(connectPeer(to, mine, { token }));
      if (own !== undefined) setTlsIdentity(own);
      expect(plain.message).toContain("closed before it had answered");
      // A client with TLS but no certificate learns that the certificate is missing.
      const stranger = await failureOf(connectPeer(to, mine, { token, authority: rogue.identity.ca }));
      expect(stranger.message).toContain("has no certificate of this cluster");
    }
  });

  test("with a certificate, but without the token, neither", async () => {
    const error = await failureOf(connectPeer(cluster.address, hello(rogue), { token: "wrong", identity: rogue.identity }));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.message).toContain("has not proven that it knows the session's token");
    // A caller that asks the head for no proof, and gives none.
    const caller = new Connection(await connect(cluster.address, { identity: rogue.identity }), { trusted: true });
    const { promise: dropped, resolve } = Promise.withResolvers<string>();
    caller.onClose = resolve;
    await caller.request(MESSAGE.OPEN, { version: PROTOCOL_VERSION, token: "", processId: processOf(rogue.nodeId), nonce: "0".repeat(64) });
    caller.send(MESSAGE.PROOF, "0".repeat(64));
    caller.send(MESSAGE.HELLO, hello(rogue), { callId: 7 });
    await dropped;
  });

  test("a certificate of another cluster is refused", async () => {
    const other = newAuthority({ nowMs: Date.now() });
    const { key, publicKey } = newNodeKey();
    const cert = certifyNode(other, { nodeId: rogue.nodeId, publicKey, nowMs: Date.now() });
    // The caller trusts the right authority: the cluster is the one that refuses.
    const identity = { ...rogue.identity, cert, key };
    for (const to of [cluster.address, ...(await listed()).map(({ address }) => address)]) {
      const error = await failureOf(connectPeer(to, hello(rogue), { token: rogue.token, identity }));
      expect(error.message).toContain("was not made by this cluster's authority");
    }
  });

  test("a join token that is wrong, expired or revoked joins nobody, and one that is good does", async () => {
    const joinWith = (joinToken: string): Promise<unknown> => joinCluster({ address: cluster.address, joinToken, nodeId: newRogueId() });
    const { authorityHash } = parseJoinToken(cluster.joinToken ?? "");
    expect((await failureOf(joinWith(formatJoinToken({ authorityHash, secret: "0".repeat(64) })))).message).toContain(
      "is not one of this cluster",
    );
    const brief = await joinTokens({ do: "new", ageMaxMs: 1 });
    const long = await joinTokens({ do: "new", ageMaxMs: 60_000 });
    if (brief.kind !== "new" || long.kind !== "new") throw new Error("no token was made");
    expect((await failureOf(joinWith(brief.joinToken))).message).toContain("it was good until");
    await joinWith(long.joinToken);
    expect(await joinTokens({ do: "revoke", id: long.id })).toEqual({ kind: "revoked", wasKnown: true });
    expect((await failureOf(joinWith(long.joinToken))).message).toContain("it was revoked");
  });
});

/** A machine of the cluster that somebody has taken over: it has a certificate, and says what it likes. */
interface Rogue {
  nodeId: NodeId;
  processId: ProcessId;
  token: string;
  identity: TlsIdentity;
}

let rogue: Rogue;
const links: NodeLink[] = [];
let lastTransport: Transport | undefined;

function newRogueId(): NodeId {
  return randomHex(16) as NodeId;
}

function hello({ nodeId }: { nodeId: NodeId }, changed: Partial<HelloHeader> = {}): HelloHeader {
  const processId = processOf(nodeId);
  const rest = { kind: "worker" as const, pid: 1, address: "", taskIdPrefix: "0".repeat(12), jobId: "0".repeat(8) as JobId };
  return { processId, holderId: processId, ...rest, ...changed };
}

function processOf(nodeId: string): ProcessId {
  return `${nodeId.slice(0, 16)}1111111111111111` as ProcessId;
}

async function listed(): Promise<NodeInfoHeader[]> {
  const { header } = await driverRuntime().daemon.request(MESSAGE.NODES, undefined);
  return (header as unknown as NodeInfoHeader[]).filter(({ alive, nodeId }) => alive && nodeId !== rogue.nodeId);
}

/** Makes a link that puts the reasons for its end into `ends`. */
function linkTo(
  address: string,
  peerNodeId: NodeId | undefined,
  onFrame: (frame: Frame) => void = () => {},
): { link: NodeLink; ends: string[] } {
  const { nodeId, processId, token, identity } = rogue;
  const ends: string[] = [];
  const link = new NodeLink({
    self: { nodeId, processId, incarnation: randomHex(8) },
    token,
    peerNodeId,
    connect: async () => {
      lastTransport = await connect(address, { identity, ...(peerNodeId === undefined ? { isHead: true } : { nodeId: peerNodeId }) });
      return lastTransport;
    },
    onFrame,
    onDown: ({ message }) => void ends.push(message),
  });
  links.push(link);
  return { link, ends };
}

describe("a node that has been taken over", () => {
  let head: ReturnType<typeof linkTo>;
  let beats: NodeJS.Timeout | undefined;
  const heard: RoutedHeader[] = [];

  beforeAll(async () => {
    head = linkTo(cluster.address, undefined, (frame) => {
      if (frame.type === MESSAGE.ROUTED) heard.push(decodeHeader(frame.header) as RoutedHeader);
    });
    await head.link.request(MESSAGE.NODE_REGISTER, registration(rogue.nodeId));
    // The head takes the node for a living one.
    beats = setInterval(() => head.link.request(MESSAGE.HEARTBEAT, undefined).catch(() => {}), 1_000);
  });
  afterAll(() => {
    clearInterval(beats);
    for (const link of links) link.close("the test is over");
  });
  afterEach(works);

  const registration = (nodeId: NodeId): unknown[] => {
    const facts = {
      version: PROTOCOL_VERSION,
      pid: 1,
      incarnation: "r1",
      nodeId,
      daemonId: processOf(nodeId),
      hostname: "rogue",
      address: "",
    };
    return [
      { ...facts, resources: {}, labels: {}, objectStoreMemoryBytes: 0 },
      { nodeId, sequence: 1, total: [], free: [], freeOfActors: [], settled: [] },
      { nodeId, heads: 1, processes: [], actors: [], bundles: [] },
    ];
  };

  /** Each ends the connection; the link makes another, over which the next one goes. */
  async function eachEnds({ link, ends }: { link: NodeLink; ends: string[] }, attacks: readonly (() => void)[]): Promise<void> {
    for (const [index, attack] of attacks.entries()) {
      const before = ends.length;
      await until(() => link.isUp, "the link to be up");
      attack();
      await until(() => ends.length > before, `attack ${index} to end the connection: ${String(attack)}`);
    }
  }

  test("does not get a link under another's name", async () => {
    for (const { nodeId, address } of await listed()) {
      const refused: Error[] = [];
      const link = new NodeLink({
        self: { nodeId: second.nodeId as NodeId, processId: processOf(second.nodeId), incarnation: "x" },
        token: rogue.token,
        connect: () => connect(nodeId === second.nodeId ? cluster.address : address, { identity: rogue.identity }),
        onFrame: () => {},
        onDown: (error) => refused.push(error),
      });
      link.open();
      await until(() => refused.length > 0, "the link to be refused");
      link.close("the test is over");
      expect(refused[0]?.message).toContain("the certificate is not that of the caller's node");
    }
    const asOther = hello({ nodeId: second.nodeId as NodeId });
    const error = await failureOf(connectPeer(cluster.address, asOther, { token: rogue.token, identity: rogue.identity }));
    expect(error.message).toContain("came with the certificate of node");
  });

  test("does not speak to the head for another node, its daemon or its workers", async () => {
    const victim = second.nodeId as NodeId;
    const { link } = head;
    const worker = processOf(victim);
    const exit = { workerId: worker, pid: 1, exitCode: 1, signal: undefined, lastOutput: [], reason: "so" };
    const { actor, actorId } = await victimActor();
    const event =
      (...header: unknown[]) =>
      () =>
        link.send(MESSAGE.HEAD_EVENT, header);
    const routed =
      (...header: unknown[]) =>
      () =>
        link.send(MESSAGE.ROUTED, header);
    await eachEnds(head, [
      () => void link.request(MESSAGE.NODE_REGISTER, registration(victim)).catch(() => {}),
      () => link.send(MESSAGE.NODE_REGISTER, [{ nodeId: rogue.nodeId }, {}]),
      () =>
        void link
          .request(MESSAGE.NODE_REGISTER, [
            ...registration(rogue.nodeId).slice(0, 2),
            { heads: 1, processes: [worker], actors: [], bundles: [] },
          ])
          .catch(() => {}),
      () => link.send(MESSAGE.NODE_REPORT, { nodeId: victim, total: 7, free: [] }),
      event("nodeGone", victim, "it is dead, I say"),
      event("constructor"),
      event("receive", {}, {}, {}),
      event("workerExited", worker, exit, { intended: false }),
      event("workerExited", processOf(rogue.nodeId), exit, { intended: false }),
      event("workerLeaves", worker, undefined),
      event("processGone", worker),
      event("groupReserved", "g", victim),
      event("placed", actorId, { id: worker, holderId: worker, pid: 1, address: "", remoteAddress: "" }, undefined),
      routed(worker, "", MESSAGE.ACTOR_KILL, 0, 0, { actorId, restart: false }),
      routed("head", "", MESSAGE.ACTOR_KILL, 0, 0, { actorId, restart: false }),
      () => link.send(MESSAGE.ROUTED, "no message"),
      () => link.send(250, []),
    ]);
    // A program of a node may have told it so: it is not believed, and that is all.
    event("unheld", actorId)();
    await until(() => link.unacknowledgedBytes === 0, "the head to have heard of it");
    expect(await actor.increment.remote()).toBe(1);
  });

  test("does not stop the head with what is malformed", async () => {
    const { link } = head;
    const mine = rogue.processId;
    const options = { namespace: "", getIfExists: false, resources: {}, shape: "CPU:x", maxRestarts: 0, isDetached: true };
    const payload = { inBand: 0, buffers: [], graph: false, error: false, definitions: [], refs: [] };
    const face = { className: "C", methods: {}, groups: {} };
    const create = { actorId: "1".repeat(32), definition: "d", args: payload, deps: [], options: { ...options, interface: face } };
    const routed = (type: number, header: unknown) => () => link.send(MESSAGE.ROUTED, [mine, "", type, 0, 0, header]);
    const raw =
      (...bytes: number[]) =>
      () =>
        lastTransport?.write(Uint8Array.of(...bytes));
    await eachEnds(head, [
      routed(MESSAGE.ACTOR_CREATE, create),
      routed(MESSAGE.ACTOR_CREATE, null),
      routed(MESSAGE.ACTOR_LOOKUP, null),
      routed(MESSAGE.GROUP_CREATE, { id: "g", strategy: "ANY", bundles: [], labels: [], namespace: "", isDetached: false }),
      routed(MESSAGE.WAITS, { began: 7, ended: [] }),
      // A frame of 4 GB, one that is shorter than its own head, one whose header is longer than it, one whose header is no MessagePack.
      raw(0xff, 0xff, 0xff, 0xff),
      raw(1, 0, 0, 0, 0, 0),
      raw(10, 0, 0, 0, 120, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff),
      raw(15, 0, 0, 0, 120, 1, 0, 0, 0, 0, 5, 0, 0, 0, 0xc1, 0xc1, 0xc1, 0xc1, 0xc1),
    ]);
  });

  test("does not stop the head or a daemon with messages of any number and any form", async () => {
    const headers = [null, 7, "text", [], {}, [[[]]], { id: 1 }, [1, 2, 3], [null, null, null]];
    const { address, nodeId, daemonId } = (await listed()).find((node) => node.nodeId === second.nodeId) as NodeInfoHeader;
    const daemon = linkTo(address, nodeId);
    let sent = 0;
    for (const type of Object.values(MESSAGE)) {
      if (type === MESSAGE.REPLY || type === MESSAGE.LINK_ACK) continue;
      for (const { link } of [head, daemon]) {
        for (const to of link === daemon.link ? ["", daemonId] : [""]) {
          const header = headers[sent % headers.length];
          link.send(MESSAGE.ROUTED, [rogue.processId, to, type, 0, 0, header]);
          sent += 1;
        }
        if (type !== MESSAGE.ROUTED && type !== MESSAGE.CERTIFICATE_RENEW) link.send(type, headers[sent % headers.length]);
      }
    }
    // Each ends a connection, and the next is made after a pause: some hundred in all.
    const isHandled = (): boolean => head.link.unacknowledgedBytes === 0 && daemon.link.unacknowledgedBytes === 0;
    await until(isHandled, "all of it to be handled", { withinMs: 150_000 });
    expect(head.ends.length).toBeGreaterThan(20);
    expect(daemon.ends.length).toBeGreaterThan(20);
  }, 180_000);

  test("does not speak to a daemon for others, nor as the head, nor as a process of the daemon's own", async () => {
    const known = await listed();
    const target = known.find(({ nodeId }) => nodeId === second.nodeId) as NodeInfoHeader;
    const other = known.find(({ nodeId }) => nodeId !== second.nodeId) as NodeInfoHeader;
    const daemon = linkTo(target.address, target.nodeId);
    daemon.link.open();
    const { link } = daemon;
    const mine = rogue.processId;
    const exit = { workerId: processOf(other.nodeId), pid: 1, exitCode: 1, signal: undefined, lastOutput: [], reason: "so" };
    const send = (from: string, to: string, type: number, header: unknown) => () =>
      link.send(MESSAGE.ROUTED, [from, to, type, 0, 0, header]);
    const outside = ["../../../etc/passwd", 0, 10, "memory"];
    await eachEnds(daemon, [
      send(other.daemonId, "", MESSAGE.LOG, { pid: 1, source: "x", stream: "stdout", lines: ["x"] }),
      send(target.daemonId, "", MESSAGE.LOG, { pid: 1, source: "x", stream: "stdout", lines: ["x"] }),
      send("head", processOf(target.nodeId), MESSAGE.ACTOR_STATE, {}),
      send(mine, "", MESSAGE.WORKER_EXITED, exit),
      send(mine, "", MESSAGE.WORKER_EXIT, { ending: "exited", reason: "so" }),
      send(mine, "", MESSAGE.SHUTDOWN, undefined),
      send(mine, "", MESSAGE.STORE_ARENA, ["../x", 1]),
      send(mine, "", MESSAGE.STORE_FREED, [[outside, false]]),
      send(mine, "", MESSAGE.STORE_ADOPT, [outside, mine]),
      send(mine, "", MESSAGE.STORE_ADOPT, [["a".repeat(28), 0, 10, "memory"], other.daemonId]),
      send(mine, "", MESSAGE.ARENA_LOST, outside),
      send(mine, processOf(target.nodeId), MESSAGE.ACTOR_STATE, {}),
      send(mine, processOf(target.nodeId), MESSAGE.CERTIFICATE, rogue.identity),
      send(mine, processOf(target.nodeId), MESSAGE.LEASE_GRANT, {
        leaseId: 1,
        shape: "CPU:10000",
        workerId: processOf(other.nodeId),
        address: "",
        pid: 1,
      }),
      () => link.send(MESSAGE.NODE_COMMAND, ["nodesChanged", [{ ...other, alive: false, reason: "so" }]]),
      () => link.send(MESSAGE.HEAD_EVENT, ["processGone", mine]),
    ]);
  });

  test("does not read files of a node by what it calls an object", async () => {
    const target = (await listed()).find(({ nodeId }) => nodeId === second.nodeId) as NodeInfoHeader;
    for (const arena of ["../../../etc/passwd", "/etc/passwd", `${target.nodeId.slice(0, 16)}/../../etc/passwd`]) {
      const transport = await connect(target.address, { identity: rogue.identity, nodeId: target.nodeId });
      await proveTo(transport, { token: rogue.token, processId: rogue.processId, action: "fetch" });
      await new Connection(transport, { trusted: true }).request(MESSAGE.HELLO, hello(rogue, { kind: "transfer" }));
      const ends: string[] = [];
      let bytes = 0;
      const link = new TransferLink(transport, {
        onMessage: () => {},
        onChunkBytes: (_head, _offset, chunk) => void (bytes += chunk.length),
        onChunkEnd: () => {},
        onDrain: () => {},
        onClose: (reason) => void ends.push(reason),
      });
      link.send(MESSAGE.TRANSFER_OPEN, 1, { key: ["1".repeat(40), [arena, 0, 16, "memory"]], avoid: [], checks: false });
      await until(() => ends.length > 0, "the transfer to be ended");
      expect(bytes).toBe(0);
    }
  });

  test("does not stop a worker with messages of any number and any form", async () => {
    const { actor, actorId } = await victimActor();
    head.link.send(MESSAGE.ROUTED, [rogue.processId, "", MESSAGE.ACTOR_WATCH, 0, 0, actorId]);
    const stateOf = (): ActorStateHeader | undefined =>
      heard.find(([, , type, , , header]) => type === MESSAGE.ACTOR_STATE && (header as ActorStateHeader).actorId === actorId)?.[5] as
        | ActorStateHeader
        | undefined;
    await until(() => stateOf() !== undefined, "the head to say where the actor is");
    const { address = "", processId = "" as ProcessId } = stateOf() ?? {};
    const headers = [null, 7, "text", [], {}, [[[]]], { id: 1 }, [1, 2, 3], { args: 1, deps: 2, target: 0 }];
    for (const type of Object.values(MESSAGE)) {
      const { connection } = await connectPeer(address, hello(rogue), { token: rogue.token, identity: rogue.identity, processId });
      for (const header of headers) connection.send(type, header, { callId: type });
      connection.sendNumbered(type, 0, type, 99, Uint8Array.of(0xc1), 0, 1);
      connection.close();
    }
    expect(await actor.increment.remote()).toBe(1);
  }, 120_000);
});
