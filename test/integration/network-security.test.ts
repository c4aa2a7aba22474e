/**
 * Barriers between machines: TLS with certificates of the cluster, joining, and the hello. Each attack ends its own connection, tells an
 * honest mistake the remedy, and leaves the listener as it was, which is checked after every test.
 */
import net from "node:net";
import tls from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type NodeId, nodeTagOf, type ProcessId } from "../../src/runtime/base/ids.ts";
import { AuthenticationError, VersionMismatchError } from "../../src/runtime/base/errors.ts";
import { Joining } from "../../src/runtime/head/joining/join.ts";
import { joinCluster } from "../../src/runtime/node/membership/joining/join.ts";
import { type Authority, certifyNode, newAuthority, newNodeKey } from "../../src/runtime/os/network/certificates.ts";
import { connect, listen } from "../../src/runtime/os/network/endpoint.ts";
import type { Listener, Transport } from "../../src/runtime/os/network/transport.ts";
import { forgetTlsIdentity, setTlsIdentity, type TlsIdentity } from "../../src/runtime/os/network/tls-identity.ts";
import { Connection } from "../../src/runtime/rpc/connection.ts";
import { acceptPeer, connectPeer } from "../../src/runtime/rpc/handshake.ts";
import { formatJoinToken, parseJoinToken } from "../../src/runtime/rpc/join-token.ts";
import { NodeLink } from "../../src/runtime/rpc/node-link.ts";
import { listenForJoin } from "../../src/runtime/rpc/join-listener.ts";
import { FRAME_FLAG, FrameParser, FrameWriter } from "../../src/runtime/wire/frame.ts";
import { decodeHeader, encodeHeader } from "../../src/runtime/wire/header.ts";
import { type HelloHeader, MESSAGE, PROTOCOL_VERSION } from "../../src/runtime/wire/messages.ts";
import { until } from "./session.ts";

const TOKEN = "the cluster's";
const HEAD = "0".repeat(32) as NodeId;
const NODE_A = "a".repeat(32) as NodeId;
const NODE_B = "b".repeat(32) as NodeId;
const DAY = 86_400_000;
const authority = newAuthority({ nowMs: Date.now() });

function identity(nodeId: NodeId, options: { of?: Authority; isHead?: boolean; nowMs?: number } = {}): TlsIdentity {
  const { of = authority, nowMs = Date.now(), isHead = false } = options;
  const { key, publicKey } = newNodeKey();
  return { ca: of.ca, cert: certifyNode(of, { nodeId, publicKey, nowMs, isHead }), key, alsoOnLoopback: true };
}

function hello(nodeId: NodeId, changed: Partial<HelloHeader> = {}): HelloHeader {
  const processId = `${nodeId.slice(0, 16)}1111111111111111` as ProcessId;
  const rest = { kind: "daemon" as const, pid: 1, address: "", taskIdPrefix: "0".repeat(12), jobId: "0".repeat(8) as HelloHeader["jobId"] };
  return { processId, holderId: processId, ...rest, ...changed };
}

function call(to: string, caller: HelloHeader, options: Partial<Parameters<typeof connectPeer>[2]> = {}): ReturnType<typeof connectPeer> {
  return connectPeer(to, caller, { token: TOKEN, ...options });
}

let nowMs = Date.now();
const joining = new Joining({
  authority,
  headNodeId: HEAD,
  token: TOKEN,
  livingNodes: () => [HEAD],
  nowMs: () => nowMs,
});
const dead = new Set<NodeId>();
const peers: Connection[] = [];
const links: NodeLink[] = [];
const received: unknown[] = [];
let listener: Listener;
/** TLS only; the head. */
let address = "";
let port = 0;

function accept(transport: Transport, nodeId: NodeId = HEAD): void {
  acceptPeer(transport, {
    token: TOKEN,
    nodeId,
    processId: nodeId as string as ProcessId,
    isDead: (tag) => Array.from(dead, nodeTagOf).includes(tag),
    onPeer: (connection) => {
      peers.push(connection);
      connection.onFrame = (frame) => connection.reply(frame.callId, ["here"]);
    },
    onLink: (arrived, header) => {
      const link = new NodeLink({
        self: { nodeId: HEAD, processId: HEAD as string as ProcessId, incarnation: "h1", kind: "head" },
        token: TOKEN,
        onFrame: (frame) => void received.push(frame.type),
      });
      links.push(link);
      link.accept(arrived, header);
    },
  });
}

