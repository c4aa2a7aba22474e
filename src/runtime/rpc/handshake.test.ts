/**
 * Tests the beginning of a connection against attackers with the address of a process but without the token: their gains, and the trust in
 * their words. No sockets: both ends are in this process, and a test decides which channel each end sees.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JobId, NodeId, ProcessId } from "../base/ids.ts";
import { AuthenticationError } from "../base/errors.ts";
import { loopbackPair, type Transport } from "../os/network/transport.ts";
import { type Frame, FRAME_FLAG, FrameParser } from "../wire/frame.ts";
import { decodeHeader } from "../wire/header.ts";
import { FRAME_SIZE_MAX } from "../wire/limits.ts";
import { type HelloHeader, MESSAGE, PROTOCOL_VERSION } from "../wire/messages.ts";
import { WireError, type WireErrorHeader, wireErrorHeader, wrongVersion } from "../wire/wire-error.ts";
import { Connection } from "./connection.ts";
import { acceptPeer, type CallerProof, connectPeer, proven, proveTo } from "./handshake.ts";
import { deadNode, noCertificate, notLeader, refusedCertificate } from "./refusals.ts";

const TOKEN = "5".repeat(64);
const NODE_ID = "a".repeat(32) as NodeId;
const LISTENER = `${"a".repeat(16)}${"1".repeat(16)}` as ProcessId;
const CALLER = `${"b".repeat(16)}${"2".repeat(16)}` as ProcessId;
const CALLERS_NODE = "b".repeat(32) as NodeId;
const HELLO: HelloHeader = {
  processId: CALLER,
  holderId: CALLER,
  kind: "driver",
  pid: 1,
  address: "",
  taskIdPrefix: "0".repeat(12),
  jobId: "0".repeat(8) as JobId,
};

/** Two ends, each with the channel that it sees. */
function pairOver(near: string, far: string = near): [Transport, Transport] {
  const [caller, listener] = loopbackPair();
  Object.assign(caller, { channel: near });
  Object.assign(listener, { channel: far });
  return [caller, listener];
}

interface Accepted {
  readonly peers: Connection[];
}

function accepting(transport: Transport, options: { token?: string; nodeId?: NodeId; processId?: ProcessId } = {}): Accepted {
  const peers: Connection[] = [];
  const { token = TOKEN, nodeId = NODE_ID, processId = LISTENER } = options;
  acceptPeer(transport, { token, nodeId, processId, onPeer: (connection) => peers.push(connection) });
  return { peers };
}

function proving(transport: Transport, changed: Partial<CallerProof> = {}): Promise<{ nodeId: NodeId; processId: ProcessId }> {
  return proveTo(transport, { token: TOKEN, processId: CALLER, action: "connect", ...changed });
}

/** Everything that is written to a transport, in frames and as bytes. */
class Heard {
  readonly chunks: Buffer[] = [];

  constructor(...transports: Transport[]) {
    for (const transport of transports) {
      const write = transport.write.bind(transport);
      transport.write = (chunk) => {
        this.chunks.push(Buffer.from(chunk));
        write(chunk);
      };
    }
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString("latin1");
  }

  get frames(): { type: number; header: unknown }[] {
    const found: { type: number; header: unknown }[] = [];
    const read = ({ type, header }: Frame): void => void found.push({ type, header: header.length > 0 ? decodeHeader(header) : undefined });
    new FrameParser(read, FRAME_SIZE_MAX).push(Buffer.concat(this.chunks));
    return found;
  }
}

