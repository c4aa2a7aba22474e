/** A node link over real TCP: many frames both ways, a connection that is cut, and a peer that goes and comes back. */
import net from "node:net";
import { expect, test } from "vitest";
import type { NodeId, ProcessId } from "../../src/runtime/base/ids.ts";
import { certifyNode, newAuthority, newNodeKey } from "../../src/runtime/os/network/certificates.ts";
import type { TlsIdentity } from "../../src/runtime/os/network/tls-identity.ts";
import { connect, listen } from "../../src/runtime/os/network/endpoint.ts";
import type { Transport } from "../../src/runtime/os/network/transport.ts";
import { acceptPeer } from "../../src/runtime/rpc/handshake.ts";
import { NodeLink, type NodeLinkOptions } from "../../src/runtime/rpc/node-link.ts";
import { until } from "./session.ts";

const NODE_A = "a".repeat(32) as NodeId;
const NODE_B = "b".repeat(32) as NodeId;

function makeLink(nodeId: NodeId, options: Partial<NodeLinkOptions> & Pick<NodeLinkOptions, "onFrame">): NodeLink {
  const processId = nodeId as string as ProcessId;
  return new NodeLink({ self: { nodeId, processId, incarnation: nodeId }, token: "secret", ...options });
}

function accepting(link: NodeLink) {
  const nodeId = NODE_B;
  const processId = nodeId as string as ProcessId;
  return (transport: Transport): void =>
    acceptPeer(transport, {
      token: "secret",
      nodeId,
      processId,
      onPeer: () => {},
      onLink: (arrived, hello) => link.accept(arrived, hello),
    });
}

/** Certificates of one cluster: what passes TLS on does not come between the ends, as what passes plain TCP on does (`runtime/rpc/handshake.test.ts`). */
const authority = newAuthority({ nowMs: Date.now() });

function identity(nodeId: NodeId): TlsIdentity {
  const { key, publicKey } = newNodeKey();
  return {
    ca: authority.ca,
    cert: certifyNode(authority, { nodeId, publicKey, nowMs: Date.now(), isHead: false }),
    key,
    alsoOnLoopback: true,
  };
}

test("a link over TCP carries all sizes in order, both ways, through a proxy that cuts it again and again", async () => {
  const sizes = Array.from({ length: 3000 }, (_, index) => (index % 100 === 0 ? 300_000 : index % 40));
  const atA: number[] = [];
  const atB: number[] = [];
  const own = identity(NODE_A);
  const a: NodeLink = makeLink(NODE_A, {
    onFrame: (frame) => void atA.push(frame.body.length),
    connect: () => connect(address, { identity: own, nodeId: NODE_B }),
  });
  const b = makeLink(NODE_B, { onFrame: (frame) => void atB.push(frame.body.length) });
  const listener = await listen("tcp://127.0.0.1:0", accepting(b), { identity: identity(NODE_B) });
  expect(listener.path).toMatch(/^tcp:\/\/127\.0\.0\.1:[1-9]\d*$/);
  const target = Number(listener.path.split(":").at(-1));
  const sockets = new Set<net.Socket>();
  let cuts = 0;
  const proxy = net.createServer((near) => {
    const far = net.connect(target, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
    near.pipe(far).pipe(near);
    // In the middle of a frame, given these sizes; the last ones live.
    let left = 400_000 * (cuts + 1);
    near.on("data", (chunk: Buffer) => {
      left -= chunk.length;
      if (left > 0 || cuts >= 6) return;
      left = Number.POSITIVE_INFINITY;
      cuts += 1;
      near.destroy();
      far.destroy();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = `tcp://127.0.0.1:${(proxy.address() as net.AddressInfo).port}`;
  for (const size of sizes) {
    a.send(200, undefined, { parts: [new Uint8Array(size)] });
    b.send(200, undefined, { parts: [new Uint8Array(size)] });
  }
  await until(() => atA.length >= sizes.length && atB.length >= sizes.length, "all frames to arrive");
  await until(() => a.unacknowledgedBytes + b.unacknowledgedBytes === 0, "all to be acknowledged");
  expect(atA).toEqual(sizes);
  expect(atB).toEqual(sizes);
  expect(cuts).toBe(6);
  a.close("the test is over");
  b.close("the test is over");
  listener.close();
  proxy.close();
  for (const socket of sockets) socket.destroy();
});