beforeAll(async () => {
  listener = await listen("tcp://127.0.0.1:0", (transport) => accept(transport), {
    identity: identity(HEAD, { isHead: true }),
    onUnauthenticated: (transport, problem) =>
      listenForJoin(transport, { problem, onJoin: (request, from) => joining.join(request, from) }),
  });
  address = listener.path;
  port = Number(address.split(":").at(-1));
});
afterEach(async () => {
  // After any attack an allowed caller still can connect, and is heard.
  const { connection } = await call(address, hello(NODE_A), { identity: identity(NODE_A) });
  const { header } = await connection.request(MESSAGE.KV_LIST, undefined);
  connection.close();
  if (header[0] !== "here") throw new Error("the listener does not answer any more");
});
afterAll(() => {
  listener.close();
  for (const link of links) link.close("the test is over");
  for (const peer of peers) peer.drop("the test is over");
});

/** Time by this process's own clock: while the process stands still, its timers do not tick, and its sockets do not end. */
class OwnTime {
  static readonly #TICK_MS = 20;
  #ticks = 0;
  readonly #timer = setInterval(() => (this.#ticks += 1), OwnTime.#TICK_MS).unref();

  get ms(): number {
    return this.#ticks * OwnTime.#TICK_MS;
  }
  end(): void {
    clearInterval(this.#timer);
  }
}

/** Returns the bytes that a socket gets until its end, and expects the end. */
function ending(socket: net.Socket, sends: Uint8Array | undefined): Promise<{ bytes: Buffer; afterMs: number }> {
  const time = new OwnTime();
  const chunks: Buffer[] = [];
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the connection stays open")), 30_000);
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      time.end();
      resolve({ bytes: Buffer.concat(chunks), afterMs: time.ms });
    });
    if (sends !== undefined) socket.write(sends);
  });
}

async function failure(attempt: Promise<unknown>): Promise<Error & { hint?: string }> {
  return await attempt.then(
    () => new Error("it did not fail"),
    (error: unknown) => error as Error,
  );
}