async function failure(attempt: Promise<unknown>): Promise<Error> {
  return await attempt.then(
    () => new Error("it did not fail"),
    (error: unknown) => error as Error,
  );
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Receives a caller's frames and answers at will. */
function fakeListener(transport: Transport, answer: (connection: Connection, frame: Frame) => void): void {
  const connection = new Connection(transport, { trusted: true });
  connection.onFrame = (frame) => answer(connection, frame);
}

test("both ends get to know each other, and neither says the token", async () => {
  const [near, far] = pairOver("tcp one two");
  const heard = new Heard(near, far);
  const { peers } = accepting(far);
  expect(await proving(near)).toEqual({ nodeId: NODE_ID, processId: LISTENER });
  const connection = new Connection(near, { trusted: true });
  await connection.request(MESSAGE.HELLO, HELLO);
  expect(peers).toHaveLength(1);
  expect(heard.frames.map(({ type }) => type)).toEqual([MESSAGE.OPEN, MESSAGE.REPLY, MESSAGE.PROOF, MESSAGE.HELLO, MESSAGE.REPLY]);
  expect(heard.text).not.toContain(TOKEN);
});

test("a caller says nothing but its id and a random number to a listener that has another token", async () => {
  const [near, far] = pairOver("tcp one two");
  const heard = new Heard(near);
  const { peers } = accepting(far, { token: "6".repeat(64) });
  const error = await failure(proving(near));
  expect(error).toBeInstanceOf(AuthenticationError);
  expect(error.message).toContain("has not proven that it knows the session's token");
  await settled();
  expect(heard.frames).toEqual([
    {
      type: MESSAGE.OPEN,
      header: { version: PROTOCOL_VERSION, token: "", processId: CALLER, nonce: expect.stringMatching(/^[0-9a-f]{64}$/) },
    },
  ]);
  expect(peers).toHaveLength(0);
});

test("whoever passes on what both ends say is found out by the channel, at another address and at the same", async () => {
  for (const [callers, listeners] of [
    ["tcp 127.0.0.1 9 127.0.0.1 6380", "tcp 127.0.0.1 8 127.0.0.1 7000"],
    ["tcp 127.0.0.1 9 127.0.0.1 6380", "tcp 127.0.0.1 8 127.0.0.1 6380"],
    ["unix /tmp/gone/daemon", "tcp 127.0.0.1 8 127.0.0.1 7000"],
    ["tls", "tcp 127.0.0.1 8 127.0.0.1 7000"],
  ] as const) {
    const [near, far] = pairOver(callers, listeners);
    const heard = new Heard(near);
    const { peers } = accepting(far);
    expect((await failure(proving(near))).message).toContain("has not proven");
    await settled();
    expect(heard.frames.map(({ type }) => type)).toEqual([MESSAGE.OPEN]);
    expect(peers).toHaveLength(0);
  }
});

test("a caller is not told its own proof, nor that which the caller's own node would give", async () => {
  // The caller's node listens, too, and the impostor lets it answer the caller's own question.
  const channel = "tcp one two";
  const [toImpostor, impostor] = pairOver(channel);
  const [toNode, node] = pairOver(channel);
  const { peers } = accepting(node, { nodeId: CALLERS_NODE, processId: CALLER });
  const back = new Connection(toNode, { trusted: true });
  fakeListener(impostor, (connection, { callId, header }) => {
    const mirrored = decodeHeader(header);
    void back.request(MESSAGE.OPEN, mirrored).then(
      // The very proof that it was given is one for the other end of the connection.
      (reply) => connection.reply(callId, { ...reply.header, nodeId: NODE_ID, processId: LISTENER }),
      () => {},
    );
  });
  expect((await failure(proving(toImpostor))).message).toContain("has not proven");
  expect(peers).toHaveLength(0);

  // A listener's proof is not taken for a caller's.
  const [near, far] = pairOver(channel);
  const accepted = accepting(far);
  const caller = new Connection(near, { trusted: true });
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  caller.onClose = resolve;
  const { header } = await caller.request(MESSAGE.OPEN, { version: PROTOCOL_VERSION, token: "", processId: CALLER, nonce: "0".repeat(64) });
  caller.send(MESSAGE.PROOF, header.proof);
  caller.send(MESSAGE.HELLO, HELLO, { callId: 9 });
  await closed;
  expect(accepted.peers).toHaveLength(0);
});

test("what was said once is of no use again, at either end", async () => {
  const channel = "tcp one two";
  const [near, far] = pairOver(channel);
  const [said, answered] = [new Heard(near), new Heard(far)];
  accepting(far);
  await proving(near);
  new Connection(near, { trusted: true }).send(MESSAGE.HELLO, HELLO, { callId: 2 });
  await settled();

  const [again, impostor] = pairOver(channel);
  fakeListener(impostor, (connection, { callId }) => connection.reply(callId, answered.frames[0]?.header));
  expect((await failure(proving(again))).message).toContain("has not proven");

  const [replay, listener] = pairOver(channel);
  const { peers } = accepting(listener);
  let reason = "";
  replay.onClose = (why) => (reason = why);
  for (const chunk of said.chunks) replay.write(chunk);
  await settled();
  expect(reason).not.toBe("");
  expect(peers).toHaveLength(0);
});

test("no proof but the right one is taken, whatever it looks like and whatever else is changed", async () => {
  const field = fc.oneof(fc.anything({ maxDepth: 1, withBigInt: false }).filter(isWritable), fc.string(), fc.constant("0".repeat(64)));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom("nodeId", "processId", "nonce", "proof"), field, async (name, value) => {
      const [near, far] = pairOver("tcp one two");
      const [caller, impostor] = pairOver("tcp one two");
      accepting(far);
      // Sits between the caller and the right listener, over the right channel, so it can only alter messages.
      const listener = new Connection(near, { trusted: true });
      fakeListener(impostor, (connection, { callId, header }) => {
        void listener.request(MESSAGE.OPEN, decodeHeader(header)).then(
          (reply) => connection.reply(callId, { ...reply.header, [name]: value }),
          () => connection.close(),
        );
      });
      const error = await failure(proving(caller));
      expect(error).toBeInstanceOf(AuthenticationError);
      listener.drop("the test is over");
    }),
    { numRuns: 150 },
  );
});

test("a listener lets nobody in whose proof is malformed or missing, and its process goes on", async () => {
  const proof = fc.oneof(fc.anything({ maxDepth: 2, withBigInt: false }).filter(isWritable), fc.stringMatching(/^[0-9a-f]{64}$/));
  const type = fc.constantFrom(...Object.values(MESSAGE));
  await fc.assert(
    fc.asyncProperty(proof, type, fc.boolean(), async (shown, kind, isHello) => {
      const [near, far] = pairOver("tcp one two");
      const { peers } = accepting(far);
      const caller = new Connection(near, { trusted: true });
      const { promise: closed, resolve } = Promise.withResolvers<string>();
      caller.onClose = resolve;
      await caller.request(MESSAGE.OPEN, { version: PROTOCOL_VERSION, token: "", processId: CALLER, nonce: "0".repeat(64) });
      caller.send(isHello ? kind : MESSAGE.PROOF, shown);
      caller.send(MESSAGE.HELLO, HELLO, { callId: 9 });
      await closed;
      expect(peers).toHaveLength(0);
    }),
    { numRuns: 150 },
  );
});

test("a first word that is none is refused, and neither end reads more than 4 KB of the other before it is proven", async () => {
  const openings: unknown[] = [
    null,
    "text",
    [],
    {},
    { version: PROTOCOL_VERSION },
    { version: PROTOCOL_VERSION, processId: CALLER, nonce: "short" },
    { version: PROTOCOL_VERSION, processId: 7, nonce: "0".repeat(64) },
    { version: PROTOCOL_VERSION, processId: CALLER, nonce: "G".repeat(64) },
  ];
  for (const opening of openings) {
    const [near, far] = pairOver("tcp one two");
    accepting(far);
    const caller = new Connection(near, { trusted: true });
    expect((await failure(caller.request(MESSAGE.OPEN, opening))).message).toBe("the first message is not a hello");
  }
  const [near, far] = pairOver("tcp one two");
  accepting(far);
  const caller = new Connection(near, { trusted: true });
  const large = { version: PROTOCOL_VERSION, processId: CALLER, nonce: "0".repeat(64), more: "x".repeat(5000) };
  expect((await failure(caller.request(MESSAGE.OPEN, large))).message).toBe("the connection was closed");

  const [to, impostor] = pairOver("tcp one two");
  fakeListener(impostor, (connection, { callId }) => connection.reply(callId, "x".repeat(5000)));
  expect((await failure(proving(to))).message).toContain("the peer broke the protocol");
});

test("a hello in another's name than the proof's is refused", async () => {
  const [near, far] = pairOver("tcp one two");
  const { peers } = accepting(far);
  await proving(near);
  const other = `${"c".repeat(16)}${"3".repeat(16)}` as ProcessId;
  const connection = new Connection(near, { trusted: true });
  const error = await failure(connection.request(MESSAGE.HELLO, { ...HELLO, processId: other, holderId: other }));
  expect(error.message).toBe("the first message is not a hello");
  expect(peers).toHaveLength(0);
});