describe("who is who", () => {
  test("a node of the cluster speaks with the head, which knows by the certificate who it is", async () => {
    const { connection, listener: head } = await call(address, hello(NODE_A), { identity: identity(NODE_A), isHead: true });
    expect(head.nodeId).toBe(HEAD);
    connection.close();
  });

  test("ends with different tokens do not get together although their certificates are good", async () => {
    const error = await failure(call(address, hello(NODE_A), { identity: identity(NODE_A), token: "wrong" }));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.message).toContain("has not proven that it knows the session's token");
    expect(error.hint).toContain("Use the token");
    expect(await failure(call(address, hello(NODE_A), { identity: identity(NODE_A), token: "" }))).toBeInstanceOf(RangeError);
  });

  test("a process of another node than its certificate's is refused, as a peer and as a link", async () => {
    const error = await failure(call(address, hello(NODE_B), { identity: identity(NODE_A) }));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.message).toContain(`came with the certificate of node ${NODE_A}`);
    const refused: Error[] = [];
    const link = new NodeLink({
      self: { nodeId: NODE_B, processId: NODE_B as string as ProcessId, incarnation: "b1" },
      token: TOKEN,
      connect: () => connect(address, { identity: identity(NODE_A) }),
      onFrame: () => {},
      onDown: (reason) => refused.push(reason),
    });
    link.open();
    await until(() => refused.length > 0, "the link to be refused");
    link.close("the test is over");
    expect(refused[0]).toMatchObject({ code: "wrongNode" });
    expect(refused[0]?.message).toContain("the certificate is not that of the caller's node");
  });

  test("a link over TLS carries frames", async () => {
    const link = new NodeLink({
      self: { nodeId: NODE_A, processId: NODE_A as string as ProcessId, incarnation: "a1" },
      token: TOKEN,
      connect: () => connect(address, { identity: identity(NODE_A), isHead: true }),
      onFrame: () => {},
    });
    link.send(200, { large: true }, { parts: [new Uint8Array(3_000_000)] });
    await until(() => received.includes(200) && link.unacknowledgedBytes === 0, "the frame to arrive and be acknowledged");
    link.close("the test is over");
  });

  test("a node that was declared dead is refused, with the reason", async () => {
    dead.add(NODE_B);
    const error = await failure(call(address, hello(NODE_B), { identity: identity(NODE_B) }));
    dead.delete(NODE_B);
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.message).toContain("was declared dead");
    expect(error.hint).toContain("new id");
  });

  test("another version is refused with both versions and which side has which", async () => {
    const refusal = (version: number): string =>
      `the protocol version differs: the called side speaks ${PROTOCOL_VERSION}, the caller ${version}`;
    const caller = new Connection(await connect(address, { identity: identity(NODE_A) }), { trusted: true });
    const opening = { ...hello(NODE_A), version: 77, token: TOKEN };
    expect(await failure(caller.request(MESSAGE.OPEN, opening))).toMatchObject({
      code: "wrongVersion",
      message: refusal(77),
      details: { listener: PROTOCOL_VERSION, caller: 77 },
    });
    // A caller of version 1 is answered with the text that it looks for.
    const old = await connect(address, { identity: identity(NODE_A) });
    const { promise: answered, resolve } = Promise.withResolvers<unknown>();
    const parser = new FrameParser(({ header }) => resolve(decodeHeader(header)));
    old.onChunk = (chunk) => parser.push(chunk);
    const writer = new FrameWriter((chunk) => old.write(chunk));
    writer.full(MESSAGE.OPEN, 0, 1, encodeHeader({ ...opening, version: 1 }), []);
    writer.flush();
    expect(await answered).toBe(refusal(1));
    // A listener of version 1, which looks for a token first.
    const oldListener = await listen("tcp://127.0.0.1:0", (transport) => {
      const connection = new Connection(transport, { trusted: false });
      connection.onFrame = ({ callId, header }) => {
        const { token, version } = decodeHeader(header) as { token: unknown; version: unknown };
        const isHello = typeof token === "string";
        const text = isHello ? `the protocol version differs: the called side speaks 1, the caller ${String(version)}` : "no hello";
        connection.send(MESSAGE.REPLY, text, { callId, flags: FRAME_FLAG.ERROR });
      };
    });
    const error = await failure(call(oldListener.path, hello(NODE_A)));
    oldListener.close();
    expect(error).toBeInstanceOf(VersionMismatchError);
    expect(error.message).toContain(`the called side speaks 1, the caller ${PROTOCOL_VERSION}`);
    expect(error.hint).toContain("same version");
  });

  test("certificates of another cluster, of the past and of the future are refused by both sides, saying which", async () => {
    const other = newAuthority({ nowMs: Date.now() });
    const old = newAuthority({ nowMs: Date.now() - 100 * DAY });
    // The caller's: told by the listener. The caller believes the right authority, so that it is the listener who refuses.
    const cases: [TlsIdentity, string][] = [
      [{ ...identity(NODE_A, { of: other }), ca: authority.ca }, "not made by this cluster's authority"],
      [identity(NODE_A, { nowMs: Date.now() - 31 * DAY }), "it has expired on"],
      [identity(NODE_A, { nowMs: Date.now() + DAY }), "not yet valid"],
    ];
    for (const [shown, reason] of cases) {
      const error = await failure(call(address, hello(NODE_A), { identity: shown }));
      expect(error).toBeInstanceOf(AuthenticationError);
      expect(error.message).toContain(reason);
      expect(error.hint).toContain("Join the cluster");
    }
    // The listener's: told by the caller's own TLS.
    const impostors: [TlsIdentity, string][] = [
      [identity(HEAD, { of: other, isHead: true }), "not made by this cluster's authority"],
      [{ ...identity(HEAD, { of: old, isHead: true, nowMs: Date.now() - 40 * DAY }) }, "has expired"],
    ];
    for (const [shown, reason] of impostors) {
      const impostor = await listen("tcp://127.0.0.1:0", (transport) => accept(transport), { identity: shown });
      const believed = reason === "has expired" ? { ...identity(NODE_A, { of: old }) } : identity(NODE_A);
      const error = await failure(call(impostor.path, hello(NODE_A), { identity: believed }));
      expect(error).toBeInstanceOf(AuthenticationError);
      expect(error.message).toContain(reason);
      impostor.close();
    }
  });

  test("whoever answers must be whom the caller wants: that node, or the head", async () => {
    const node = await listen("tcp://127.0.0.1:0", (transport) => accept(transport), { identity: identity(NODE_B) });
    const asHead = await failure(connect(node.path, { identity: identity(NODE_A), isHead: true }));
    expect(asHead).toBeInstanceOf(AuthenticationError);
    expect(asHead.message).toContain(`of node ${NODE_B}, which is not the head`);
    const asOther = await failure(connect(node.path, { identity: identity(NODE_A), nodeId: HEAD }));
    expect(asOther.message).toContain(`its certificate is of node ${NODE_B}, and node ${HEAD} should answer there`);
    const right = await connect(node.path, { identity: identity(NODE_A), nodeId: NODE_B });
    expect(right.certifiedNodeId).toBe(NODE_B);
    right.destroy();
    node.close();
  });

  test("another machine is not spoken to without a certificate", async () => {
    const error = await failure(connect("tcp://192.0.2.1:6379"));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.hint).toContain("Join the cluster");
  });
});