test("what is said by a listener that has proven nothing is believed of versions and certificates alone", async () => {
  const refusedWith = async (header: unknown): Promise<Error> => {
    const [near, far] = pairOver("tcp one two");
    fakeListener(far, (connection, { callId }) => connection.send(MESSAGE.REPLY, header, { callId, flags: FRAME_FLAG.ERROR }));
    return await failure(proving(near));
  };
  const lie = "led from tcp://127.0.0.1:9; run this \u001b[2J";
  for (const truth of [wrongVersion({ caller: 1 }), noCertificate(), refusedCertificate("it has expired")]) {
    const error = await refusedWith({ ...wireErrorHeader(truth), message: lie });
    expect(error.message).toBe(`Cannot connect: ${truth.message}`);
  }
  // A listener of version 1 sends a text of any content.
  expect(await refusedWith(lie)).toMatchObject({
    code: "VERSION_MISMATCH",
    reason: wrongVersion({ listener: 1, caller: PROTOCOL_VERSION }).message,
  });
  const lies: WireErrorHeader[] = [
    ...[deadNode(lie), notLeader(lie), new WireError("failed", lie), new WireError("wrongVersion", lie)].map(wireErrorHeader),
    { code: "wrongVersion", message: lie, details: { listener: lie, caller: 1 } },
    { code: "wrongVersion", message: lie, details: { listener: -1, caller: 1e12 } },
    { code: "refusedCertificate", message: lie, details: { problem: lie } },
  ];
  for (const header of [...lies, { code: "noCertificate" }, { code: "nonsense", message: lie }, [lie], 7, null]) {
    const error = await refusedWith(header);
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.message).toContain("has not proven");
    expect(error.message).not.toContain("run this");
  }
});

test("another process of the session than the one that is wanted is not spoken to", async () => {
  const [near, far] = pairOver("tcp one two");
  const heard = new Heard(near);
  accepting(far);
  const wanted = `${"a".repeat(16)}${"9".repeat(16)}` as ProcessId;
  expect((await failure(proving(near, { wanted }))).message).toBe(`process ${LISTENER} has the address of ${wanted} now`);
  await settled();
  expect(heard.frames.map(({ type }) => type)).toEqual([MESSAGE.OPEN]);
});

test("a certificate of another node than the one that answers is not enough", async () => {
  const [near, far] = pairOver("tls");
  Object.assign(near, { certifiedNodeId: CALLERS_NODE });
  accepting(far);
  expect((await failure(proving(near))).message).toContain("has not proven");
});

test("nobody proves anything without a token", async () => {
  const [near, far] = pairOver("tcp one two");
  accepting(far);
  expect(await failure(proving(near, { token: "" }))).toBeInstanceOf(RangeError);
});

test("what is written at once goes out behind the proofs, or nowhere", async () => {
  const [near, far] = pairOver("within this process");
  const { peers } = accepting(far);
  const connection = new Connection(proven(near, { token: TOKEN, processId: CALLER, action: "connect" }), { trusted: true });
  await connection.request(MESSAGE.HELLO, HELLO);
  expect(peers).toHaveLength(1);

  const [to, impostor] = pairOver("within this process");
  const heard = new Heard(to);
  fakeListener(impostor, (other, { callId }) => other.replyError(callId, new Error("no")));
  const kept = new Connection(proven(to, { token: TOKEN, processId: CALLER, action: "connect" }), { trusted: true });
  expect((await failure(kept.request(MESSAGE.HELLO, HELLO))).message).toContain("has not proven");
  expect(heard.frames.map(({ type }) => type)).toEqual([MESSAGE.OPEN]);
});

test("there is no way to connect without naming the session's token", async () => {
  // @ts-expect-error: the token is asked for
  await expect(connectPeer("inprocess:nobody", HELLO, {})).rejects.toThrow("nobody listens");
});

/** Whether a header may hold it. */
function isWritable(value: unknown): boolean {
  try {
    structuredClone(value);
    return !(value instanceof Date) && typeof value !== "symbol" && typeof value !== "function" && JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}