describe("what is not the protocol", () => {
  test("plain TCP on a port of TLS ends, and the plain caller learns it", async () => {
    const { bytes } = await ending(net.connect(port, "127.0.0.1"), Buffer.from("0600000001000000000000", "hex"));
    expect(bytes.length).toBe(0);
    const error = await failure(call(address, hello(NODE_A)));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.message).toContain("closed before it had answered");
    expect(error.hint).toContain("TLS only");
  });

  test("TLS on a plain port fails with what to check", async () => {
    const plain = await listen("tcp://127.0.0.1:0", (transport) => accept(transport));
    const error = await failure(connect(plain.path, { identity: identity(NODE_A) }));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.message).toContain("nobody there speaks TLS");
    expect(error.hint).toContain("Check the port");
    const { connection } = await call(plain.path, hello(NODE_A));
    connection.close();
    plain.close();
  });

  test("the same port takes both on loopback, unless the identity forbids it, and a caller by TLS is known by its certificate", async () => {
    const both = await listen("tcp://127.0.0.1:0", (transport) => accept(transport), {
      identity: { ...identity(HEAD), alsoOnLoopback: false },
    });
    const plain = await call(both.path, hello(NODE_A));
    const secure = await call(both.path, hello(NODE_A), { identity: identity(NODE_A) });
    for (const { connection } of [plain, secure]) {
      expect((await connection.request(MESSAGE.KV_LIST, undefined)).header).toEqual(["here"]);
      connection.close();
    }
    both.close();
  });

  test("an oversized first frame, garbage, and garbage inside TLS end the connection", async () => {
    const own = identity(NODE_A);
    const secure = (): tls.TLSSocket =>
      tls.connect({ port, host: "127.0.0.1", ca: own.ca, cert: own.cert, key: own.key, checkServerIdentity: () => undefined });
    const oversized = Buffer.alloc(5000);
    oversized.writeUInt32LE(4997, 0);
    await ending(secure(), oversized);
    await ending(secure(), Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    await ending(net.connect(port, "127.0.0.1"), Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    // The bytes begin like TLS.
    await ending(net.connect(port, "127.0.0.1"), Buffer.concat([Buffer.of(0x16, 3, 1, 0, 200), Buffer.alloc(200, 7)]));
    // A hello whose header is not MessagePack.
    await ending(
      secure(),
      Buffer.concat([Buffer.from("0f000000", "hex"), Buffer.of(1, 1, 1, 0, 0, 0), Buffer.from("05000000c1c1c1c1c1", "hex")]),
    );
  });

  test("who says nothing, or says it too slowly, is dropped: before TLS, within it, and after it", async () => {
    const own = identity(NODE_A);
    const trickle = (socket: net.Socket, bytes: Buffer): void => {
      let sent = 0;
      const timer = setInterval(() => {
        if (socket.destroyed) clearInterval(timer);
        else socket.write(bytes.subarray(sent, ++sent));
      }, 50);
      socket.on("close", () => clearInterval(timer));
    };
    const silent = ending(net.connect(port, "127.0.0.1"), undefined);
    const handshaking = net.connect(port, "127.0.0.1");
    trickle(handshaking, Buffer.concat([Buffer.of(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc), Buffer.alloc(500)]));
    const slowTls = ending(handshaking, undefined);
    const late = tls.connect({ port, host: "127.0.0.1", ca: own.ca, cert: own.cert, key: own.key, checkServerIdentity: () => undefined });
    const slowHello = ending(late, undefined);
    trickle(late, Buffer.concat([Buffer.from("ff0f0000", "hex"), Buffer.alloc(4000)]));
    for (const { afterMs } of await Promise.all([silent, slowTls])) expect(afterMs).toBeLessThan(6500);
    expect((await slowHello).afterMs).toBeLessThan(6500);
  });

  test("a crowd that finishes nothing does not keep others out", async () => {
    const crowd = Array.from({ length: 300 }, () => net.connect(port, "127.0.0.1").on("error", () => {}));
    const time = new OwnTime();
    await until(() => crowd.filter((socket) => socket.destroyed).length >= 172, "the oldest of the crowd to be dropped");
    // Not for their silence, which is borne for five seconds.
    expect(time.ms).toBeLessThan(3000);
    time.end();
    const { connection } = await call(address, hello(NODE_A), { identity: identity(NODE_A) });
    connection.close();
    for (const socket of crowd) socket.destroy();
  });
});

describe("joining", () => {
  test("a join token is enough to become a node: over TLS that trusts nothing else, with a key that stays here", async () => {
    const { joinToken } = await joining.newJoinToken();
    const joined = await joinCluster({ address, joinToken, nodeId: NODE_B });
    expect(joined).toMatchObject({ token: TOKEN, headNodeId: HEAD });
    const { connection } = await call(address, hello(NODE_B), {
      identity: { ...joined.identity, alsoOnLoopback: true },
      isHead: true,
    });
    connection.close();
  });

  test("a stranger who does not join is told to", async () => {
    const error = await failure(call(address, hello(NODE_A), { authority: authority.ca }));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.message).toContain("the caller has no certificate of this cluster");
    expect(error.hint).toContain("join token");
  });

  test("a wrong secret, an old token and a revoked one are refused; too many tries are, too", async () => {
    const { joinToken, id } = await joining.newJoinToken({ ageMaxMs: 60_000 });
    const { authorityHash } = parseJoinToken(joinToken);
    const wrong = formatJoinToken({ authorityHash, secret: "0".repeat(64) });
    const error = await failure(joinCluster({ address, joinToken: wrong, nodeId: NODE_B }));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.message).toContain("it is not one of this cluster");
    expect(error.message).not.toContain("0000");
    expect(error.hint).toContain("new join token");
    nowMs += 61_000;
    expect((await failure(joinCluster({ address, joinToken, nodeId: NODE_B }))).message).toContain("it was good until");
    nowMs += 1000;
    await joining.revoke(id);
    expect((await failure(joinCluster({ address, joinToken, nodeId: NODE_B }))).message).toContain("it was revoked");
    const many = await Promise.all(Array.from({ length: 8 }, () => failure(joinCluster({ address, joinToken: wrong, nodeId: NODE_B }))));
    expect(many.filter(({ message }) => message.includes("more than 5 tries a second")).length).toBe(4);
    nowMs += 10_000;
  });

  test("the secret is not sent to a head with another authority, nor to a node of the cluster that is not the head", async () => {
    const { joinToken } = await joining.newJoinToken();
    const other = newAuthority({ nowMs: Date.now() });
    let heard = 0;
    const onUnauthenticated = (transport: Transport): void => {
      transport.onChunk = (chunk) => (heard += chunk.length);
    };
    const impostor = await listen("tcp://127.0.0.1:0", (transport) => accept(transport), {
      identity: identity(HEAD, { of: other, isHead: true }),
      onUnauthenticated,
    });
    const error = await failure(joinCluster({ address: impostor.path, joinToken, nodeId: NODE_B }));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.message).toContain("its authority is not the one that the join token names");
    // Shows the cluster's authority behind a certificate that the authority did not make.
    const forged = { ...identity(HEAD, { of: other, isHead: true }), ca: authority.ca };
    const liar = await listen("tcp://127.0.0.1:0", (transport) => accept(transport), { identity: forged, onUnauthenticated });
    expect(await failure(joinCluster({ address: liar.path, joinToken, nodeId: NODE_B }))).toBeInstanceOf(AuthenticationError);
    const node = await listen("tcp://127.0.0.1:0", (transport) => accept(transport), { identity: identity(NODE_A), onUnauthenticated });
    expect((await failure(joinCluster({ address: node.path, joinToken, nodeId: NODE_B }))).message).toContain("which is not the head");
    // Each was asked for its certificate and told nothing.
    expect(heard).toBe(0);
    for (const one of [impostor, liar, node]) one.close();
  });

  test("a later certificate of the process is shown to new callers, and the old connections live on", async () => {
    forgetTlsIdentity();
    const first = { ...identity(NODE_B), alsoOnLoopback: true };
    setTlsIdentity(first);
    const node = await listen("tcp://127.0.0.1:0", (transport) => accept(transport, NODE_B));
    const shown = async (): Promise<string> => {
      const socket = tls.connect({ port: Number(node.path.split(":").at(-1)), host: "127.0.0.1", rejectUnauthorized: false });
      await new Promise((resolve) => socket.once("secureConnect", resolve));
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return fingerprint256;
    };
    const before = await shown();
    const { connection } = await call(node.path, hello(NODE_A), { identity: identity(NODE_A), nodeId: NODE_B });
    setTlsIdentity({ ...identity(NODE_B), alsoOnLoopback: true });
    expect(await shown()).not.toBe(before);
    expect((await connection.request(MESSAGE.KV_LIST, undefined)).header).toEqual(["here"]);
    connection.close();
    node.close();
    forgetTlsIdentity();
  });
});
